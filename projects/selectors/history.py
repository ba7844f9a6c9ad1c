"""Histories: the wordings that were replaced, and the current one behind them (A2, A3)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from projects import access
from projects.models import Note, NoteRevision, Standard, StandardRevision


@dataclass(frozen=True, slots=True)
class NoteWording:
    """One revision of a note; revision 1 is the submission."""

    revision: int
    content: str
    source: str | None
    status: str
    changed_at: datetime
    changed_by_kind: str
    changed_by_id: UUID
    changed_by_name: str


@dataclass(frozen=True, slots=True)
class StandardWording:
    """One revision of a standard."""

    revision: int
    title: str
    content: str
    status: str
    changed_at: datetime
    changed_by_kind: str
    changed_by_id: UUID
    changed_by_name: str


def note_history(*, owner_id: UUID, project_id: UUID | str, note_id: UUID | str) -> list[NoteWording]:
    """Return every revision of a note, the submission first.

    Raises:
        NotFound: The note is not this owner's.
    """
    note = access.note_of(owner_id, project_id, note_id)
    replaced = NoteRevision.objects.filter(owner_id=owner_id, note=note, revision__lt=note.revision)
    return [*map(_note_wording, replaced.order_by("revision")), _note_wording(note)]


def original_wordings(*, owner_id: UUID, notes: Iterable[Note]) -> dict[UUID, tuple[str, str | None]]:
    """Return content and source as they were submitted, of those notes that were edited since (A1)."""
    edited = [note.pk for note in notes if note.revision > 1]
    if not edited:
        return {}
    first = NoteRevision.objects.filter(owner_id=owner_id, note_id__in=edited, revision=1)
    return {
        note_id: (content, source) for note_id, content, source in first.values_list("note_id", "content", "source")
    }


def _note_wording(row: Note | NoteRevision) -> NoteWording:
    return NoteWording(
        revision=row.revision,
        content=row.content,
        source=row.source,
        status=row.status,
        changed_at=row.updated_at if isinstance(row, Note) else row.changed_at,
        changed_by_kind=row.changed_by_kind,
        changed_by_id=row.changed_by_id,
        changed_by_name=row.changed_by_name,
    )


def standard_history(*, owner_id: UUID, standard_id: UUID | str) -> list[StandardWording]:
    """Return every revision of a standard, the first one first.

    Raises:
        NotFound: The standard is not this owner's.
    """
    standard = access.standard_of(owner_id, standard_id)
    replaced = StandardRevision.objects.filter(owner_id=owner_id, standard=standard, revision__lt=standard.revision)
    return [*map(_standard_wording, replaced.order_by("revision")), _standard_wording(standard)]


def _standard_wording(row: Standard | StandardRevision) -> StandardWording:
    return StandardWording(
        revision=row.revision,
        title=row.title,
        content=row.content,
        status=row.status,
        changed_at=row.updated_at if isinstance(row, Standard) else row.changed_at,
        changed_by_kind=row.changed_by_kind,
        changed_by_id=row.changed_by_id,
        changed_by_name=row.changed_by_name,
    )
