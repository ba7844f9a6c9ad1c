"""The one-time link that lets the first owner in (S1)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client
from django.utils import timezone

from accounts.models import Activity, Owner, SignInLink
from accounts.services import first_owner_link, issue_sign_in_link, redeem_sign_in_link
from memford.core.errors import NotFound
from memford.core.secrets import digest
from tests.cast import Person


def secret_of(link: str) -> str:
    """Return the part of a link that is secret."""
    return link.rpartition("/")[2]


def test_it_signs_its_owner_in_once(owner: Person) -> None:
    link = issue_sign_in_link(owner=owner.owner)
    assert link.startswith(f"{settings.PUBLIC_URL}/sign-in/mfl_")
    client = Client(HTTP_HOST="localhost")
    path = link.removeprefix(settings.PUBLIC_URL)
    assert client.get(path).status_code == 200, "looking at it must not use it up"
    assert client.post(path).status_code == 302
    assert owner.owner.email in client.get("/", follow=True).content.decode()
    assert Activity.objects.filter(owner=owner.owner, tag="signed_in").count() == 1
    again = Client(HTTP_HOST="localhost").post(path)
    assert again.status_code == 404
    assert "used before" in again.content.decode()


def test_only_its_digest_is_stored(owner: Person) -> None:
    secret = secret_of(issue_sign_in_link(owner=owner.owner))
    assert SignInLink.objects.get(owner=owner.owner).digest == digest(secret)


def test_it_ends(owner: Person) -> None:
    secret = secret_of(issue_sign_in_link(owner=owner.owner))
    SignInLink.objects.filter(owner=owner.owner).update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NotFound):
        redeem_sign_in_link(secret=secret)


def test_it_is_worthless_for_a_deactivated_owner(owner: Person) -> None:
    secret = secret_of(issue_sign_in_link(owner=owner.owner))
    Owner.objects.filter(pk=owner.id).update(is_active=False)
    with pytest.raises(NotFound):
        redeem_sign_in_link(secret=secret)


def test_of_many_clicks_at_once_one_signs_in(owner: Person) -> None:
    secret = secret_of(issue_sign_in_link(owner=owner.owner))

    def click(index: int) -> bool:
        try:
            redeem_sign_in_link(secret=secret)
        except NotFound:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(click, range(8))) == 1


def test_it_needs_the_forms_own_token(owner: Person) -> None:
    path = issue_sign_in_link(owner=owner.owner).removeprefix(settings.PUBLIC_URL)
    assert Client(HTTP_HOST="localhost", enforce_csrf_checks=True).post(path).status_code == 403


def test_there_is_always_a_first_owner_to_let_in() -> None:
    secret = secret_of(first_owner_link())
    first = Owner.objects.filter(is_active=True).order_by("created_at").first()
    assert redeem_sign_in_link(secret=secret) == first


@pytest.mark.parametrize("path", ["/", "/sign-in/x"])
def test_pages_are_locked_down(path: str) -> None:
    answer = Client(HTTP_HOST="localhost").get(path)
    assert answer.status_code == 200
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer["X-Content-Type-Options"] == "nosniff"
