"""Closing an account, opening it again, and erasing it for good (W1, P3).

Closing only marks the owner: everything that lets somebody in asks for an active one. Erasing marks first as well, so
that nobody is given half an account back; then upper floors erase what is theirs (``memford.core.erasure``).
"""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from allauth.usersessions.models import UserSession
from django.db import Error, connections, transaction
from django.db.models.functions import Now

from accounts.activity import record_activity
from accounts.models import Owner, SignInLink
from memford.core.activity import Tag
from memford.core.database import SYSTEM
from memford.core.erasure import erase_what_belongs_to
from memford.core.errors import NotFound
from memford.core.limits import limits
from memford.core.principal import Writer

log = structlog.get_logger(__name__)

ROWS_AT_ONCE: Final = 1_000

_BEGIN: Final = """
UPDATE accounts_owner SET erasure_began_at = coalesce(erasure_began_at, now())
 WHERE id = (SELECT id FROM accounts_owner
              WHERE closed_at <= now() - make_interval(secs => %(retention)s) AND NOT is_active AND id <> ALL(%(tried)s)
              ORDER BY closed_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
"""

_REMOVE_ACTIVITY: Final = """
DELETE FROM accounts_activity WHERE id IN (SELECT id FROM accounts_activity WHERE owner_id = %(owner)s LIMIT %(most)s)
"""


@transaction.atomic
def close_account(*, owner_id: UUID, actor: Writer) -> None:
    """Close an account: at once nobody gets in any more, and after the retention everything of it is erased.

    Its login sessions end, the one of the caller too; every connection is refused at its next call, its streams end
    within the change check, and its refresh tokens get nothing. Until it is erased, its address stays taken.

    Raises:
        NotFound: There is no such account, or it is closed already.
    """
    owner = Owner.objects.select_for_update(no_key=True).filter(pk=owner_id, is_active=True).first()
    if owner is None:
        raise NotFound
    Owner.objects.filter(pk=owner_id).update(is_active=False, closed_at=Now())
    for login_session in UserSession.objects.filter(user=owner):
        login_session.end()
    SignInLink.objects.filter(owner=owner).delete()
    record_activity(owner_id=owner_id, tag=Tag.ACCOUNT_CLOSED, actor=actor)


@transaction.atomic
def restore_account(*, owner_id: UUID, actor: Writer) -> None:
    """Open a closed account again, for an operator, while it is not erased; its connections work again.

    Raises:
        NotFound: There is no closed account of this id, or its erasure has begun.
    """
    closed = Owner.objects.filter(pk=owner_id, closed_at__isnull=False, erasure_began_at=None)
    if not closed.update(is_active=True, closed_at=None):
        raise NotFound
    record_activity(owner_id=owner_id, tag=Tag.ACCOUNT_RESTORED, actor=actor)


def restorable_until(owner: Owner) -> datetime | None:
    """Return until when an operator can open a closed account again; ``None`` where erasing it has begun."""
    if owner.closed_at is None or owner.erasure_began_at is not None:
        return None
    return owner.closed_at + timedelta(seconds=limits().deleted_project_retention_seconds)


def erase_closed_accounts(*, at_once: int = ROWS_AT_ONCE) -> int:
    """Erase every account that was closed longer ago than ``deleted_project_retention_seconds``; return how many.

    Nothing of it stays, and its address is free. In bounded lots; safe to run twice, and at once with itself.
    """
    erased = 0
    tried: list[UUID] = []
    while (owner_id := _begin_next(tried)) is not None:
        tried.append(owner_id)
        try:
            erased += _erase(owner_id, at_once)
        except Error:
            # The next run tries again; meanwhile the others need not wait.
            log.exception("account_not_erased", owner_id=str(owner_id))
    return erased


def _begin_next(tried: list[UUID]) -> UUID | None:
    """Mark the account that is due the longest, which then cannot be restored any more."""
    parameters: dict[str, Any] = {"retention": limits().deleted_project_retention_seconds, "tried": tried}
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(_BEGIN, parameters)
        row = cursor.fetchone()
    return None if row is None else row[0]


def _erase(owner_id: UUID, at_once: int) -> bool:
    if not erase_what_belongs_to(owner_id):
        return False
    while _remove_activity(owner_id, at_once):
        pass
    with transaction.atomic(using=SYSTEM):
        owner = Owner.objects.using(SYSTEM).select_for_update(skip_locked=True).filter(pk=owner_id).first()
        if owner is None:
            return False
        # What is left is little: addresses, second factors, login sessions.
        owner.delete()
    return True


def _remove_activity(owner_id: UUID, at_once: int) -> int:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(_REMOVE_ACTIVITY, {"owner": owner_id, "most": at_once})
        count: int = cursor.rowcount
        return count
