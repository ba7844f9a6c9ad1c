"""Submitting a note, and changing one without ever overwriting it."""

import uuid
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import orjson
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from psycopg import errors as postgres

from accounts.activity import record_activity
from memford.core.activity import Tag
from memford.core.changes import announce_change
from memford.core.errors import (
    CheckpointConflict,
    InvalidArguments,
    NotFound,
    ProjectNotAvailable,
    QuotaExceeded,
    RevisionConflict,
)
from memford.core.limits import limits
from memford.core.principal import Writer
from projects import access
from projects.models import Note, NoteRevision, Status
from projects.services.rules import (
    UNSET,
    Unset,
    check_content,
    check_quota,
    check_source,
    lock_owner,
    refuse,
    stored_size,
)
from projects.sql import WRITER, fetch_row, utc


@dataclass(frozen=True, slots=True)
class NoteReceipt:
    """What a submission was, for ever: the note's first wording, source, time and writer (T6)."""

    id: UUID
    project_id: UUID
    content: str
    source: str | None
    received_at: str
    writer: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return the receipt as it is printed."""
        return {
            "id": str(self.id),
            "project_id": str(self.project_id),
            "content": self.content,
            "source": self.source,
            "received_at": self.received_at,
            "writer": self.writer,
        }


# One statement is the whole transaction: the update takes the counters and the project's lock, and the note and
# its line in the log follow from it, or nothing does. The subqueries only spare work; what decides between
# two calls with one checkpoint is the unique constraint.
_WRITE: Final = f"""
WITH counted AS (
    UPDATE projects_project
       SET last_seq = last_seq + 1, memory_revision = memory_revision + 1,
           notes_count = notes_count + 1, stored_bytes = stored_bytes + %(bytes)s
     WHERE id = %(project)s AND owner_id = %(owner)s AND deleted_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM projects_note
                        WHERE project_id = %(project)s AND writer_id = %(writer)s
                          AND checkpoint_id = %(checkpoint)s::uuid)
       AND %(bytes)s + (SELECT o.standards_bytes + sum(p.stored_bytes)
                          FROM projects_project p JOIN accounts_owner o ON o.id = p.owner_id
                         WHERE p.owner_id = %(owner)s GROUP BY o.id) <= %(quota)s
 RETURNING last_seq, clock_timestamp() AS at
), noted AS (
    INSERT INTO projects_note
           (id, owner_id, project_id, seq, content, content_bytes, source, status, revision, received_at,
            updated_at, writer_kind, writer_id, writer_name, writer_account_id, checkpoint_id,
            changed_by_kind, changed_by_id, changed_by_name)
    SELECT %(id)s, %(owner)s, %(project)s, last_seq, %(content)s, %(content_bytes)s, %(source)s, 'active', 1, at,
           at, %(kind)s, %(writer)s, %(name)s, %(account)s, %(checkpoint)s::uuid,
           %(kind)s, %(writer)s, %(name)s
      FROM counted
), logged AS (
    INSERT INTO accounts_activity
           (owner_id, project_id, tag, at, actor_kind, actor_id, actor_name, object_id, detail)
    SELECT %(owner)s, %(project)s, '{Tag.NOTE_WRITTEN}', at, %(kind)s, %(writer)s, %(name)s, %(id)s, '{{}}'::jsonb
      FROM counted
)
SELECT {utc("at")} FROM counted
"""

_RECEIPT: Final = f"""
SELECT n.id, coalesce(r.content, n.content), CASE WHEN r.id IS NULL THEN n.source ELSE r.source END,
       {utc("n.received_at")}, ({WRITER})::text
  FROM projects_note n
  LEFT JOIN projects_noterevision r ON r.note_id = n.id AND r.revision = 1
 WHERE n.owner_id = %(owner)s AND n.project_id = %(project)s
   AND n.writer_id = %(writer)s AND n.checkpoint_id = %(checkpoint)s
