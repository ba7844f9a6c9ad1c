"""A project's notes as its owner looks through them: by status, by writer, by words, and what moved since (W2)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connections
from django.db.models import BooleanField, Max, QuerySet
from django.db.models.expressions import RawSQL

from accounts.models import Activity
from memford.core.activity import Tag
from memford.core.database import APP
from projects import access
from projects.models import Note

WORDS_MAX_CHARS: Final = 200
WRITERS_MAX: Final = 200
CHANGES_MAX: Final = 200
WALKED_NOTES: Final = 500

# The expression of the index note_words. The project's id is a word of it, so that the words of all other projects'
# notes need not be looked at. No language is assumed: words are compared as they are written, in lower case.
_VECTOR: Final = """(
    to_tsvector('simple'::regconfig, coalesce(projects_note.source, '') || ' ' || projects_note.content)
    || array_to_tsvector(ARRAY[projects_note.project_id::text]))"""
# As people type into a search box, with quotes, OR and a minus; the beginning of a word is enough.
_QUERY: Final = r"""(%s::text)::tsquery && regexp_replace(
    websearch_to_tsquery('simple'::regconfig, %s::text)::text, '''(?:[^'']|'''')+''', '\&:*', 'g')::tsquery"""

_HAS_WORDS: Final = "numnode(websearch_to_tsquery('simple'::regconfig, %s::text)) > 0"

_INDEXED: Final = f"""WITH indexed AS MATERIALIZED (
    SELECT id FROM projects_note WHERE {_HAS_WORDS} AND {_VECTOR} @@ ({_QUERY}))"""

_WRITERS: Final = """
WITH RECURSIVE found AS (
    (SELECT writer_id, writer_kind, writer_name FROM projects_note
      WHERE owner_id = %(owner)s AND project_id = %(project)s ORDER BY writer_id, seq DESC LIMIT 1)
    UNION ALL
    SELECT next.* FROM found, LATERAL (
        SELECT writer_id, writer_kind, writer_name FROM projects_note
         WHERE owner_id = %(owner)s AND project_id = %(project)s AND writer_id > found.writer_id
         ORDER BY writer_id, seq DESC LIMIT 1) AS next
)
SELECT * FROM found LIMIT %(most)s
"""

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class NoteFilter:
    """Which of a project's notes are looked for; what is not given holds for all."""

    status: str | None = None
    writer_id: UUID | None = None
    words: str = ""

    @property
    def is_open(self) -> bool:
        """Whether every note passes."""
        return self.status is None and self.writer_id is None and not self.words

    @property
    def beginnings(self) -> list[str]:
        """Return what the words of a note begin with that were looked for, in lower case."""
        wanted = re.sub(r"(?:^|\s)-(?:\"[^\"]*\"?|\S+)", " ", self.words)
        return [word.lower() for word in _WORD.findall(wanted) if word not in {"OR", "or"}]

    def within(self, notes: QuerySet[Note]) -> QuerySet[Note]:
        """Return those that pass but for the words, which are :func:`_find`'s."""
        if self.status is not None:
            notes = notes.filter(status=self.status)
        return notes if self.writer_id is None else notes.filter(writer_id=self.writer_id)


ALL_NOTES: Final = NoteFilter()


@dataclass(frozen=True, slots=True)
class NoteWriter:
    """Somebody who wrote notes of a project, by their newest name."""

    id: UUID
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class NoteChanges:
    """What moved in a project's notes: who looks next asks from ``mark`` on."""

    mark: int
    written: list[UUID]
    changed: list[UUID]
    is_cut: bool


