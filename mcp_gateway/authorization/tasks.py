"""Periodic work of the authorization server (O10, P3)."""

import structlog
from celery import shared_task

from mcp_gateway.authorization import cleaning

log = structlog.get_logger(__name__)


@shared_task(name="authorization.clean")
def clean_task() -> None:
    """End what was given up, remove what has ended, and forget clients that nobody uses."""
    log.info(
        "authorization_cleaned",
        abandoned=cleaning.end_abandoned_connections(),
        unused=cleaning.end_unused_connections(),
        ended=cleaning.remove_credentials_of_ended_connections(),
        expired=cleaning.remove_expired_access_tokens(),
        forgotten=cleaning.forget_clients(),
    )
