"""Projects to export, archives to import, and how both are looked at."""

import hashlib
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from projects.archive import ImportResult, export_project, import_project
from projects.archive.form import canonical
from projects.models import Note, NoteRevision, Project
from projects.services import assign_standards, create_standard, revise_note, revise_standard, write_note
from tests.cast import Person

BEGINNING: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)
HOSTILE: Final = (
    "  Fanal 🧭\r\n\tline\rline\x01\x7f\u2028\u00a0e\u0301 \u202eRTL\u202c \ufeff\U0010ffff"
    '{"a": 007, "b": [}]] \\u0000 \\ ```` ~~~ </script>  '
)


def archive_of(person: Person, project: Project | None = None) -> bytes:
    """Export a project whole."""
    return b"".join(export_project(owner_id=person.id, project_id=(project or person.project).pk))


def read(archive: bytes) -> dict[str, Any]:
    """Read an archive as anybody would."""
    value: dict[str, Any] = json.loads(archive)
    return value


def packed(archive: dict[str, Any], *, recount: bool = True, resign: bool = True) -> bytes:
    """Print an archive anew after it was changed, its counts and its digest made right."""
    content = archive["content"]
    if recount:
        archive["counts"] = {
            "activity": len(content["activity"]),
            "note_revisions": sum(map(len, map(_revisions, content["notes"]))),
            "notes": len(content["notes"]),
            "standard_revisions": sum(map(len, map(_revisions, content["standards"]))),
            "standards": len(content["standards"]),
        }
    if resign:
        archive["sha256"] = hashlib.sha256(canonical(content)).hexdigest()
    return json.dumps(archive).encode()


def _revisions(member: Any) -> list[Any]:
    return list(member.get("revisions", ())) if isinstance(member, dict) else []


def load(person: Person, archive: bytes) -> Project:
    """Import an archive and return the new project."""
    return made(import_project(owner_id=person.id, actor=person.hand, archive=archive))


def made(result: ImportResult) -> Project:
    """Return the project that an import made."""
    assert result.project_id is not None
    return Project.objects.get(pk=result.project_id)


def without_ids(archive: bytes) -> dict[str, Any]:
    """Return what must be equal after a round trip: all but the notes', the standards' and the project's own ids."""
    content: dict[str, Any] = read(archive)["content"]
    del content["activity"]
    del content["project"]["id"], content["project"]["created_at"]
    for member in (*content["notes"], *content["standards"]):
        del member["id"]
    return content


def lived_in(person: Person) -> Project:
    """Give a person's project notes of every kind, with history, and standards in an order of their own."""
    project, agent = person.project, person.new_agent(name="Claude 🤖")
    for source in (None, "", "a label"):
        write_note(
            owner_id=person.id,
            project_id=project.pk,
            writer=agent.principal.writer,
            content=f"{HOSTILE}{source}",
            source=source,
            checkpoint_id=uuid.uuid4(),
        )
    note = write_note(owner_id=person.id, project_id=project.pk, writer=person.hand, content="by hand")
    change: dict[str, Any] = {"owner_id": person.id, "project_id": project.pk, "note_id": note.id, "actor": person.hand}
    revise_note(**change, expected_revision=1, content="reworded", source="")
    revise_note(**change, expected_revision=2, status="inactive")
    revise_note(**change, expected_revision=3, status="deleted", source=None)
    shelf = [
        create_standard(owner_id=person.id, title=f"Standard {place} {HOSTILE[:9]}", content=HOSTILE, actor=person.hand)
        for place in range(3)
    ]
    edit: dict[str, Any] = {"owner_id": person.id, "standard_id": shelf[1].pk, "actor": person.hand}
    revise_standard(**edit, expected_revision=1, title="Renamed")
    revise_standard(**edit, expected_revision=2, status="inactive")
    assign_standards(
        owner_id=person.id,
        project_id=project.pk,
        expected_revision=0,
        standard_ids=[shelf[2].pk, shelf[0].pk, shelf[1].pk],
        actor=person.hand,
    )
    project.refresh_from_db()
    return project


def fill(person: Person, project: Project, count: int, *, edited: int = 0, content: str = "a note") -> None:
    """Store many notes at once, the first ``edited`` of them with one replaced wording each."""
    rows = [_note(person, project, seq, 2 if seq <= edited else 1, content) for seq in range(1, count + 1)]
    Note.objects.bulk_create(rows, batch_size=500)
    NoteRevision.objects.bulk_create(
        [
            NoteRevision(
                owner_id=person.id,
                note=row,
                project=project,
                revision=1,
                content=f"{content} before",
                source=None,
                status="active",
                changed_at=row.received_at,
                **_by(person),
            )
            for row in rows[:edited]
        ],
        batch_size=500,
    )
    size = len(content.encode())
    Project.objects.filter(pk=project.pk).update(last_seq=count, notes_count=count, stored_bytes=count * size)


def _by(person: Person) -> dict[str, Any]:
    return {"changed_by_kind": "owner", "changed_by_id": person.id, "changed_by_name": person.owner.email}


def _note(person: Person, project: Project, seq: int, revision: int, content: str) -> Note:
    at = BEGINNING + timedelta(seconds=seq)
    return Note(
        owner_id=person.id,
        project=project,
        seq=seq,
        content=content,
        content_bytes=len(content.encode()),
        source=None,
        revision=revision,
        received_at=at,
        updated_at=at,
        writer_kind="owner",
        writer_id=person.id,
        writer_name=person.owner.email,
        writer_account_id=person.id,
        **_by(person),
    )