"""


def write_note(
    *,
    owner_id: UUID,
    project_id: UUID,
    writer: Writer,
    content: str,
    source: str | None = None,
    checkpoint_id: UUID | None = None,
) -> NoteReceipt:
    """Store a submission once and return its receipt (T6, T7).

    The same writer, project and checkpoint with the same text returns the first receipt and stores nothing,
    whatever happened to the note since.

    Raises:
        InvalidArguments: The content or the source cannot be stored.
        ProjectNotAvailable: The project is not this owner's, or is deleted.
        CheckpointConflict: The checkpoint was used for different text.
        QuotaExceeded: The owner's storage is full.
    """
    refuse({"content": check_content(content), "source": check_source(source)})
    note_id = uuid.uuid4()
    try:
        row = fetch_row(
            _WRITE,
            {
                "id": note_id,
                "owner": owner_id,
                "project": project_id,
                "content": content,
                "content_bytes": len(content.encode()),
                "bytes": stored_size(content, source),
                "source": source,
                "kind": writer.kind,
                "writer": writer.id,
                "name": writer.name,
                "account": writer.account_id,
                "checkpoint": checkpoint_id,
                "quota": limits().stored_text_per_owner_max_bytes,
            },
        )
    except IntegrityError as error:
        if not isinstance(error.__cause__, postgres.UniqueViolation):
            raise
        row = None
    if row is None:
        return _why_not(owner_id, project_id, writer, content, source, checkpoint_id)
    announce_change(project_id)
    as_written = {
        "kind": writer.kind,
        "id": str(writer.id),
        "name": writer.name,
        "account_id": str(writer.account_id),
    }
    return NoteReceipt(note_id, project_id, content, source, row[0], as_written)


def _why_not(
    owner_id: UUID,
    project_id: UUID,
    writer: Writer,
    content: str,
    source: str | None,
    checkpoint_id: UUID | None,
) -> NoteReceipt:
    """Find out why nothing was stored: the receipt of the first call, or the error that says why."""
    if not access.live_projects(owner_id).filter(pk=project_id).exists():
        raise ProjectNotAvailable
    if checkpoint_id is not None:
        parameters = {
            "owner": owner_id,
            "project": project_id,
            "writer": writer.id,
            "checkpoint": checkpoint_id,
        }
        first = fetch_row(_RECEIPT, parameters)
        if first is not None:
            note_id, original, original_source, received_at, by = first
            if (original, original_source) != (content, source):
                raise CheckpointConflict
            return NoteReceipt(note_id, project_id, original, original_source, received_at, orjson.loads(by))
    raise QuotaExceeded


@transaction.atomic
def revise_note(
    *,
    owner_id: UUID,
    project_id: UUID | str,
    note_id: UUID | str,
    expected_revision: int,
    actor: Writer,
    content: str | Unset = UNSET,
    source: str | Unset | None = UNSET,
    status: str | Unset = UNSET,
) -> Note:
    """Change a note's wording, source or status as a new revision (A2).

    Restoring an earlier wording is the same act with that wording; restoring a deleted note sets its status.

    Raises:
        InvalidArguments: Nothing to change was given, or a value is not acceptable.
        NotFound: The note is not this owner's.
        RevisionConflict: The note's revision is no longer ``expected_revision``; nothing was changed.
        QuotaExceeded: The owner's storage is full.
    """
    changes = _note_changes(content, source, status)
    note = access.note_of(owner_id, project_id, note_id)
    size = stored_size(str(changes.get("content", note.content)), changes.get("source", note.source))
    owner = lock_owner(owner_id)
    check_quota(owner, size)
    counted = access.live_projects(owner_id).filter(pk=note.project_id)
    if not counted.update(
        memory_revision=F("memory_revision") + 1,
        edit_revision=F("edit_revision") + 1,
        stored_bytes=F("stored_bytes") + size,
    ):
        raise NotFound
    # The project's lock is held from here on, so the wording kept is the one that is replaced.
    note.refresh_from_db()
    replaced = NoteRevision(
        owner_id=owner_id,
        note=note,
        project_id=note.project_id,
        revision=note.revision,
        content=note.content,
        source=note.source,
        status=note.status,
        changed_at=note.updated_at,
        changed_by_kind=note.changed_by_kind,
        changed_by_id=note.changed_by_id,
        changed_by_name=note.changed_by_name,
    )
    accepted = Note.objects.filter(owner_id=owner_id, pk=note.pk, revision=expected_revision).update(
        **changes,
        revision=F("revision") + 1,
        updated_at=Now(),
        changed_by_kind=actor.kind,
        changed_by_id=actor.id,
        changed_by_name=actor.name,
    )
    if not accepted:
        raise RevisionConflict(note.revision)
    replaced.save(force_insert=True)
    only_status = changes.keys() == {"status"}
    record_activity(
        owner_id=owner_id,
        project_id=note.project_id,
        tag=Tag.NOTE_STATUS_CHANGED if only_status else Tag.NOTE_EDITED,
        actor=actor,
        object_id=note.pk,
        revision=note.revision + 1,
        **({"status": changes["status"]} if "status" in changes else {}),
    )
    announce_change(note.project_id)
    note.refresh_from_db()
    return note


def _note_changes(content: str | Unset, source: str | Unset | None, status: str | Unset) -> dict[str, Any]:
    problems: dict[str, str | None] = {}
    changes: dict[str, Any] = {}
    if not isinstance(content, Unset):
        problems["content"] = check_content(content)
        changes |= {"content": content, "content_bytes": len(content.encode("utf-8", "surrogatepass"))}
    if not isinstance(source, Unset):
        problems["source"] = check_source(source)
        changes["source"] = source
    if not isinstance(status, Unset):
        problems["status"] = None if status in Status.values else f"must be one of {', '.join(Status.values)}"
        changes["status"] = status
    refuse(problems)
    if not changes:
        raise InvalidArguments({"content": "give at least one of content, source and status"})
    return changes
