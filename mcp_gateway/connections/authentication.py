"""From a presented credential to the connection it stands for, looked up anew on every request (G7)."""

from typing import Final

from django.db import connections

from memford.core.database import SYSTEM
from memford.core.errors import MemfordError
from memford.core.principal import Principal
from memford.core.scopes import scopes_of
from memford.core.secrets import KEY_PREFIX, digest

LAST_USED_INTERVAL_SECONDS: Final = 60

# The owner must be active and the project live: deleting either ends its connections at the next call (A8).
_BY_KEY: Final = f"""
SELECT c.id, c.kind, c.name, c.owner_id, c.project_id, c.access,
       c.last_used_at IS NULL OR c.last_used_at < now() - interval '{LAST_USED_INTERVAL_SECONDS} seconds'
  FROM connections_connection c
  JOIN projects_project p ON p.id = c.project_id AND p.deleted_at IS NULL
  JOIN accounts_owner o ON o.id = c.owner_id AND o.is_active
 WHERE c.key_digest = %(digest)s AND c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now())
"""

_USED: Final = f"""
UPDATE connections_connection SET last_used_at = now()
 WHERE id = %(id)s
   AND (last_used_at IS NULL OR last_used_at < now() - interval '{LAST_USED_INTERVAL_SECONDS} seconds')
"""


class InvalidCredential(MemfordError):
    """The credential is unknown, ended, revoked, or not one of ours; which of them is not told."""

    code = "invalid_token"
    status = 401
    message = "The credential is not valid. Ask the project's owner for a new key, or connect again."


def authenticate(credential: str) -> Principal:
    """Return who presents ``credential``; nothing is cached, so that revoking works on the next call (G7).

    Raises:
        InvalidCredential: It is unknown, expired or revoked, or its project or owner is gone.
        django.db.Error: The database cannot answer; that says nothing of the credential.
    """
    if not credential.startswith(KEY_PREFIX):
        raise InvalidCredential
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(_BY_KEY, {"digest": digest(credential)})
        row = cursor.fetchone()
        if row is None:
            raise InvalidCredential
        connection_id, kind, name, owner_id, project_id, access, is_stale = row
        if is_stale:
            cursor.execute(_USED, {"id": connection_id})
    return Principal(connection_id, kind, name, owner_id, project_id, scopes_of(access))
