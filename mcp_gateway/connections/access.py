"""The only way to an owner's connection."""

from uuid import UUID

from mcp_gateway.connections.models import Connection
from memford.core.errors import NotFound


def connection_of(owner_id: UUID, connection_id: UUID) -> Connection:
    """Return the owner's connection, ended or not.

    Raises:
        NotFound: It is foreign or never was.
    """
    connection = Connection.objects.filter(owner_id=owner_id, pk=connection_id).first()
    if connection is None:
        raise NotFound
    return connection
