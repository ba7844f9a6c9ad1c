"""Who is calling: the connection that a credential stands for, and the writer it signs as."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

WriterKind = Literal["owner", "oauth", "key"]


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
