"""What django-allauth tells of and has no other hook for; most of it goes into the activity log (A7).

The views that cause those lines are one transaction each (``accounts/urls.py``).
"""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.account.signals import password_reset
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.activity import record_activity
from accounts.models import Owner
from memford.core.activity import Tag


@receiver(authenticator_added, dispatch_uid="accounts.second_factor_added")
def second_factor_added(user: Owner, authenticator: Authenticator, **kwargs: Any) -> None:
    """Write down that an app, passkey or key was added."""
    _record(user, Tag.SECOND_FACTOR_ADDED, authenticator)


@receiver(authenticator_removed, dispatch_uid="accounts.second_factor_removed")
def second_factor_removed(user: Owner, authenticator: Authenticator, **kwargs: Any) -> None:
    """Write down that an app, passkey or key was removed."""
    _record(user, Tag.SECOND_FACTOR_REMOVED, authenticator)


@receiver(password_reset, dispatch_uid="accounts.address_proved")
def address_proved(request: HttpRequest, user: Owner, **kwargs: Any) -> None:
    """Take an address as verified whose mail held the link that was just used."""
    address = EmailAddress.objects.filter(user=user, email=user.email.lower(), verified=False).first()
    if address is not None:
        get_adapter().confirm_email(request, address)


def _record(user: Owner, tag: Tag, authenticator: Authenticator) -> None:
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        record_activity(owner_id=user.pk, tag=tag, actor=user.hand, kind=str(authenticator.type))
