"""From a presented credential to the connection it stands for, looked up anew on every request (G7)."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connections
from django.db.backends.utils import CursorWrapper

from mcp_gateway.authorization.audience import audience
from mcp_gateway.transport.session_services import Session, revisions_of
from memford.core.database import SYSTEM
from memford.core.errors import MemfordError
from memford.core.limits import limits
from memford.core.principal import Principal
from memford.core.scopes import scopes_of
from memford.core.secrets import ACCESS_TOKEN_PREFIX, KEY_PREFIX, digest

SEEN_INTERVAL_SECONDS: Final = 60

# The owner must be active and the project live: deleting either ends its connections at the next call (A8). The
# session that the call names is looked up beside it, bound to the connection and not idle for too long (G9).
_COLUMNS: Final = f"""
SELECT c.id, c.kind, c.name, c.owner_id, c.project_id, c.access,
       c.last_used_at IS NULL OR c.last_used_at < now() - interval '{SEEN_INTERVAL_SECONDS} seconds',
       s.id, s.revision, s.read_memory_revision, s.read_standards_revision,
       s.last_seen_at < now() - interval '{SEEN_INTERVAL_SECONDS} seconds'
"""
_JOINED: Final = """
  JOIN projects_project p ON p.id = c.project_id AND p.deleted_at IS NULL
  JOIN accounts_owner o ON o.id = c.owner_id AND o.is_active
  LEFT JOIN transport_mcpsession s
    ON s.id = %(session)s AND s.connection_id = c.id AND s.ended_at IS NULL
   AND s.last_seen_at > now() - make_interval(secs => %(idle)s)
"""
_LIVE: Final = "c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now())"

_BY_KEY: Final = f"""{_COLUMNS}, NULL, NULL, NULL
  FROM connections_connection c {_JOINED}
 WHERE c.key_digest = %(digest)s AND {_LIVE}
"""

# The audience is compared for equality (O4). An access token that came of a refresh names the token that was presented
# for it, as long as nobody has used a successor of that one (O7).
_BY_TOKEN: Final = f"""{_COLUMNS}, a.scope, a.expires, r.id
  FROM authorization_accesstoken a
  JOIN connections_connection c ON c.id = a.connection_id {_JOINED}
  LEFT JOIN authorization_refreshtoken r ON r.id = a.source_refresh_token_id AND r.successor_used_at IS NULL
 WHERE a.token_checksum = %(digest)s AND a.expires > now() AND a.resource = %(audience)s::jsonb AND {_LIVE}
"""

_SUCCESSOR_USED: Final = """
UPDATE authorization_refreshtoken SET successor_used_at = now() WHERE id = %s AND successor_used_at IS NULL
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
    """Who presents a credential, in which session, and until when.

    ``session`` is ``None`` where the call named none that is theirs and live; ``expires_at`` is an access token's end.
    """

    principal: Principal
    session: Session | None
    expires_at: datetime | None = None


def authenticate(credential: str, session_id: str | None = None) -> Caller:
    """Return who presents ``credential``; nothing is cached, so that revoking works on the next call (G7).

    Raises:
        InvalidCredential: It is unknown, expired, revoked or for another audience, or its project or owner is gone.
        django.db.Error: The database cannot answer; that says nothing of the credential.
    """
    parameters = {
        "digest": digest(credential),
        "session": session_id,
        "idle": limits().mcp_session_idle_life_seconds,
    }
    if credential.startswith(KEY_PREFIX):
        statement = _BY_KEY
    elif credential.startswith(ACCESS_TOKEN_PREFIX):
        statement = _BY_TOKEN
        parameters["audience"] = json.dumps([audience()])
    else:
        raise InvalidCredential
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
        if row is None:
            raise InvalidCredential
        return _caller(cursor, row)


def _caller(cursor: CursorWrapper, row: tuple[Any, ...]) -> Caller:
    """Read the row, and note the use of connection and session at most once a minute each."""
    connection_id, kind, name, owner_id, project_id, access, is_stale, *rest = row
    session_id, revision, read_memory, read_standards, is_session_stale, scope, expires_at, replaced = rest
    if is_stale:
        cursor.execute(_CONNECTION_USED, [connection_id])
    if is_session_stale:
        cursor.execute(_SESSION_SEEN, [session_id])
    if replaced is not None:
        cursor.execute(_SUCCESSOR_USED, [replaced])
    scopes = scopes_of(access)
    if scope is not None:
        scopes &= frozenset(scope.split())
    principal = Principal(connection_id, kind, name, owner_id, project_id, scopes)
    session = None
    if session_id is not None:
        session = Session(session_id, revision, revisions_of(read_memory, read_standards))
    return Caller(principal, session, expires_at)
