"""Signing in and out, where one goes on, and how often one may try (W1)."""

from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session

from accounts.models import Activity, Owner
from accounts.services import ensure_owner, issue_sign_in_link
from memford.core.sign_in_limits import sign_in_limits
from tests.accounts.browser import PASSWORD, code_for, is_signed_in, mails_to, new_browser, sign_in, signed_up
from tests.cast import Person, unique_email


@pytest.fixture
def address() -> str:
    """The address of an owner with a password."""
    email = unique_email()
    ensure_owner(email=email, password=PASSWORD)
    return email


def test_the_right_password_signs_in_and_is_written_down(address: str) -> None:
    browser = new_browser()
    assert sign_in(browser, address.upper()).headers["Location"] == "/"
    assert is_signed_in(browser)
    line = Activity.objects.get(owner__email=address, tag="signed_in")
    assert line.detail == {"by": "password"}


def test_the_session_is_new_and_its_cookie_is_out_of_reach(address: str) -> None:
    browser = new_browser()
    browser.get("/accounts/signup/")
    browser.session["before"] = True
    browser.session.save()
    before = browser.session.session_key
    answer = sign_in(browser, address)
    cookie = answer.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert cookie.value != before
    assert not Session.objects.filter(session_key=before).exists()


def test_wrong_password_and_unknown_address_get_one_answer(address: str) -> None:
    wrong = sign_in(new_browser(), address, "not the password")
    unknown = sign_in(new_browser(), unique_email(), "not the password")
    for answer in (wrong, unknown):
        assert answer.status_code == 200
        assert "The e-mail address or the password is not right." in answer.content.decode()


def test_five_wrong_passwords_close_the_door_for_that_address_alone(address: str) -> None:
    for _ in range(5):
        sign_in(new_browser(), address, "not the password")
    # The Host is the caller's choice, and may not buy further tries.
    late = new_browser().post(
        "/accounts/login/", {"login": address, "password": PASSWORD}, headers={"Host": "localhost:1"}
    )
    assert "Too many failed attempts" in late.content.decode()
    other = unique_email()
    ensure_owner(email=other, password=PASSWORD)
    assert sign_in(new_browser(), other).status_code == 302


