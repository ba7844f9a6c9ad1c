"""What is read of an account itself."""

from uuid import UUID

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef
from django.utils import timezone


def second_factors(*, owner_id: UUID) -> list[Authenticator]:
    """Return the owner's apps, passkeys, keys and recovery codes, oldest first; their secrets are not for showing."""
    return list(Authenticator.objects.filter(user_id=owner_id).order_by("created_at", "id"))


def login_sessions(*, owner_id: UUID) -> list[UserSession]:
    """Return the login sessions that still let the owner in, newest first."""
    live = Session.objects.filter(session_key=OuterRef("session_key"), expire_date__gt=timezone.now())
    return list(UserSession.objects.filter(Exists(live), user_id=owner_id).order_by("-created_at", "-id"))
