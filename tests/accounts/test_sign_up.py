"""Sign-up, verification of the address, and what was interrupted (W1, O5)."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from importlib import import_module

import pytest
from allauth.account.models import EmailAddress
from allauth.core.internal import ratelimit
from django.apps import apps
from django.conf import settings
from django.core import mail
from django.db import connections
from django.test import RequestFactory
from django.utils import timezone

from accounts.models import Activity, Invitation, Owner
from accounts.services import ensure_owner, issue_invitation
from memford.core.secrets import digest
from memford.env import env
from tests.accounts.browser import (
    PASSWORD,
    code_for,
    is_signed_in,
    mails_to,
    new_browser,
    show_again,
    sign_in,
    sign_up,
    signed_up,
    verify,
)
from tests.cast import Person, unique_email

AUTHORIZE = "/authorize?client_id=abc&state=x%26y"


@pytest.fixture
def by_invitation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sign-up as ``MEMFORD_SIGNUP=invite`` has it."""
    monkeypatch.setattr(env(), "signup", "invite")


def test_a_new_owner_signs_up_verifies_and_goes_on_where_they_were_going() -> None:
    browser, address = new_browser(), unique_email()
    assert address not in browser.get("/accounts/signup/", {"next": AUTHORIZE}).content.decode()
    asked = sign_up(browser, address, then=AUTHORIZE)
    assert asked.headers["Location"] == "/accounts/confirm-email/"
    assert address in browser.get("/accounts/confirm-email/").content.decode()
    assert not is_signed_in(browser)
    done = verify(browser, address)
    assert done.headers["Location"] == AUTHORIZE
    assert is_signed_in(browser)
    owner = Owner.objects.get(email=address)
    assert owner.email_verified_at is not None
    assert Activity.objects.filter(owner=owner, tag="signed_in").count() == 1


def test_the_way_from_sign_in_to_sign_up_keeps_where_one_was_going() -> None:
    page = new_browser().get("/accounts/login/", {"next": AUTHORIZE}).content.decode()
    assert "/accounts/signup/?next=%2Fauthorize%3Fclient_id%3Dabc%26state%3Dx%2526y" in page


def test_an_unverified_owner_who_signs_in_is_sent_to_verify_and_goes_on() -> None:
    address = unique_email()
    sign_up(new_browser(), address)
    mail.outbox.clear()
    browser = new_browser()
    _ten_seconds_later(address)
    asked = sign_in(browser, address, then=AUTHORIZE)
    assert asked.headers["Location"] == "/accounts/confirm-email/"
    assert not is_signed_in(browser)
    assert verify(browser, address).headers["Location"] == AUTHORIZE


def test_a_wrong_code_is_said_to_be_wrong_and_the_third_ends_it() -> None:
    browser, address = new_browser(), unique_email()
    sign_up(browser, address)
    for _ in range(2):
        answer = browser.post("/accounts/confirm-email/", {"code": "WRONG1"})
        assert answer.status_code == 200
        assert "This code is not right" in answer.content.decode()
    assert browser.post("/accounts/confirm-email/", {"code": "WRONG1"}).headers["Location"] == "/accounts/login/"
    assert not is_signed_in(browser)
    assert Owner.objects.get(email=address).email_verified_at is None


def test_a_code_is_worthless_in_another_browser() -> None:
    address = unique_email()
    sign_up(new_browser(), address)
    elsewhere = new_browser()
    assert elsewhere.post("/accounts/confirm-email/", {"code": code_for(address)}).status_code == 302
    assert not is_signed_in(elsewhere)


def test_a_known_address_gets_the_same_answer_and_another_mail() -> None:
    known, unknown = unique_email(), unique_email()
    ensure_owner(email=known, password=PASSWORD)
    pages = []
    for address in (known, unknown):
        browser = new_browser()
        answer = sign_up(browser, address)
        page = browser.get(answer.headers["Location"]).content.decode().replace(address, "")
        pages.append((answer.status_code, answer.headers["Location"], without_tokens(page)))
    assert pages[0] == pages[1]
    assert "has an account already" in mails_to(known)[-1].body
    assert f"{settings.PUBLIC_URL}/accounts/password/reset/" in mails_to(known)[-1].body
    assert Owner.objects.filter(email=known).count() == 1


def test_of_two_sign_ups_at_once_one_makes_the_owner_and_both_are_answered() -> None:
    address = unique_email()

    def attempt(_: int) -> int:
        try:
            return int(sign_up(new_browser(), address).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(attempt, range(4)))
    assert set(answers) <= {302, 429}, "a second code within ten seconds is one too many"
    assert Owner.objects.filter(email=address).count() == 1


@pytest.mark.parametrize("password", ["short", "password", "12345678901", ""])
def test_a_weak_password_makes_no_owner(password: str) -> None:
    address = unique_email()
    answer = new_browser().post("/accounts/signup/", {"email": address, "password1": password})
    assert answer.status_code == 200
    assert 'aria-invalid="true"' in answer.content.decode()
    assert not Owner.objects.filter(email=address).exists()


