"""Issuing, presenting and ending OAuth's credentials (O4, O7, O8).

All of it as ``memford_system``, since a client shows no owner until its credential is found. Each decision is made in
one transaction behind the lock of the row it is about, by the database's clock.
"""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from oauth2_provider.models import set_token_value

from mcp_gateway.authorization.audience import audience
from mcp_gateway.authorization.models import AccessToken, Application, Grant, RefreshToken
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import end_connection
from memford.core.activity import Tag
from memford.core.database import SYSTEM
from memford.core.limits import limits
from memford.core.secrets import digest
from projects.sql import fetch_row

CODE_REPLAYED: Final = "code_replayed"
TOKEN_REUSED: Final = "token_reused"  # noqa: S105
BY_CLIENT: Final = "client"


class GrantRefused(Exception):
    """A code or refresh token is good for nothing; OAuth's ``invalid_grant``."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A new access token and refresh token as they leave; kept as digests only (O9)."""

    access_token: str
    refresh_token: str
    scope: str

    def __repr__(self) -> str:
        return f"Pair({self.scope!r})"


_CLAIM_CODE: Final = """
UPDATE authorization_grant g SET consumed_at = clock_timestamp()
  FROM connections_connection c
  JOIN projects_project p ON p.id = c.project_id AND p.deleted_at IS NULL
  JOIN accounts_owner o ON o.id = c.owner_id AND o.is_active
 WHERE g.id = %(grant)s AND g.consumed_at IS NULL AND g.expires > clock_timestamp()
   AND c.id = g.connection_id AND c.revoked_at IS NULL AND c.expires_at > clock_timestamp()
RETURNING g.id
"""

# Behind the row's lock, so that of parallel presentations each sees what those before it did.
_PRESENT: Final = """
SELECT r.siblings_issued, r.parent_id, r.token_family, r.connection_id, r.owner_id, r.application_id,
       c.revoked_at IS NULL AND c.expires_at > clock_timestamp() AND p.deleted_at IS NULL AND o.is_active,
       coalesce(r.successor_used_at < clock_timestamp() - make_interval(secs => %(grace)s), false),
       coalesce(r.last_used_at, r.created) < clock_timestamp() - make_interval(secs => %(idle)s)
  FROM authorization_refreshtoken r
  JOIN connections_connection c ON c.id = r.connection_id
  JOIN projects_project p ON p.id = c.project_id
  JOIN accounts_owner o ON o.id = c.owner_id
 WHERE r.id = %(token)s
   FOR NO KEY UPDATE OF r
"""

_PRESENTED: Final = """
UPDATE authorization_refreshtoken
   SET siblings_issued = siblings_issued + 1, last_used_at = clock_timestamp()
 WHERE id = %(token)s
RETURNING id
"""

_SUCCESSOR_USED: Final = """
UPDATE authorization_refreshtoken SET successor_used_at = clock_timestamp()
 WHERE id = %(parent)s AND successor_used_at IS NULL
RETURNING id
"""


def grant_of(code: str, client: Application) -> Grant | None:
    """Return the grant that a code stands for, used or not, if it is this client's."""
    return (
        Grant.objects.using(SYSTEM).filter(code=digest(code), application=client).select_related("connection").first()
    )


def refresh_token_of(token: str, client: Application) -> RefreshToken | None:
    """Return the refresh token with its connection, if it is this client's."""
    found = RefreshToken.objects.using(SYSTEM).filter(token_checksum=digest(token), application=client)
    return found.select_related("connection").first()


def exchange_code(grant: Grant, pair: Pair) -> None:
    """Use a code up and store the first pair; only the first of any number of presentations does (O4).

    A code that was used before is a replay by whoever holds its verifier: what it issued ends (O8).

    Raises:
        GrantRefused: The code has ended or was used, or its connection has ended.
    """
    with transaction.atomic(using=SYSTEM):
        claimed = fetch_row(_CLAIM_CODE, {"grant": grant.pk}, using=SYSTEM) is not None
        if claimed:
            _store(_Family(grant.connection_id, grant.user_id, grant.application_id, uuid.uuid4()), pair)
        elif Grant.objects.using(SYSTEM).filter(pk=grant.pk, consumed_at__isnull=False).exists():
            _end(grant.connection, reason=CODE_REPLAYED, tag=Tag.TOKEN_REUSED)
    if not claimed:
        raise GrantRefused


def refresh(token: RefreshToken, pair: Pair) -> None:
    """Store a sibling pair for a presented refresh token, or see that it was stolen (O7).

    Raises:
        GrantRefused: It was unused for too long, has as many siblings as allowed, came back too late after a successor
            was used (then the whole connection has ended), or its connection has ended.
    """
    with transaction.atomic(using=SYSTEM):
        accepted = _present(token, pair)
    if not accepted:
        raise GrantRefused


def _present(token: RefreshToken, pair: Pair) -> bool:
    parameters = {
        "token": token.pk,
        "grace": limits().refresh_token_grace_seconds,
        "idle": limits().refresh_token_idle_life_seconds,
    }
    row = fetch_row(_PRESENT, parameters, using=SYSTEM)
    if row is None:
        return False
    siblings, parent, family, connection_id, owner_id, application_id, is_live, is_reused, is_stale = row
    if not is_live:
        return False
    if is_reused:
        _end(token.connection, reason=TOKEN_REUSED, tag=Tag.TOKEN_REUSED)
        return False
    if is_stale or siblings >= limits().refresh_token_siblings_max:
        return False
    fetch_row(_PRESENTED, {"token": token.pk}, using=SYSTEM)
    if parent is not None:
        fetch_row(_SUCCESSOR_USED, {"parent": parent}, using=SYSTEM)
    _store(_Family(connection_id, owner_id, application_id, family, parent=token.pk), pair)
    return True


@dataclass(frozen=True, slots=True)
class _Family:
    """Whose a pair is, and which token it was issued for."""

    connection_id: UUID | None
    owner_id: UUID
    application_id: int
    id: UUID
    parent: int | None = None


def _store(family: _Family, pair: Pair) -> None:
    common: dict[str, Any] = {
        "user_id": family.owner_id,
        "application_id": family.application_id,
        "connection_id": family.connection_id,
        "resource": [audience()],
    }
    life = timedelta(seconds=limits().access_token_life_seconds)
    access = AccessToken(**common, scope=pair.scope, expires=Now() + life, source_refresh_token_id=family.parent)
    set_token_value(access, pair.access_token)
    access.save(using=SYSTEM, force_insert=True)
    refresh_token = RefreshToken(**common, token_family=family.id, access_token=access, parent_id=family.parent)
    set_token_value(refresh_token, pair.refresh_token)
    refresh_token.save(using=SYSTEM, force_insert=True)


def revoke_by_client(token: str, client: Application) -> None:
    """End the connection that a token belongs to; another client's token, or an unknown one, changes nothing (O8)."""
    with transaction.atomic(using=SYSTEM):
        for model in (RefreshToken, AccessToken):
            found = model.objects.using(SYSTEM).filter(token_checksum=digest(token), application=client)
            for stored in found.select_related("connection"):
                _end(stored.connection, reason=BY_CLIENT)


def _end(connection: Connection | None, *, reason: str, tag: Tag | None = None) -> None:
    if connection is not None:
        end_connection(connection, actor=connection.writer, reason=reason, tag=tag, using=SYSTEM)
