"""Periodic work on MCP sessions (P3)."""

import structlog
from celery import shared_task

from mcp_gateway.transport.session_services import remove_dead_sessions

log = structlog.get_logger(__name__)


@shared_task(name="transport.remove_dead_sessions")
def remove_dead_sessions_task() -> None:
    """Remove sessions that no call can find any more."""
    log.info("sessions_removed", count=remove_dead_sessions())
