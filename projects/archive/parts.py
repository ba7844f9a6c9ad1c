"""The parts of an archive as typed values, held against the limits of part 1."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memford.core.limits import limits
from memford.core.text import check_text
from projects.archive.fields import Fields, Problems
from projects.archive.form import COUNTS
from projects.models import StandardStatus, Status
from projects.services.projects import check_description, check_name
from projects.services.rules import check_content, check_source, stored_size
from projects.services.standards import check_standard_content, check_title

WRITER_KINDS: Final = ("owner", "oauth", "key")
NAME_MAX_CHARS: Final = 254
DETAIL_DEPTH_MAX: Final = 4
_WORDING: Final = ("revision", "content", "source", "status", "changed_at", "changed_by")
_STANDARD_WORDING: Final = ("revision", "title", "content", "status", "changed_at", "changed_by")


@dataclass(frozen=True, slots=True)
class By:
    """Who wrote or changed something, as the archive says."""

    kind: str
    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class Wording:
    """One revision of a note (its ``label`` is the source) or of a standard (its ``label`` is the title)."""

    revision: int
    label: str | None
    content: str
    status: str
    changed_at: datetime
    changed_by: By

    @property
    def size(self) -> int:
        """The bytes that it takes of the owner's storage."""
        return stored_size(self.content, self.label)


@dataclass(frozen=True, slots=True)
class ArchivedNote:
    """A note with all its wordings, the current one last."""

    seq: int
    received_at: datetime
    checkpoint_id: UUID | None
    writer: By
    account_id: UUID
    wordings: list[Wording]

    @property
    def size(self) -> int:
        """The bytes that it takes of the owner's storage."""
        return sum(wording.size for wording in self.wordings)


@dataclass(frozen=True, slots=True)
class ArchivedStandard:
    """A standard with all its wordings, the current one last."""

    id: UUID
    created_at: datetime
    wordings: list[Wording]

    @property
    def size(self) -> int:
        """The bytes that it takes of the owner's storage."""
        return sum(wording.size for wording in self.wordings)


@dataclass(frozen=True, slots=True)
class ArchivedProject:
    """What the archive says of the project itself."""

    id: UUID
    name: str
    description: str


def counts_of(value: Any, problems: Problems) -> dict[str, int]:
    """Read the counts."""
    fields = Fields(value, "counts", COUNTS, problems)
    return {name: fields.integer(name) for name in COUNTS}


def project_of(value: Any, problems: Problems) -> ArchivedProject:
    """Read the project."""
    fields = Fields(value, "project", ("id", "name", "description", "created_at"), problems)
    fields.time("created_at")
    return ArchivedProject(
        fields.uuid("id"), fields.text("name", check_name), fields.text("description", check_description)
    )


def note_of(value: Any, index: int, problems: Problems) -> ArchivedNote:
    """Read a note; the first has seq 1, and there is no gap."""
    names = ("id", "seq", "received_at", "checkpoint_id", "writer", "revisions")
    fields = Fields(value, f"notes[{index}]", names, problems)
    fields.uuid("id")
    writer = fields.object("writer", ("kind", "id", "name", "account_id"))
    return ArchivedNote(
        seq=fields.integer("seq", due=index + 1),
        received_at=fields.time("received_at"),
        checkpoint_id=fields.optional_uuid("checkpoint_id"),
        writer=_by(writer),
        account_id=writer.uuid("account_id"),
        wordings=list(_note_wordings(fields)),
    )


def _note_wordings(note: Fields) -> Iterator[Wording]:
    for place, fields in enumerate(note.objects("revisions", _WORDING)):
        source = fields.optional_text("source", check_source)
        yield _wording(fields, place, source, fields.text("content", check_content), Status.values)


def standard_of(value: Any, index: int, problems: Problems) -> ArchivedStandard:
    """Read a standard."""
    fields = Fields(value, f"standards[{index}]", ("id", "created_at", "revisions"), problems)
    return ArchivedStandard(fields.uuid("id"), fields.time("created_at"), list(_standard_wordings(fields)))


def _standard_wordings(standard: Fields) -> Iterator[Wording]:
    for place, fields in enumerate(standard.objects("revisions", _STANDARD_WORDING)):
        title = fields.text("title", check_title)
        yield _wording(fields, place, title, fields.text("content", check_standard_content), StandardStatus.values)


def _wording(fields: Fields, place: int, label: str | None, content: str, statuses: list[str]) -> Wording:
    return Wording(
        revision=fields.integer("revision", due=place + 1),
        label=label,
        content=content,
        status=fields.choice("status", statuses),
        changed_at=fields.time("changed_at"),
        changed_by=_by(fields.object("changed_by", ("kind", "id", "name"))),
    )


def _by(fields: Fields) -> By:
    return By(fields.choice("kind", WRITER_KINDS), fields.uuid("id"), fields.text("name", _check_writer_name))


def _check_writer_name(name: str) -> str | None:
    return check_text(name, max_chars=NAME_MAX_CHARS)


def check_line(value: Any, index: int, problems: Problems) -> None:
    """Look at a line of activity, which is read and not stored."""
    place = f"activity[{index}]"
    fields = Fields(value, place, ("at", "tag", "actor", "object_id", "detail"), problems)
    fields.time("at")
    fields.text("tag", lambda tag: check_text(tag, max_chars=40, required=True))
    fields.optional_uuid("object_id")
    actor = fields.object("actor", ("kind", "id", "name"))
    actor.text("kind", lambda kind: check_text(kind, max_chars=8, required=True))
    actor.uuid("id")
    actor.text("name", _check_writer_name)
    detail = fields.raw("detail")
    problem = _detail_problem(detail, DETAIL_DEPTH_MAX) if isinstance(detail, dict) else "must be an object"
    if problem is not None:
        problems.tell(f"{place}.detail", problem)


def _detail_problem(value: Any, depth: int) -> str | None:
    if depth == 0:
        return "is nested too deeply"
    if isinstance(value, str):
        return check_text(value, max_chars=limits().content_max_chars)
    members = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    if isinstance(members, list):
        return next((problem for member in members if (problem := _detail_problem(member, depth - 1))), None)
    return None
