"""The parts that recur in tests: an owner, another owner, and a stranger; each test makes its own."""

import uuid
from dataclasses import dataclass, field

from accounts.models import Owner
from accounts.services import ensure_owner
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import create_key
from memford.core.principal import Principal, Writer
from memford.core.scopes import scopes_of
from projects.models import Project
from projects.services import create_project


def unique_email() -> str:
    """Return an address that no other test has."""
    return f"{uuid.uuid4().hex}@example.com"


@dataclass
class Agent:
    """A connection by project key, with the secret that its agent presents."""

    connection: Connection
    key: str

    @property
    def principal(self) -> Principal:
        """Return the connection as the gateway sees it."""
        c = self.connection
        return Principal(c.pk, "key", c.name, c.owner_id, c.project_id, scopes_of(c.access))

    @property
    def project_id(self) -> str:
        """Return the project's id as agents give it."""
        return str(self.connection.project_id)


@dataclass
class Person:
    """An owner with a project."""

    owner: Owner
    project: Project = field(init=False)

    def __post_init__(self) -> None:
        self.project = self.new_project()

    @property
    def id(self) -> uuid.UUID:
        """Return the owner's id."""
        return self.owner.pk

    @property
    def hand(self) -> Writer:
        """Return the owner as a writer."""
        return Writer.owner(self.owner.pk, self.owner.email)

    def new_project(self, name: str = "Lighthouse") -> Project:
        """Make a project of this owner's."""
        return create_project(owner_id=self.owner.pk, name=name, actor=self.hand)

    def new_agent(self, *, project: Project | None = None, access: str = "read_write", name: str = "an agent") -> Agent:
        """Make a connection to the owner's project, or to another of theirs."""
        issued = create_key(
            owner_id=self.owner.pk,
            project_id=(project or self.project).pk,
            name=name,
            access=access,
            actor=self.hand,
        )
        return Agent(issued.connection, issued.secret)


def new_person() -> Person:
    """Make an owner with a project."""
    return Person(ensure_owner(email=unique_email()))
