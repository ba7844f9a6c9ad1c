"""A forgotten password, and a changed one (W1, G6)."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.core.mail.backends import locmem

from accounts.models import Activity, Owner
from accounts.services import ensure_owner
from tests.accounts.browser import PASSWORD, is_signed_in, mails_to, new_browser, sign_in, sign_up
from tests.cast import unique_email

NEW = "the lamp turns in 9 seconds"


@pytest.fixture
def address() -> str:
    """The address of an owner with a password."""
    email = unique_email()
    ensure_owner(email=email, password=PASSWORD)
    return email


def link_for(address: str) -> str:
    """Return the link of the newest mail."""
    found = re.search(r"^(http\S+/password/reset/key/\S+)$", mails_to(address)[-1].body, re.MULTILINE)
    assert found
    return found.group(1)


def open_link(browser: Any, link: str) -> str:
    """Open a link as a browser does, and return where the form stands."""
    answer = browser.get(link.removeprefix(settings.PUBLIC_URL))
    return str(answer.headers["Location"])


def choose(browser: Any, form: str, password: str = NEW) -> Any:
    """Fill in the form for a new password."""
    return browser.post(form, {"password1": password, "password2": password})


def test_a_forgotten_password_is_replaced_and_ends_what_was_signed_in(address: str) -> None:
    before = new_browser()
    sign_in(before, address)
    browser = new_browser()
    assert browser.post("/accounts/password/reset/", {"email": address}).status_code == 302
    form = open_link(browser, link_for(address))
    assert "set-password" in form, "the secret is not in the address of the form"
    choose(browser, form)
    assert is_signed_in(browser)
    assert not is_signed_in(before)
    assert sign_in(new_browser(), address, NEW).status_code == 302
    assert sign_in(new_browser(), address, PASSWORD).status_code == 200
    assert Activity.objects.filter(owner__email=address, tag="password_changed").count() == 1


def test_a_link_works_once(address: str) -> None:
    new_browser().post("/accounts/password/reset/", {"email": address})
    link = link_for(address)
    first = new_browser()
    choose(first, open_link(first, link))
    late = new_browser().get(link.removeprefix(settings.PUBLIC_URL))
    assert "no longer works" in late.content.decode()


def test_known_and_unknown_addresses_get_one_answer(address: str) -> None:
    answers = []
    for email in (address, unknown := unique_email()):
        browser = new_browser()
        answer = browser.post("/accounts/password/reset/", {"email": email})
        page = browser.get(answer.headers["Location"]).content.decode()
        answers.append((answer.status_code, answer.headers["Location"], page))
    assert answers[0] == answers[1]
    assert "no account has this address" in mails_to(unknown)[-1].body


@pytest.mark.parametrize(
    "forged",
    [
        {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Forwarded": "host=evil.example"},
        {"Host": "127.0.0.1:6666"},
        {"Host": "localhost:6666"},
    ],
)
def test_a_forged_host_is_in_no_mail(address: str, forged: dict[str, str]) -> None:
    new_browser().post("/accounts/password/reset/", {"email": address}, headers=forged)
    new_browser().post("/accounts/password/reset/", {"email": (unknown := unique_email())}, headers=forged)
    new_browser().post("/accounts/signup/", {"email": address, "password1": NEW}, headers=forged)
    new_browser().post("/accounts/signup/", {"email": (fresh := unique_email()), "password1": NEW}, headers=forged)
    bodies = [message.body for email in (address, unknown, fresh) for message in mails_to(email)]
    assert len(bodies) == 4
    for body in bodies:
        assert set(re.findall(r"https?://[^/\s,]+", body)) == {settings.PUBLIC_URL}


def test_a_host_that_is_not_ours_sends_no_mail(address: str) -> None:
    answer = new_browser().post("/accounts/password/reset/", {"email": address}, headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert not mails_to(address)


def test_resetting_verifies_an_address_that_was_not_yet() -> None:
    address = unique_email()
    sign_up(new_browser(), address)
    browser = new_browser()
    browser.post("/accounts/password/reset/", {"email": address})
    choose(browser, open_link(browser, link_for(address)))
    assert is_signed_in(browser)
    assert Owner.objects.get(email=address).email_verified_at is not None


def test_changing_it_ends_the_other_sessions_and_says_so_by_mail(address: str) -> None:
    here, there = new_browser(), new_browser()
    sign_in(here, address)
    sign_in(there, address)
    fields = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    assert here.post("/accounts/password/change/", fields).status_code == 302
    assert (is_signed_in(here), is_signed_in(there)) == (True, False)
    assert "was changed" in mails_to(address)[-1].body
    assert here.get("/accounts/sessions/").content.decode().count("<time") == 1


def test_changing_it_takes_the_old_one(address: str) -> None:
    browser = new_browser()
    sign_in(browser, address)
    fields = {"oldpassword": "a guess", "password1": NEW, "password2": NEW}
    assert browser.post("/accounts/password/change/", fields).status_code == 200
    assert sign_in(new_browser(), address, NEW).status_code == 200


def test_a_mail_server_that_is_away_is_no_failure_of_ours(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> int:
        raise ConnectionRefusedError("nobody there")

    monkeypatch.setattr(locmem.EmailBackend, "send_messages", refuse)
    browser = new_browser()
    answer = browser.post("/accounts/password/reset/", {"email": address}, follow=True)
    assert answer.status_code == 200
    assert "could not be sent" in answer.content.decode()