def test_an_owner_has_one_address_and_a_new_one_is_verified_first() -> None:
    old, new = unique_email(), unique_email()
    browser = signed_up(old)
    show_again(browser)
    answer = browser.post("/accounts/email/", {"email": new, "action_add": "1"})
    assert answer.headers["Location"] == "/accounts/confirm-email/"
    assert Owner.objects.get(email=old)
    browser.post("/accounts/confirm-email/", {"code": code_for(new)})
    owner = Owner.objects.get(email=new)
    assert list(EmailAddress.objects.filter(user=owner).values_list("email", "verified", "primary")) == [
        (new, True, True)
    ]
    assert not Owner.objects.filter(email=old).exists()
    assert "was changed" in mails_to(old)[-1].body
    assert Activity.objects.filter(owner=owner, tag="email_changed").count() == 1
    assert sign_in(new_browser(), new).headers["Location"] == "/"


def test_changing_the_address_asks_who_is_there() -> None:
    browser = signed_up(unique_email())
    answer = browser.post("/accounts/email/", {"email": unique_email(), "action_add": "1"})
    assert answer.headers["Location"].startswith("/accounts/reauthenticate/")


def test_a_closed_door_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env(), "signup", "closed")
    address = unique_email()
    for answer in (new_browser().get("/accounts/signup/"), sign_up(new_browser(), address)):
        assert "Sign-up is not open here" in answer.content.decode()
    assert not Owner.objects.filter(email=address).exists()
    assert "/accounts/signup/" not in new_browser().get("/").content.decode()


@pytest.mark.usefixtures("by_invitation")
class TestInvitation:
    def test_without_one_nobody_signs_up(self) -> None:
        address = unique_email()
        assert "invitation" in sign_up(new_browser(), address).content.decode()
        assert not Owner.objects.filter(email=address).exists()

    def test_it_makes_one_owner_once(self) -> None:
        path = issue_invitation().removeprefix(settings.PUBLIC_URL)
        browser, address = new_browser(), unique_email()
        assert browser.get(path).headers["Location"] == "/accounts/signup/"
        assert sign_up(browser, address).headers["Location"] == "/accounts/confirm-email/"
        assert verify(browser, address).status_code == 302
        owner = Owner.objects.get(email=address)
        assert Invitation.objects.get(used_by=owner).used_at is not None
        assert new_browser().get(path).status_code == 404

    def test_looking_at_it_does_not_use_it_up(self) -> None:
        path = issue_invitation().removeprefix(settings.PUBLIC_URL)
        assert new_browser().get(path).status_code == 302
        assert new_browser().get(path).status_code == 302

    def test_of_two_who_opened_it_the_first_signs_up(self) -> None:
        path = issue_invitation().removeprefix(settings.PUBLIC_URL)
        first, second = new_browser(), new_browser()
        first.get(path)
        second.get(path)
        sign_up(first, unique_email())
        late = unique_email()
        assert "invitation" in sign_up(second, late).content.decode()
        assert not Owner.objects.filter(email=late).exists()

    def test_of_two_at_once_one_signs_up(self) -> None:
        path = issue_invitation().removeprefix(settings.PUBLIC_URL)
        addresses = [unique_email() for _ in range(4)]

        def attempt(address: str) -> None:
            try:
                browser = new_browser()
                browser.get(path)
                sign_up(browser, address)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(attempt, addresses))
        assert Owner.objects.filter(email__in=addresses).count() == 1

    def test_it_ends_and_only_its_digest_is_stored(self) -> None:
        secret = issue_invitation().rpartition("/")[2]
        stored = Invitation.objects.filter(digest=digest(secret))
        assert stored.update(expires_at=timezone.now() - timedelta(seconds=1)) == 1
        assert new_browser().get(f"/invitation/{secret}").status_code == 404


def test_an_owner_made_by_bootstrap_signs_in_and_their_addresses_agree() -> None:
    address = unique_email().replace("@example", "X@Example")
    owner = ensure_owner(email=address, password=PASSWORD)
    assert owner.email == address.lower()
    assert EmailAddress.objects.get(user=owner).verified
    assert sign_in(new_browser(), address).headers["Location"] == "/"


def without_tokens(page: str) -> str:
    """Return a page without what differs each time."""
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", page)


def _ten_seconds_later(address: str) -> None:
    request = RequestFactory().post("/")
    ratelimit.clear(request, app="allauth.account", action="confirm_email", key=address)


def test_the_cast_is_verified(owner: Person) -> None:
    assert EmailAddress.objects.get(user=owner.owner, primary=True, verified=True)


def test_owners_from_before_addresses_were_known_get_theirs() -> None:
    migration = import_module("accounts.migrations.0003_addresses_of_verified_owners")
    old = Owner.objects.create_user(unique_email(), email_verified_at=timezone.now())
    unverified = Owner.objects.create_user(unique_email())
    for _ in range(2):
        migration.add_addresses(apps, connections["system"].schema_editor())
    assert EmailAddress.objects.get(user=old, verified=True, primary=True).email == old.email
    assert not EmailAddress.objects.filter(user=unverified).exists()