def list_notes(
    *,
    owner_id: UUID,
    project_id: UUID | str,
    limit: int,
    before_seq: int | None = None,
    only: NoteFilter = ALL_NOTES,
    among: list[UUID] | None = None,
) -> list[Note]:
    """Return retained notes newest first, from behind ``before_seq``, that pass a filter (A1).

    ``among`` names the notes that are asked about.

    Raises:
        NotFound: The project is not this owner's.
    """
    project = access.project_of(owner_id, project_id)
    notes = only.within(Note.objects.filter(owner_id=owner_id, project=project)).order_by("-seq")
    if before_seq is not None:
        notes = notes.filter(seq__lt=before_seq)
    if among is not None:
        notes = notes.filter(pk__in=among)
    if not only.words:
        return list(notes[:limit])
    return _find(notes, project.pk, only.words, limit)


def _find(notes: QuerySet[Note], project_id: UUID, words: str, limit: int) -> list[Note]:
    """Return the newest notes that hold words: first among the newest of all, then by the index of words.

    What many notes hold is found at once among the newest, and what few hold by the index. PostgreSQL is not left to
    choose, since it takes the splitting of a text into words for much cheaper than it is.
    """
    parameters = (words, f"'{project_id}'", words)
    newest = list(notes.values_list("pk", "seq")[:WALKED_NOTES])
    # As a test of a truth value it is nothing that the index could be asked.
    holds = RawSQL(f"({_HAS_WORDS} AND {_VECTOR} @@ ({_QUERY})) IS TRUE", parameters, BooleanField())  # noqa: S611
    found = list(notes.filter(holds, pk__in=[pk for pk, _ in newest])[:limit])
    if len(found) >= limit or len(newest) < WALKED_NOTES:
        return found
    ids = RawSQL(f"{_INDEXED} SELECT id FROM indexed", parameters)  # noqa: S611
    beyond = notes.filter(seq__lt=newest[-1][1], pk__in=ids)
    return [*found, *beyond[: limit - len(found)]]


def note_writers(*, owner_id: UUID, project_id: UUID) -> list[NoteWriter]:
    """Return who wrote a project's notes, at most ``WRITERS_MAX``, by name.

    It steps from writer to writer along an index, so its cost grows with the writers and not with the notes.
    """
    with connections[APP].cursor() as cursor:
        cursor.execute(_WRITERS, {"owner": owner_id, "project": project_id, "most": WRITERS_MAX})
        found = [NoteWriter(id_, kind, name) for id_, kind, name in cursor.fetchall()]
    return sorted(found, key=lambda writer: writer.name.casefold())


def existing_notes(*, owner_id: UUID, project_id: UUID, note_ids: Iterable[UUID]) -> set[UUID]:
    """Return those of these ids that are notes of a project, whatever their status."""
    found = Note.objects.filter(owner_id=owner_id, project_id=project_id, pk__in=list(note_ids))
    return set(found.values_list("pk", flat=True))


def note_mark(*, owner_id: UUID, project_id: UUID) -> int:
    """Return from where on :func:`note_changes` tells of what comes next; ask before reading the notes."""
    lines = Activity.objects.filter(owner_id=owner_id, project_id=project_id)
    return lines.aggregate(newest=Max("id"))["newest"] or 0


def note_changes(*, owner_id: UUID, project_id: UUID, since: int) -> NoteChanges:
    """Return which notes were written and changed since a mark.

    The activity log says so: each of its lines about a note is written while the project's row is locked, so they
    become visible in the order of their numbers.
    """
    lines = Activity.objects.filter(owner_id=owner_id, project_id=project_id, id__gt=since).order_by("id")
    found = list(lines.values_list("id", "tag", "object_id")[: CHANGES_MAX + 1])
    is_cut, found = len(found) > CHANGES_MAX, found[:CHANGES_MAX]
    written = [object_id for _, tag, object_id in found if tag == Tag.NOTE_WRITTEN and object_id is not None]
    about = {Tag.NOTE_EDITED, Tag.NOTE_STATUS_CHANGED}
    changed = [object_id for _, tag, object_id in found if tag in about and object_id is not None]
    return NoteChanges(found[-1][0] if found else since, written, changed, is_cut)
