"""Importing an archive: looked through to its end first, then stored in one transaction, or not at all.

Both times the file is read piece by piece, so that memory holds one note with its revisions and one lot of rows.
"""

import io
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO, Final, cast
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q

from accounts.activity import record_activity
from accounts.models import Owner
from memford.core.activity import Tag
from memford.core.errors import InvalidArguments, NotFound, QuotaExceeded
from memford.core.limits import limits
from memford.core.principal import Writer
from projects.archive.fields import Problem
from projects.archive.parts import (
    ArchivedNote,
    ArchivedStandard,
    Wording,
    note_of,
    standard_of,
)
from projects.archive.reader import Unreadable, read_parts
from projects.archive.survey import Identities, KnownStandard, Survey, survey_archive
from projects.models import Note, NoteRevision, Project, Standard, StandardAssignment, StandardRevision
from projects.services.rules import check_number_of_projects, check_quota, lock_owner

ROWS_AT_ONCE: Final = 500
BYTES_AT_ONCE: Final = 4_194_304
COPIED_AT_ONCE: Final = 262_144
REFUSED: Final = "The archive cannot be imported, and nothing was stored. What is named here must be corrected first."


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import did, or would do where ``project_id`` is ``None``.

    ``problems`` holds at most twenty; there are none where something was stored.
    """

    project_id: UUID | None
    project_name: str
    notes: int
    note_revisions: int
    standards_new: int
    standards_reused: int
    stored_bytes: int
    sha256: str
    problems: list[Problem]


def import_project(*, owner_id: UUID, actor: Writer, archive: bytes | BinaryIO, dry_run: bool = False) -> ImportResult:
    """Make a new project of an archive, or with ``dry_run`` say what would become of it and store nothing.

    Notes and standards that are made get new ids; a standard that the owner has with the same title, content and status
    is given to the project instead of a copy. Account ids of others are replaced (docs/archive.md). A dry run raises
    nothing for what the archive holds: it returns the problems.

    Raises:
        InvalidArguments: The archive is not acceptable; ``fields`` names the places.
        NotFound: There is no such owner.
        QuotaExceeded: The owner has as many projects as allowed, or the storage would not suffice.
    """
    with _seekable(archive) as file:
        survey = survey_archive(file, Identities(owner_id))
        if dry_run:
            return _foresee(owner_id, survey)
        if survey.problems:
            raise InvalidArguments({found.place: found.problem for found in survey.problems.found}, REFUSED)
        file.seek(0)
        return _store(owner_id, actor, file, survey)


@contextmanager
def _seekable(archive: bytes | BinaryIO) -> Iterator[BinaryIO]:
    """Give a file that can be read twice; an upload that cannot is copied first, as far as it may be long."""
    if isinstance(archive, bytes):
        yield io.BytesIO(archive)
    elif archive.seekable():
        archive.seek(0)
        yield archive
    else:
        with tempfile.TemporaryFile() as copy:
            _copy(archive, cast("BinaryIO", copy), limits().archive_max_bytes + 1)
            copy.seek(0)
            yield cast("BinaryIO", copy)


def _copy(source: BinaryIO, target: BinaryIO, most: int) -> None:
    while most > 0 and (data := source.read(min(most, COPIED_AT_ONCE))):
        target.write(data)
        most -= len(data)


def _foresee(owner_id: UUID, survey: Survey) -> ImportResult:
    """Say what an import would do now; meanwhile others may change what the answer depends on."""
    owner = Owner.objects.filter(pk=owner_id, is_active=True).first()
    if owner is None:
        raise NotFound
    own = _find_own(owner_id, survey.standards)
    result = _result(survey, own)
    checks: list[Callable[[], None]] = [
        partial(check_number_of_projects, owner_id),
        partial(check_quota, owner, result.stored_bytes),
    ]
    for check in checks:
        try:
            check()
        except QuotaExceeded as error:
            survey.problems.tell("archive", error.message)
    return replace(result, problems=survey.problems.found)


def _result(survey: Survey, own: list[UUID | None], project_id: UUID | None = None) -> ImportResult:
    made = [standard.size for standard, existing in zip(survey.standards, own, strict=True) if existing is None]
    return ImportResult(
        project_id=project_id,
        project_name=survey.project.name,
        notes=survey.found["notes"],
        note_revisions=survey.found["note_revisions"],
        standards_new=len(made),
        standards_reused=len(own) - len(made),
        stored_bytes=survey.note_bytes + sum(made),
        sha256=survey.sha256,
        problems=[],
    )


def _find_own(owner_id: UUID, standards: list[KnownStandard]) -> list[UUID | None]:
    """Find for each archived standard one of the owner's that agents would read alike; none is taken twice.

    The one that has the archive's id comes first, else the oldest.
    """
    alike = Q(pk__in=[])
    for standard in standards:
        alike |= Q(title=standard.title, content=standard.content, status=standard.status)
    rows = Standard.objects.filter(alike, owner_id=owner_id).order_by("created_at", "id")
    free: dict[tuple[str, str, str], list[UUID]] = {}
    for row in rows:
        free.setdefault((row.title, row.content, row.status), []).append(row.pk)
    found: list[UUID | None] = []
    for standard in standards:
        candidates = free.get((standard.title, standard.content, standard.status), [])
        taken = standard.id if standard.id in candidates else next(iter(candidates), None)
        if taken is not None:
            candidates.remove(taken)
        found.append(taken)
    return found


@transaction.atomic
def _store(owner_id: UUID, actor: Writer, file: BinaryIO, survey: Survey) -> ImportResult:
    owner = lock_owner(owner_id)
    check_number_of_projects(owner_id)
    own = _find_own(owner_id, survey.standards)
    result = _result(survey, own, uuid.uuid4())
    check_quota(owner, result.stored_bytes)
    project = _make_project(owner, survey, result)
    _store_parts(file, survey, _Store(owner_id, project, own))
    record_activity(
        owner_id=owner_id,
        project_id=project.pk,
        tag=Tag.PROJECT_IMPORTED,
        actor=actor,
        notes=result.notes,
        standards=result.standards_new + result.standards_reused,
        archive_project_id=str(survey.project.id),
        archive_sha256=result.sha256,
    )
    return result


def _store_parts(file: BinaryIO, survey: Survey, store: "_Store") -> None:
    """Read the file again and store what it holds, which must be what was looked through."""
    changed = InvalidArguments({"archive": "changed while it was read"}, REFUSED)
    try:
        for section, index, value in read_parts(file):
            if section == "notes":
                note = note_of(value, index, survey.problems)
                if survey.problems:
                    raise changed
                store.note(note)
            elif section == "standards":
                standard = standard_of(value, index, survey.problems)
                if survey.problems or index >= len(survey.standards):
                    raise changed
                store.standard(index, standard)
            elif section == "sha256" and value != survey.sha256:
                raise changed
    except Unreadable:
        raise changed from None
    store.finish()


def _make_project(owner: Owner, survey: Survey, result: ImportResult) -> Project:
    Owner.objects.filter(pk=owner.pk).update(
        standards_bytes=F("standards_bytes") + result.stored_bytes - survey.note_bytes
    )
    given = 1 if survey.standards else 0
    return Project.objects.create(
        id=result.project_id,
        owner=owner,
        name=survey.project.name,
        description=survey.project.description,
        last_seq=result.notes,
        memory_revision=result.notes,
        notes_count=result.notes,
        stored_bytes=survey.note_bytes,
        standards_revision=given,
        assignment_revision=given,
    )


class _Store:
    """Makes rows of an archive's parts and inserts them lot by lot."""

    def __init__(self, owner_id: UUID, project: Project, own: list[UUID | None]) -> None:
        self._owner_id = owner_id
        self._identities = Identities(owner_id)
        self._project = project
        self._own = own
        self._notes: list[Note] = []
        self._revisions: list[NoteRevision] = []
        self._bytes = 0

    def note(self, note: ArchivedNote) -> None:
        """Keep a note until the lot is full."""
        last = note.wordings[-1]
        row = Note(
            id=uuid.uuid4(),
            owner_id=self._owner_id,
            project=self._project,
            seq=note.seq,
            content=last.content,
            content_bytes=len(last.content.encode()),
            source=last.label,
            status=last.status,
            revision=last.revision,
            received_at=note.received_at,
            updated_at=last.changed_at,
            writer_kind=note.writer.kind,
            writer_id=self._identities.of(note.writer),
            writer_name=note.writer.name,
            writer_account_id=self._identities.account(note.account_id),
            checkpoint_id=note.checkpoint_id,
            **self._identities.columns(last.changed_by),
        )
        self._notes.append(row)
        self._revisions += [self._revision(row, wording) for wording in note.wordings[:-1]]
        self._bytes += note.size
        if len(self._notes) + len(self._revisions) >= ROWS_AT_ONCE or self._bytes >= BYTES_AT_ONCE:
            self.finish()

    def _revision(self, note: Note, wording: Wording) -> NoteRevision:
        return NoteRevision(
            owner_id=self._owner_id,
            note=note,
            project=self._project,
            revision=wording.revision,
            content=wording.content,
            source=wording.label,
            status=wording.status,
            changed_at=wording.changed_at,
            **self._identities.columns(wording.changed_by),
        )

    def finish(self) -> None:
        """Insert what is kept."""
        Note.objects.bulk_create(self._notes, batch_size=ROWS_AT_ONCE)
        NoteRevision.objects.bulk_create(self._revisions, batch_size=ROWS_AT_ONCE)
        self._notes, self._revisions, self._bytes = [], [], 0

    def standard(self, index: int, standard: ArchivedStandard) -> None:
        """Give the project a standard: the owner's own where there is one alike, else a new one with its history."""
        existing = self._own[index]
        StandardAssignment.objects.create(
            owner_id=self._owner_id,
            project=self._project,
            standard_id=existing or self._new_standard(standard).pk,
            position=index,
        )

    def _new_standard(self, standard: ArchivedStandard) -> Standard:
        last = standard.wordings[-1]
        row = Standard.objects.create(
            owner_id=self._owner_id,
            title=last.label or "",
            content=last.content,
            status=last.status,
            revision=last.revision,
            created_at=standard.created_at,
            updated_at=last.changed_at,
            **self._identities.columns(last.changed_by),
        )
        StandardRevision.objects.bulk_create(
            (
                StandardRevision(
                    owner_id=self._owner_id,
                    standard=row,
                    revision=wording.revision,
                    title=wording.label or "",
                    content=wording.content,
                    status=wording.status,
                    changed_at=wording.changed_at,
                    **self._identities.columns(wording.changed_by),
                )
                for wording in standard.wordings[:-1]
            ),
            batch_size=ROWS_AT_ONCE,
        )
        return row
