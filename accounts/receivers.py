"""What django-allauth tells of and has no other hook for goes into the activity log (A7).

The views that cause it are one transaction each (``accounts/urls.py``).
"""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.dispatch import receiver

from accounts.activity import record_activity
from accounts.models import Owner
from memford.core.activity import Tag
from memford.core.principal import Writer


@receiver(authenticator_added, dispatch_uid="accounts.second_factor_added")
def second_factor_added(user: Owner, authenticator: Authenticator, **kwargs: Any) -> None:
    """Write down that an app, passkey or key was added."""
    _record(user, Tag.SECOND_FACTOR_ADDED, authenticator)


@receiver(authenticator_removed, dispatch_uid="accounts.second_factor_removed")
def second_factor_removed(user: Owner, authenticator: Authenticator, **kwargs: Any) -> None:
    """Write down that an app, passkey or key was removed."""
    _record(user, Tag.SECOND_FACTOR_REMOVED, authenticator)


def _record(user: Owner, tag: Tag, authenticator: Authenticator) -> None:
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        actor = Writer.owner(user.pk, user.email)
        record_activity(owner_id=user.pk, tag=tag, actor=actor, kind=str(authenticator.type))
