"""Owners, projects, keys and notes to measure on; imported once Django is set up."""

import os
from dataclasses import dataclass
from typing import Final

import psycopg

from mcp_gateway.tools.cursor import sign_cursor
from mcp_gateway.transport.models import McpSession
from mcp_gateway.transport.session_services import begin_session, set_subscribed
from memford.core.database import SYSTEM
from projects.models import Note, Project
from projects.selectors.memory import Snapshot
from projects.services import revise_note
from tests.cast import Agent, Person, new_person

CONTENT_CHARS: Final = 300
_SENTENCE: Final = "The lamp turns every eight seconds and is trimmed at dusk by whoever keeps the watch. "
NEIGHBOURS: Final = 50
NEIGHBOURS_NOTES: Final = 400

_FILL: Final = """
INSERT INTO projects_note
       (id, owner_id, project_id, seq, content, content_bytes, source, status, revision, received_at, updated_at,
        writer_kind, writer_id, writer_name, writer_account_id, checkpoint_id,
        changed_by_kind, changed_by_id, changed_by_name)
SELECT gen_random_uuid(), %(owner)s, %(project)s, n, content, octet_length(content), NULL,
       CASE WHEN n %% %(active_each)s = 0 THEN 'active' ELSE 'inactive' END, 1, at, at,
       'key', %(writer)s, %(name)s, %(owner)s, NULL, 'key', %(writer)s, %(name)s
  FROM generate_series(1, %(count)s) AS n,
       LATERAL (SELECT rpad('Note ' || n || '. ', %(chars)s, repeat(%(sentence)s, 5)) AS content,
                       now() - make_interval(secs => %(count)s - n) AS at) AS made
"""

_COUNTERS: Final = """
UPDATE projects_project
   SET last_seq = %(count)s, memory_revision = %(count)s, notes_count = %(count)s,
       stored_bytes = %(count)s::bigint * %(chars)s
 WHERE id = %(project)s
"""


def note_text() -> str:
    """Return the text of a note that is written under load."""
    return (_SENTENCE * 5)[:CONTENT_CHARS]


def fill(agent: Agent, count: int, *, active_each: int = 1) -> None:
    """Give an empty project ``count`` notes, of which each ``active_each``-th is active."""
    connection = agent.connection
    parameters = {
        "owner": connection.owner_id,
        "project": connection.project_id,
        "writer": connection.pk,
        "name": connection.name,
        "count": count,
        "active_each": active_each,
        "chars": CONTENT_CHARS,
        "sentence": _SENTENCE,
    }
    with psycopg.connect(os.environ["MEMFORD_SYSTEM_DATABASE_URL"]) as database:
        database.execute(_FILL, parameters)
        database.execute(_COUNTERS, parameters)


def analyze() -> None:
    """Let the planner know what there is."""
    with psycopg.connect(os.environ["MEMFORD_SYSTEM_DATABASE_URL"], autocommit=True) as database:
        database.execute("ANALYZE")


def postgres_version() -> str:
    """Return the version of the server."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as database:
        row = database.execute("SHOW server_version").fetchone()
    return str(row[0]) if row else "?"


def durability() -> dict[str, str]:
    """Return what the server does for a write to last."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as database:
        names = ("fsync", "synchronous_commit", "full_page_writes")
        rows = [database.execute(f"SHOW {name}".encode()).fetchone() for name in names]
    return {name: str(row[0]) for name, row in zip(names, rows, strict=True) if row}


def writers(count: int) -> list[Agent]:
    """Return agents of one owner, each with a project of its own."""
    person = new_person()
    return [person.new_agent(project=person.new_project(f"Lighthouse {n}")) for n in range(count)]


@dataclass(frozen=True)
class Audience:
    """Agents with a project each, and subscribed sessions of theirs: the first agent's, then the second's."""

    agents: list[Agent]
    sessions: list[str]

    @property
    def sessions_each(self) -> int:
        """How many sessions an agent has."""
        return len(self.sessions) // len(self.agents)

    @property
    def keys(self) -> list[str]:
        """Return the credential of each session."""
        return [agent.key for agent in self.agents for _ in range(self.sessions_each)]

    def revisions(self) -> list[int]:
        """Return the projects' memory revisions."""
        ids = [agent.connection.project_id for agent in self.agents]
        known = dict(Project.objects.filter(pk__in=ids).values_list("pk", "memory_revision"))
        return [known[id_] for id_ in ids]


def audience(projects: int, sessions_each: int) -> Audience:
    """Make agents in projects of their own, and for each of them sessions that are subscribed to its notes."""
    agents = [agent for first in range(0, projects, 20) for agent in writers(min(20, projects - first))]
    client = {"name": "bench", "version": "1"}
    sessions = [
        begin_session(agent.principal, revision="2025-11-25", client_info=client)
        for agent in agents
        for _ in range(sessions_each)
    ]
    for session_id in sessions:
        set_subscribed(session_id, True)
    return Audience(agents, sessions)


def live_sessions(agent: Agent) -> int:
    """Return how many live sessions a connection has in the database."""
    return McpSession.objects.using(SYSTEM).filter(connection_id=agent.connection.pk, ended_at=None).count()


def reader(notes: int) -> Agent:
    """Return an agent whose project has so many notes."""
    agent = new_person().new_agent()
    fill(agent, notes)
    return agent


@dataclass(frozen=True)
class Volume:
    """Projects of different sizes, of one owner, with others beside them."""

    person: Person
    small: Agent
    large: Agent
    sparse: Agent


def volume(small: int, large: int) -> Volume:
    """Make a small project, a large one, and one as large in which one note of a hundred is active."""
    person = new_person()
    made = Volume(person, *(person.new_agent(project=person.new_project(f"Volume {n}")) for n in range(3)))
    neighbour = new_person()
    for number in range(NEIGHBOURS):
        fill(neighbour.new_agent(project=neighbour.new_project(f"Neighbour {number}")), NEIGHBOURS_NOTES)
    fill(made.small, small)
    fill(made.large, large)
    fill(made.sparse, large, active_each=100)
    analyze()
    return made


def middle_cursor(agent: Agent) -> str:
    """Return a cursor for the page in the middle of a project, as a reading that begins now would get it."""
    project = Project.objects.get(pk=agent.connection.project_id)
    snapshot = Snapshot(
        memory_revision=project.memory_revision,
        edit_revision=project.edit_revision,
        standards_revision=project.standards_revision,
        notes_count=project.notes_count,
    )
    return sign_cursor(agent.principal, project.last_seq // 2, snapshot)


def edit(person: Person, agent: Agent, edits: int) -> None:
    """Edit notes through the service: half of the edits fall on the newest hundred, half all over."""
    connection = agent.connection
    last = Project.objects.values_list("last_seq", flat=True).get(pk=connection.project_id)
    spread = max(1, last // max(1, edits))
    for number in range(edits):
        seq = last - (number // 2) % 100 if number % 2 == 0 else 1 + number * spread % last
        note = Note.objects.get(owner_id=person.id, project_id=connection.project_id, seq=seq)
        revise_note(
            owner_id=person.id,
            project_id=connection.project_id,
            note_id=note.pk,
            expected_revision=note.revision,
            actor=person.hand,
            content=f"Edit {number}. {note_text()}"[:CONTENT_CHARS],
        )