def test_limits_per_peer_hold_where_others_can_come(settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = {**sign_in_limits(True, per_ip=True), "login": "2/m/ip"}  # type: ignore[dict-item]
    peer = {"REMOTE_ADDR": f"203.0.113.{Owner.objects.count() % 250}"}
    forged = {"X-Forwarded-For": "198.51.100.1", "X-Real-IP": "198.51.100.2"}
    answers = [
        new_browser(**peer).post("/accounts/login/", {"login": "a@b.example", "password": "x"}, headers=forged)
        for _ in range(3)
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "Too many requests" in answers[-1].content.decode()


def test_on_loopback_no_limit_is_per_peer() -> None:
    limits = sign_in_limits(True, per_ip=False)
    assert isinstance(limits, dict)
    assert not any("/ip" in rates for rates in limits.values())
    assert "5/5m/key" in limits["login_failed"]
    assert sign_in_limits(False, per_ip=True) is False


@pytest.mark.parametrize(
    "there",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:///evil.example",
        "http://127.0.0.1:9/",
        "http://localhost:8000@evil.example/",
        "http://localhost:9999/",
        "\x00/authorize",
    ],
)
def test_one_goes_on_to_our_own_origin_alone(address: str, there: str) -> None:
    browser = new_browser()
    assert sign_in(browser, address, then=there).headers["Location"] == "/"
    assert browser.post("/accounts/logout/", {"next": there}).headers["Location"] == "/"


@pytest.mark.parametrize("there", ["/authorize?a=b", "http://localhost:8000/authorize?a=b"])
def test_our_own_pages_are_gone_on_to(address: str, there: str) -> None:
    assert sign_in(new_browser(), address, then=there).headers["Location"] == there


def test_who_is_signed_in_already_goes_on_at_once(address: str) -> None:
    browser = new_browser()
    sign_in(browser, address)
    answer = browser.get("/accounts/login/", {"next": "/authorize?a=b"})
    assert answer.headers["Location"] == "/authorize?a=b"
    assert browser.get("/accounts/login/", {"next": "//evil.example"}).headers["Location"] == "/"


def test_signing_out_takes_a_form_and_ends_the_session(address: str) -> None:
    browser = new_browser()
    sign_in(browser, address)
    key = browser.session.session_key
    assert browser.get("/accounts/logout/").status_code == 200
    assert is_signed_in(browser)
    assert browser.post("/accounts/logout/").headers["Location"] == "/"
    assert not is_signed_in(browser)
    assert not Session.objects.filter(session_key=key).exists()


def test_the_header_says_who_is_signed_in(address: str) -> None:
    browser = new_browser()
    stranger = browser.get("/").content.decode()
    assert "/accounts/login/" in stranger
    assert "Sign out" not in stranger
    sign_in(browser, address)
    page = browser.get("/", follow=True).content.decode()
    assert address in page
    assert "Sign out" in page


def test_a_deactivated_owner_is_not_let_in(address: str) -> None:
    Owner.objects.filter(email=address).update(is_active=False)
    browser = new_browser()
    sign_in(browser, address)
    assert not is_signed_in(browser)


class TestFirstOwner:
    def test_the_link_leads_to_where_address_and_password_are_set(self) -> None:
        address, new = unique_email(), unique_email()
        owner = ensure_owner(email=address)
        browser = new_browser()
        path = issue_sign_in_link(owner=owner).removeprefix(settings.PUBLIC_URL)
        assert browser.post(path).headers["Location"] == "/accounts/"
        page = browser.get("/accounts/").content.decode()
        assert "/accounts/email/" in page
        assert "/accounts/password/set/" in page
        fields = {"password1": PASSWORD, "password2": PASSWORD}
        assert browser.post("/accounts/password/set/", fields).status_code == 302
        browser.post("/accounts/email/", {"email": new, "action_add": "1"})
        browser.post("/accounts/confirm-email/", {"code": code_for(new)})
        assert sign_in(new_browser(), new).headers["Location"] == "/"
        assert mails_to(address)

    def test_a_password_that_comes_late_is_asked_for_again_and_kept_nowhere(self, owner: Person) -> None:
        browser = new_browser()
        browser.post(issue_sign_in_link(owner=owner.owner).removeprefix(settings.PUBLIC_URL))
        session = browser.session
        session["account_authentication_methods"] = []
        session.save()
        fields = {"password1": PASSWORD, "password2": PASSWORD}
        assert browser.post("/accounts/password/set/", fields).headers["Location"] == "/accounts/password/set/"
        assert PASSWORD not in str(dict(browser.session.items()))
        asked = browser.get("/accounts/password/set/").headers["Location"]
        assert asked.startswith("/accounts/reauthenticate/code/")

    def test_the_link_is_a_login_session_like_any_other(self, owner: Person) -> None:
        browser = new_browser()
        browser.post(issue_sign_in_link(owner=owner.owner).removeprefix(settings.PUBLIC_URL))
        assert "this one" in browser.get("/accounts/sessions/").content.decode()


class TestLoginSessions:
    def test_one_is_ended_and_the_others_stay(self, address: str) -> None:
        here, there, third = new_browser(), new_browser(headers={"User-Agent": "Lantern 1"}), new_browser()
        for browser in (here, there, third):
            sign_in(browser, address)
        page = here.get("/accounts/sessions/").content.decode()
        assert "Lantern 1" in page
        pk = _session_of(there)
        assert here.post(f"/accounts/sessions/{pk}/end").headers["Location"] == "/accounts/sessions/"
        assert [is_signed_in(browser) for browser in (here, there, third)] == [True, False, True]
        assert Activity.objects.filter(owner__email=address, tag="login_sessions_ended").count() == 1

    def test_all_others_are_ended(self, address: str) -> None:
        here, there = new_browser(), new_browser()
        sign_in(here, address)
        sign_in(there, address)
        here.post("/accounts/sessions/end-others")
        assert (is_signed_in(here), is_signed_in(there)) == (True, False)

    def test_nobody_ends_anothers(self, address: str) -> None:
        mine, stranger = new_browser(), signed_up(unique_email())
        sign_in(mine, address)
        stranger.post(f"/accounts/sessions/{_session_of(mine)}/end")
        stranger.post("/accounts/sessions/end-others")
        assert is_signed_in(mine)
        assert new_browser().post(f"/accounts/sessions/{_session_of(mine)}/end").status_code == 302
        assert is_signed_in(mine)


def _session_of(browser: Any) -> int:
    pk: int = UserSession.objects.get(session_key=browser.session.session_key).pk
    return pk
