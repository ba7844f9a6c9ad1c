"""Ended login sessions and links are removed (P3)."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.models import SignInLink
from accounts.services import ensure_owner, issue_sign_in_link, remove_ended_logins
from tests.accounts.browser import PASSWORD, is_signed_in, new_browser, sign_in
from tests.cast import unique_email


def test_what_has_ended_is_removed_and_nothing_else() -> None:
    address = unique_email()
    owner = ensure_owner(email=address, password=PASSWORD)
    gone, here = new_browser(), new_browser()
    sign_in(gone, address)
    sign_in(here, address)
    issue_sign_in_link(owner=owner)
    issue_sign_in_link(owner=owner)
    ended = timezone.now() - timedelta(days=1)
    key = gone.session.session_key
    Session.objects.filter(session_key=key).update(expire_date=ended)
    UserSession.objects.filter(user=owner).update(created_at=ended)
    late = SignInLink.objects.filter(owner=owner).order_by("pk").first()
    assert late is not None
    SignInLink.objects.filter(pk=late.pk).update(expires_at=ended)
    assert remove_ended_logins() >= 3
    assert not Session.objects.filter(session_key=key).exists()
    assert UserSession.objects.filter(user=owner).count() == 1
    assert SignInLink.objects.filter(owner=owner).count() == 1
    assert is_signed_in(here)
    remove_ended_logins()
    assert is_signed_in(here)
