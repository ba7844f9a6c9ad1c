"""What the tools return (T1-T6), as far as a client uses it; fields that come later are left alone."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")


class Writer(_Shape):
    """Who submitted a note (T3)."""

    kind: str
    id: str
    name: str
    account_id: str


class Project(_Shape):
    """The one project that a connection reaches (T1)."""

    id: str
    name: str
    description: str
    notes_count: int
    memory_revision: int
    standards_revision: int
    created_at: str


class Note(_Shape):
    """A note in its current wording (T3)."""

    id: str
    content: str
    source: str | None
    revision: int
    received_at: str
    updated_at: str
    writer: Writer


class Standard(_Shape):
    """A standard that the project is given (T4)."""

    id: str
    title: str
    content: str
    revision: int


class Receipt(_Shape):
    """What a submission was, for ever (T6)."""

    id: str
    project_id: str
    content: str
    source: str | None
    received_at: str
    writer: Writer


class Page(_Shape):
    """One page of a reading, or the whole of it: notes, the standards, and the revisions they belong to (T2)."""

    project: dict[str, Any]
    notes: list[Note]
    standards: list[Standard]
    memory_revision: int
    standards_revision: int
    next_cursor: str | None
