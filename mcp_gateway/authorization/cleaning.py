"""Periodic work of the authorization server: what nobody can use any more goes (O10, P3).

Each step is safe to run twice and beside live traffic: it takes a bounded lot of rows that no other transaction holds,
looks again behind their lock, and what it removes was good for nothing already. What the detection of reuse needs
(rotated digests, used codes) stays until its connection ends.
"""

from collections.abc import Callable
from typing import Any, Final

from django.db import connections, transaction

from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import end_connection
from memford.core.database import SYSTEM
from memford.core.limits import limits

AT_ONCE: Final = 1_000
ABANDONED_AFTER_SECONDS: Final = 600
KEPT_AFTER_END_SECONDS: Final = 3_600

NEVER_CONNECTED: Final = "never_connected"
UNUSED: Final = "unused"

# An approval whose code was never exchanged: the browser's return did not arrive.
_ABANDONED: Final = """
SELECT c.id FROM connections_connection c
 WHERE c.kind = 'oauth' AND c.revoked_at IS NULL
   AND EXISTS (SELECT 1 FROM authorization_grant g
                WHERE g.connection_id = c.id AND g.consumed_at IS NULL
                  AND g.expires < now() - make_interval(secs => %(abandoned)s))
 LIMIT %(most)s FOR NO KEY UPDATE OF c SKIP LOCKED
"""

# A connection of which every refresh token has died of disuse and no access token is left.
_UNUSED: Final = """
SELECT c.id FROM connections_connection c
 WHERE c.kind = 'oauth' AND c.revoked_at IS NULL
   AND EXISTS (SELECT 1 FROM authorization_refreshtoken r WHERE r.connection_id = c.id)
   AND NOT EXISTS (SELECT 1 FROM authorization_refreshtoken r
                    WHERE r.connection_id = c.id
                      AND coalesce(r.last_used_at, r.created) >= now() - make_interval(secs => %(idle)s))
   AND NOT EXISTS (SELECT 1 FROM authorization_accesstoken a WHERE a.connection_id = c.id AND a.expires > now())
 LIMIT %(most)s FOR NO KEY UPDATE OF c SKIP LOCKED
"""

_ENDED: Final = """
SELECT c.id FROM connections_connection c
 WHERE c.kind = 'oauth' AND least(c.revoked_at, c.expires_at) < now() - make_interval(secs => %(kept)s)
   AND (EXISTS (SELECT 1 FROM authorization_grant g WHERE g.connection_id = c.id)
        OR EXISTS (SELECT 1 FROM authorization_refreshtoken r WHERE r.connection_id = c.id)
        OR EXISTS (SELECT 1 FROM authorization_accesstoken a WHERE a.connection_id = c.id))
 LIMIT %(most)s FOR UPDATE OF c SKIP LOCKED
"""

_EXPIRED: Final = """
SELECT a.id FROM authorization_accesstoken a
 WHERE a.expires < now() - make_interval(secs => %(kept)s)
 LIMIT %(most)s FOR UPDATE OF a SKIP LOCKED
"""

_FORGOTTEN: Final = """
SELECT p.id FROM authorization_application p
 WHERE CASE WHEN EXISTS (SELECT 1 FROM connections_connection c WHERE c.client_id = p.id)
       THEN NOT EXISTS (SELECT 1 FROM connections_connection c
                         WHERE c.client_id = p.id
                           AND coalesce(least(c.revoked_at, c.expires_at), now())
                               >= now() - make_interval(secs => %(ended)s))
       ELSE coalesce(p.last_used_at, p.created) < now() - make_interval(secs => %(never)s) END
 LIMIT %(most)s FOR UPDATE OF p SKIP LOCKED
"""

# The rows of one column value, in an order in which nothing points to what is gone.
_REMOVE_CREDENTIALS: Final = (
    "DELETE FROM authorization_refreshtoken WHERE {column} = ANY(%(ids)s)",
    "DELETE FROM authorization_accesstoken WHERE {column} = ANY(%(ids)s)",
    "DELETE FROM authorization_grant WHERE {column} = ANY(%(ids)s)",
)
_REMOVE_EXPIRED: Final = (
    "UPDATE authorization_refreshtoken SET access_token_id = NULL WHERE access_token_id = ANY(%(ids)s)",
    "DELETE FROM authorization_accesstoken WHERE id = ANY(%(ids)s)",
)
_FORGET: Final = (
    "UPDATE connections_connection SET client_id = NULL WHERE client_id = ANY(%(ids)s)",
    "DELETE FROM authorization_application WHERE id = ANY(%(ids)s)",
)


def end_abandoned_connections(*, at_once: int = AT_ONCE) -> int:
    """End connections whose code was never exchanged; return how many."""
    return _in_lots(_ABANDONED, {"abandoned": ABANDONED_AFTER_SECONDS}, _end_as(NEVER_CONNECTED), at_once)


def end_unused_connections(*, at_once: int = AT_ONCE) -> int:
    """End connections whose refresh tokens died unused, so that their owner sees it; return how many."""
    return _in_lots(_UNUSED, {"idle": limits().refresh_token_idle_life_seconds}, _end_as(UNUSED), at_once)


def remove_credentials_of_ended_connections(*, at_once: int = AT_ONCE) -> int:
    """Remove codes and tokens of connections that ended; return how many connections."""
    return _in_lots(_ENDED, {"kept": KEPT_AFTER_END_SECONDS}, _remove_by("connection_id"), at_once)


def remove_expired_access_tokens(*, at_once: int = AT_ONCE) -> int:
    """Remove access tokens that ended; the refresh tokens beside them stay. Return how many."""
    return _in_lots(_EXPIRED, {"kept": KEPT_AFTER_END_SECONDS}, _run(_REMOVE_EXPIRED), at_once)


def forget_clients(*, at_once: int = AT_ONCE) -> int:
    """Forget clients that nobody uses (O10); return how many. An approval that is being stored meanwhile fails."""
    parameters = {
        "never": limits().unconnected_client_life_seconds,
        "ended": limits().disconnected_client_life_seconds,
    }
    remove_credentials = _remove_by("application_id")

    def forget(ids: list[Any]) -> None:
        remove_credentials(ids)
        _run(_FORGET)(ids)

    return _in_lots(_FORGOTTEN, parameters, forget, at_once)


def _in_lots(select: str, parameters: dict[str, Any], treat: Callable[[list[Any]], None], at_once: int) -> int:
    """Select and treat lot by lot, each in a transaction of its own, until a lot is not full."""
    treated = 0
    while True:
        with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
            cursor.execute(select, {**parameters, "most": at_once})
            ids = [row[0] for row in cursor.fetchall()]
            if ids:
                treat(ids)
        treated += len(ids)
        if len(ids) < at_once:
            return treated


def _run(statements: tuple[str, ...]) -> Callable[[list[Any]], None]:
    def run(ids: list[Any]) -> None:
        with connections[SYSTEM].cursor() as cursor:
            for statement in statements:
                cursor.execute(statement, {"ids": ids})

    return run


def _remove_by(column: str) -> Callable[[list[Any]], None]:
    return _run(tuple(statement.format(column=column) for statement in _REMOVE_CREDENTIALS))


def _end_as(reason: str) -> Callable[[list[Any]], None]:
    def end(ids: list[Any]) -> None:
        for connection in Connection.objects.using(SYSTEM).filter(pk__in=ids):
            end_connection(connection, actor=connection.writer, reason=reason, using=SYSTEM)

    return end
