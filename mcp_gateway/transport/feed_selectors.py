"""What the change feed asks the database, in one statement for all that a worker watches (R5)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connections

from mcp_gateway.transport.session_services import Revisions, revisions_of
from memford.core.database import SYSTEM
from projects.sql import fetch_row

# Only what is news comes back: projects whose revisions moved, connections that may no longer listen, and whether
# any session asks this worker to look at it again.
_LOOK: Final = """
SELECT (SELECT array_agg(ARRAY[p.id::text, p.memory_revision::text, p.standards_revision::text])
          FROM unnest(%(projects)s::uuid[], %(memory)s::bigint[], %(standards)s::bigint[]) AS w (id, memory, standards)
          JOIN projects_project p ON p.id = w.id
         WHERE p.memory_revision <> w.memory OR p.standards_revision <> w.standards),
       (SELECT array_agg(w.id)
          FROM unnest(%(connections)s::uuid[]) AS w (id)
         WHERE NOT EXISTS (
               SELECT 1 FROM connections_connection c
                 JOIN projects_project p ON p.id = c.project_id AND p.deleted_at IS NULL
                 JOIN accounts_owner o ON o.id = c.owner_id AND o.is_active
                WHERE c.id = w.id AND c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now()))),
       EXISTS (SELECT 1 FROM transport_mcpsession WHERE attention_of = %(worker)s)
"""

# Claimed by an update, so that a stream that was taken over sends nothing more. What it returns is what may be told.
_CLAIM: Final = """
UPDATE transport_mcpsession s SET last_seen_at = now()
  FROM unnest(%(ids)s::text[], %(epochs)s::bigint[]) AS mine (id, epoch)
 WHERE s.id = mine.id AND s.stream_epoch = mine.epoch AND s.ended_at IS NULL
RETURNING s.id, s.subscribed
"""

_ATTEND: Final = """
UPDATE transport_mcpsession s SET attention_of = nullif(s.attention_of, %(worker)s)
  FROM projects_project p
 WHERE (s.attention_of = %(worker)s OR s.id = ANY(%(sessions)s)) AND p.id = s.project_id
RETURNING s.id, s.stream_epoch, s.ended_at IS NOT NULL, s.subscribed,
          s.read_memory_revision, s.read_standards_revision, p.memory_revision, p.standards_revision
"""

_CURRENT: Final = "SELECT memory_revision, standards_revision FROM projects_project WHERE id = %(project)s"


@dataclass(frozen=True, slots=True)
class News:
    """What a look found."""

    changed: dict[UUID, Revisions]
    ended_connections: frozenset[UUID]
    attention: bool


@dataclass(frozen=True, slots=True)
class Attended:
    """A session that asked to be looked at again."""

    session_id: str
    epoch: int
    ended: bool
    subscribed: bool
    read: Revisions | None
    current: Revisions


def look(worker: UUID, watched: Mapping[UUID, Revisions], connection_ids: Iterable[UUID]) -> News:
    """Ask in one statement for all watched projects, the connections behind them, and this worker's sessions."""
    row = fetch_row(
        _LOOK,
        {
            "worker": worker,
            "projects": list(watched),
            "memory": [revisions.memory for revisions in watched.values()],
            "standards": [revisions.standards for revisions in watched.values()],
            "connections": list(connection_ids),
        },
        using=SYSTEM,
    )
    if row is None:
        raise RuntimeError("a statement without FROM always has a row")
    changed, ended, attention = row
    return News(
        {UUID(id_): Revisions(int(memory), int(standards)) for id_, memory, standards in changed or ()},
        frozenset(ended or ()),
        attention,
    )


def claim_hints(epochs: Mapping[str, int]) -> dict[str, bool]:
    """Return which sessions' streams are still this worker's, and whether each is subscribed (R3)."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(_CLAIM, {"ids": list(epochs), "epochs": list(epochs.values())})
        return dict(cursor.fetchall())


def attend(worker: UUID, session_ids: list[str]) -> list[Attended]:
    """Take up the sessions that ask this worker to look again, and those named beside them."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(_ATTEND, {"worker": worker, "sessions": session_ids})
        return [
            Attended(id_, epoch, ended, subscribed, revisions_of(read_m, read_s), Revisions(memory, standards))
            for id_, epoch, ended, subscribed, read_m, read_s, memory, standards in cursor.fetchall()
        ]


def current_revisions(project_id: UUID) -> Revisions:
    """Return how far a project has come."""
    row = fetch_row(_CURRENT, {"project": project_id}, using=SYSTEM)
    return Revisions(0, 0) if row is None else Revisions(*row)
