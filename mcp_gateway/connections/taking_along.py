"""What an account's export holds of its connections and keys: all but what opens something (W1)."""

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.selectors import list_connections
from memford.core.lots import lots_by_age
from projects.archive.account import Part, listed_file
from projects.archive.form import canonical, optionally_printed, printed

CONNECTIONS_AT_ONCE: Final = 1_000


def connections_of(owner_id: UUID) -> Iterator[Part]:
    """Print the owner's connections and keys, ended ones too, oldest first."""
    found = lots_by_age(list_connections(owner_id=owner_id), CONNECTIONS_AT_ONCE)
    yield "connections.json", listed_file("connections", ([canonical(_connection(each))] for each in found))


def _connection(connection: Connection) -> dict[str, Any]:
    return {
        "id": str(connection.pk),
        "project_id": str(connection.project_id),
        "kind": connection.kind,
        "name": connection.name,
        "access": connection.access,
        "prefix": connection.key_prefix,
        "redirect_host": connection.redirect_host,
        "created_at": printed(connection.created_at),
        "last_used_at": optionally_printed(connection.last_used_at),
        "expires_at": optionally_printed(connection.expires_at),
        "revoked_at": optionally_printed(connection.revoked_at),
        "revoked_reason": connection.revoked_reason,
    }
