"""How the state of a connection is said in words."""

from datetime import datetime
from typing import Final

from django import template

from mcp_gateway.connections.models import Connection

register = template.Library()

ENDINGS: Final = {
    "owner": "You revoked it",
    "client": "The client signed itself out",
    "token_reused": "Ended for safety: an old refresh token came back, so somebody may have copied it",
    "code_replayed": "Ended for safety: its authorization code was presented twice",
    "never_connected": "The client never picked up what you approved",
    "unused": "Nobody used it for so long that its access died",
    "bootstrap": "A newer key of the bootstrap command took its place",
}
"""What each ``revoked_reason`` means to an owner."""
UNKNOWN: Final = "It was revoked"
EXPIRED: Final = "Its time was up"


@register.filter
def ending(connection: Connection) -> str:
    """Say why a connection ended, or nothing while it lives."""
    if connection.revoked_at is not None:
        return ENDINGS.get(connection.revoked_reason, UNKNOWN)
    return EXPIRED if connection.has_ended else ""


@register.filter
def ended_at(connection: Connection) -> datetime | None:
    """Return when a connection ended."""
    return connection.revoked_at or connection.expires_at
