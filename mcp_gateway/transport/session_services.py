"""What changes an MCP session: beginning, ending, subscribing, remembering a read, attaching a stream (G9, R2, R3).

All of it as ``memford_system``, since sessions belong to the transport and not to an owner's work; each function is
one statement unless it says otherwise.
"""

import secrets
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connections, transaction

from memford.core.database import SYSTEM
from memford.core.limits import limits
from memford.core.principal import Principal
from projects.sql import fetch_row

SESSION_ID_BYTES: Final = 32
CLIENT_TEXT_MAX_CHARS: Final = 120
# How close to the limit a connection's sessions must be before they are counted under a lock.
NEAR_LIMIT: Final = 64
REMOVAL_GRACE_SECONDS: Final = 600
REMOVED_AT_ONCE: Final = 5_000


@dataclass(frozen=True, slots=True, order=True)
class Revisions:
    """How far a project's memory and standards have come; both only ever grow (T9)."""

    memory: int
    standards: int

    def is_newer_than(self, seen: "Revisions | None") -> bool:
        """Say whether there is something that ``seen`` does not cover; nothing seen covers nothing."""
        return seen is None or self.memory > seen.memory or self.standards > seen.standards


@dataclass(frozen=True, slots=True)
class Session:
    """A live session as a call finds it."""

    id: str
    revision: str
    read: Revisions | None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A stream's place: its epoch, and what it must know to hint at once."""

    epoch: int
    subscribed: bool
    read: Revisions | None
    current: Revisions


_BEGIN: Final = """
INSERT INTO transport_mcpsession
       (id, owner_id, connection_id, project_id, revision, client_name, client_version,
        subscribed, stream_epoch)
VALUES (%(id)s, %(owner)s, %(connection)s, %(project)s, %(revision)s, %(name)s, %(version)s, false, 0)
RETURNING (SELECT count(*) FROM transport_mcpsession WHERE connection_id = %(connection)s)
"""

_LOCK: Final = "SELECT 1 FROM connections_connection WHERE id = %(connection)s FOR NO KEY UPDATE"

_TRIM: Final = """
DELETE FROM transport_mcpsession WHERE id IN (
    SELECT id FROM transport_mcpsession WHERE connection_id = %(connection)s
     ORDER BY ended_at IS NULL DESC, last_seen_at DESC, id OFFSET %(most)s)
"""

_END: Final = """
UPDATE transport_mcpsession SET ended_at = now(), attention_of = stream_holder
 WHERE id = %(id)s AND connection_id = %(connection)s AND ended_at IS NULL
RETURNING id
"""

_SUBSCRIBE: Final = """
UPDATE transport_mcpsession SET subscribed = %(subscribed)s, attention_of = stream_holder
 WHERE id = %(id)s AND ended_at IS NULL
"""

_REMEMBER: Final = """
UPDATE transport_mcpsession
   SET read_memory_revision = greatest(read_memory_revision, %(memory)s),
       read_standards_revision = greatest(read_standards_revision, %(standards)s)
 WHERE id = %(id)s
"""

# The row's lock decides between two streams that attach at once. Whoever held the stream is asked to look again.
_ATTACH: Final = """
WITH before AS (
    SELECT id, stream_holder FROM transport_mcpsession
     WHERE id = %(id)s AND connection_id = %(connection)s AND ended_at IS NULL FOR UPDATE
)
UPDATE transport_mcpsession s
   SET stream_epoch = s.stream_epoch + 1, stream_holder = %(worker)s, last_seen_at = now(),
       attention_of = CASE WHEN before.stream_holder <> %(worker)s THEN before.stream_holder ELSE s.attention_of END
  FROM before, projects_project p
 WHERE s.id = before.id AND p.id = s.project_id
RETURNING s.stream_epoch, s.subscribed, s.read_memory_revision, s.read_standards_revision,
          p.memory_revision, p.standards_revision
"""

