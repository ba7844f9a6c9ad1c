"""Who is calling: the connection that a credential stands for, and the writer it signs as."""

from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

NOBODY: Final = UUID(int=0)
WriterKind = Literal["owner", "oauth", "key", "operator"]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who submitted or changed something, as plain values: provenance outlives the connection (T3)."""

    kind: WriterKind
    id: UUID
    name: str
    account_id: UUID

    @classmethod
    def owner(cls, owner_id: UUID, name: str) -> "Writer":
        """Return the owner's own hand, as it writes in the workspace."""
        return cls(kind="owner", id=owner_id, name=name, account_id=owner_id)

    @classmethod
    def operator(cls, name: str) -> "Writer":
        """Return an operator's hand, or a task's, as the activity log names it; it writes no note."""
        return cls(kind="operator", id=NOBODY, name=name, account_id=NOBODY)


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated connection: bound to one owner, one project and its scopes."""

    connection_id: UUID
    kind: Literal["oauth", "key"]
    name: str
    owner_id: UUID
    project_id: UUID
    scopes: frozenset[str]

    @property
    def writer(self) -> Writer:
        """Return the writer identity of everything this connection submits."""
        return Writer(kind=self.kind, id=self.connection_id, name=self.name, account_id=self.owner_id)
