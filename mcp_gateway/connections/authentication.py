"""From a presented credential to the connection it stands for, looked up anew on every request (G7)."""

from dataclasses import dataclass
from typing import Any, Final

from django.db import connections
from django.db.backends.utils import CursorWrapper

from mcp_gateway.transport.session_services import Session, revisions_of
from memford.core.database import SYSTEM
from memford.core.errors import MemfordError
from memford.core.limits import limits
from memford.core.principal import Principal
from memford.core.scopes import scopes_of
from memford.core.secrets import KEY_PREFIX, digest

SEEN_INTERVAL_SECONDS: Final = 60

# The owner must be active and the project live: deleting either ends its connections at the next call (A8). The
# session that the call names is looked up beside it, bound to the connection and not idle for too long (G9).
_BY_KEY: Final = f"""
SELECT c.id, c.kind, c.name, c.owner_id, c.project_id, c.access,
       c.last_used_at IS NULL OR c.last_used_at < now() - interval '{SEEN_INTERVAL_SECONDS} seconds',
       s.id, s.revision, s.read_memory_revision, s.read_standards_revision,
       s.last_seen_at < now() - interval '{SEEN_INTERVAL_SECONDS} seconds'
  FROM connections_connection c
  JOIN projects_project p ON p.id = c.project_id AND p.deleted_at IS NULL
  JOIN accounts_owner o ON o.id = c.owner_id AND o.is_active
  LEFT JOIN transport_mcpsession s
    ON s.id = %(session)s AND s.connection_id = c.id AND s.ended_at IS NULL
   AND s.last_seen_at > now() - make_interval(secs => %(idle)s)
 WHERE c.key_digest = %(digest)s AND c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now())
"""

_CONNECTION_USED: Final = f"""
UPDATE connections_connection SET last_used_at = now()
 WHERE id = %s AND (last_used_at IS NULL OR last_used_at < now() - interval '{SEEN_INTERVAL_SECONDS} seconds')
"""

_SESSION_SEEN: Final = f"""
UPDATE transport_mcpsession SET last_seen_at = now()
 WHERE id = %s AND last_seen_at < now() - interval '{SEEN_INTERVAL_SECONDS} seconds'
"""


class InvalidCredential(MemfordError):
    """The credential is unknown, ended, revoked, or not one of ours; which of them is not told."""

    code = "invalid_token"
    status = 401
    message = "The credential is not valid. Ask the project's owner for a new key, or connect again."


@dataclass(frozen=True, slots=True)
class Caller:
    """Who presents a credential, and in which session; ``None`` where it named none that is theirs and live."""

    principal: Principal
    session: Session | None


def authenticate(credential: str, session_id: str | None = None) -> Caller:
    """Return who presents ``credential``; nothing is cached, so that revoking works on the next call (G7).

    Raises:
        InvalidCredential: It is unknown, expired or revoked, or its project or owner is gone.
        django.db.Error: The database cannot answer; that says nothing of the credential.
    """
    if not credential.startswith(KEY_PREFIX):
        raise InvalidCredential
    parameters = {
        "digest": digest(credential),
        "session": session_id,
        "idle": limits().mcp_session_idle_life_seconds,
    }
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(_BY_KEY, parameters)
        row = cursor.fetchone()
        if row is None:
            raise InvalidCredential
        return _caller(cursor, row)


def _caller(cursor: CursorWrapper, row: tuple[Any, ...]) -> Caller:
    """Read the row, and note the use of connection and session at most once a minute each."""
    connection_id, kind, name, owner_id, project_id, access, is_stale, *of_session = row
    session_id, revision, read_memory, read_standards, is_session_stale = of_session
    if is_stale:
        cursor.execute(_CONNECTION_USED, [connection_id])
    if is_session_stale:
        cursor.execute(_SESSION_SEEN, [session_id])
    principal = Principal(connection_id, kind, name, owner_id, project_id, scopes_of(access))
    if session_id is None:
        return Caller(principal, None)
    return Caller(principal, Session(session_id, revision, revisions_of(read_memory, read_standards)))