# A session that ended stays a while, so that the worker of its stream still hears of it.
_REMOVE: Final = """
DELETE FROM transport_mcpsession WHERE id IN (
    SELECT id FROM transport_mcpsession
     WHERE ended_at < now() - make_interval(secs => %(grace)s)
        OR last_seen_at < now() - make_interval(secs => %(idle)s + %(grace)s)
     LIMIT %(most)s FOR UPDATE SKIP LOCKED)
"""


def begin_session(principal: Principal, *, revision: str, client_info: Any) -> str:
    """Begin a session and return its id; the longest idle ones beyond the connection's limit give way (G9).

    One statement, and two more in a transaction where the limit is near.
    """
    info = client_info if isinstance(client_info, dict) else {}
    session_id = secrets.token_urlsafe(SESSION_ID_BYTES)
    row = fetch_row(
        _BEGIN,
        {
            "id": session_id,
            "owner": principal.owner_id,
            "connection": principal.connection_id,
            "project": principal.project_id,
            "revision": revision,
            "name": _client_text(info.get("name")),
            "version": _client_text(info.get("version")),
        },
        using=SYSTEM,
    )
    most = limits().mcp_sessions_per_connection_max
    # The count is of before this one, as the statement saw it; others may have come since.
    if row is not None and row[0] >= most - NEAR_LIMIT:
        _trim_sessions(principal.connection_id, most)
    return session_id


def _trim_sessions(connection_id: UUID, most: int) -> None:
    with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
        # Locked first, so that the next statement sees what others inserted before they trimmed.
        cursor.execute(_LOCK, {"connection": connection_id})
        cursor.execute(_TRIM, {"connection": connection_id, "most": most})


def _client_text(value: object) -> str:
    """Keep what a client calls itself, as far as it can be stored."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode().replace("\0", "")[:CLIENT_TEXT_MAX_CHARS]


def end_session(principal: Principal, session_id: str) -> bool:
    """End a session and say whether it was live; its stream ends wherever it is (G9, R2)."""
    row = fetch_row(_END, {"id": session_id, "connection": principal.connection_id}, using=SYSTEM)
    return row is not None


def remove_dead_sessions(*, at_once: int = REMOVED_AT_ONCE) -> int:
    """Remove sessions that ended or were idle too long, a bounded lot in each statement; return how many (P3).

    Safe to run twice and beside live traffic: what it removes is found by no call any more, and a row that another
    transaction holds is left for the next time.
    """
    parameters = {"grace": REMOVAL_GRACE_SECONDS, "idle": limits().mcp_session_idle_life_seconds, "most": at_once}
    removed = 0
    with connections[SYSTEM].cursor() as cursor:
        while True:
            cursor.execute(_REMOVE, parameters)
            count: int = cursor.rowcount
            removed += count
            if count < at_once:
                return removed


def set_subscribed(session_id: str, subscribed: bool) -> None:
    """Subscribe to the project's notes, or no longer (R2); the stream's worker looks at the session again."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(_SUBSCRIBE, {"id": session_id, "subscribed": subscribed})


def remember_read(session: Session, read: Revisions) -> None:
    """Remember what a first page showed; writes nothing where it is known already (R3)."""
    if not read.is_newer_than(session.read):
        return
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(_REMEMBER, {"id": session.id, "memory": read.memory, "standards": read.standards})


def attach_stream(principal: Principal, session_id: str, worker: UUID) -> Attachment | None:
    """Take the session's stream over for ``worker``; ``None`` where the session ended meanwhile (R3)."""
    parameters = {"id": session_id, "connection": principal.connection_id, "worker": worker}
    row = fetch_row(_ATTACH, parameters, using=SYSTEM)
    if row is None:
        return None
    epoch, subscribed, read_memory, read_standards, memory, standards = row
    return Attachment(epoch, subscribed, revisions_of(read_memory, read_standards), Revisions(memory, standards))


def revisions_of(memory: int | None, standards: int | None) -> Revisions | None:
    """Return a pair of columns as revisions, or ``None`` where nothing was read."""
    return None if memory is None or standards is None else Revisions(memory, standards)
