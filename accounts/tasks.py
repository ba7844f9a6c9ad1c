"""Periodic work on accounts, login sessions and one-time links (P3)."""

import structlog
from celery import shared_task

from accounts.closing import erase_closed_accounts
from accounts.services import remove_ended_logins

log = structlog.get_logger(__name__)


@shared_task(name="accounts.remove_ended_logins")
def remove_ended_logins_task() -> None:
    """Remove login sessions and links that let nobody in any more."""
    log.info("logins_removed", count=remove_ended_logins())


@shared_task(name="accounts.erase_closed_accounts")
def erase_closed_accounts_task() -> None:
    """Erase accounts that were closed long enough ago."""
    log.info("accounts_erased", count=erase_closed_accounts())
