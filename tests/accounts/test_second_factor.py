"""Authenticator app and recovery codes without a browser's script; passkeys are in ``tests/browser`` (W1)."""

import html
import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings

from accounts.models import Activity, Owner
from accounts.services import issue_sign_in_link
from tests.accounts.browser import (
    PASSWORD,
    is_signed_in,
    mails_to,
    new_browser,
    show_again,
    sign_in,
    signed_up,
    totp,
)
from tests.cast import unique_email


def enrol(browser: Any) -> tuple[str, list[str]]:
    """Set up an app, and return its secret and the recovery codes."""
    show_again(browser)
    page = browser.get("/accounts/2fa/totp/activate/").content.decode()
    found = re.search(r'id="authenticator_secret">([A-Z2-7]+)<', page)
    assert found
    secret = found.group(1)
    answer = browser.post("/accounts/2fa/totp/activate/", {"code": totp(secret)}, follow=True)
    codes = re.findall(r"\b\d{8}\b", html.unescape(answer.content.decode()))
    return secret, codes


@pytest.fixture
def address() -> str:
    """An address that nobody has yet."""
    return unique_email()


def test_an_app_is_set_up_and_asked_for_at_the_next_sign_in(address: str) -> None:
    browser = signed_up(address)
    secret, codes = enrol(browser)
    assert len(codes) == 10
    assert Activity.objects.filter(owner__email=address, tag="second_factor_added").count() == 1
    assert "was added" in mails_to(address)[-1].body or "was added" in mails_to(address)[-2].body

    again = new_browser()
    asked = sign_in(again, address, then="/authorize?a=b")
    assert asked.headers["Location"] == "/accounts/2fa/authenticate/"
    assert not is_signed_in(again)
    assert again.post("/accounts/2fa/authenticate/", {"code": "000000"}).status_code == 200
    assert not is_signed_in(again)
    done = again.post("/accounts/2fa/authenticate/", {"code": totp(secret, ahead=0)})
    if done.status_code == 200:  # a code is good once, and this one set the app up
        done = again.post("/accounts/2fa/authenticate/", {"code": codes[0]})
    assert done.headers["Location"] == "/authorize?a=b"
    assert is_signed_in(again)


def test_a_recovery_code_lets_in_once_and_is_shown_once(address: str) -> None:
    browser = signed_up(address)
    _, codes = enrol(browser)
    assert codes[0] not in browser.get("/accounts/2fa/recovery-codes/").content.decode()
    for expected in (302, 200):
        again = new_browser()
        sign_in(again, address)
        assert again.post("/accounts/2fa/authenticate/", {"code": codes[0]}).status_code == expected


def test_its_secrets_are_not_readable_in_the_database(address: str) -> None:
    secret, codes = enrol(signed_up(address))
    for stored in Authenticator.objects.filter(user__email=address):
        assert secret not in str(stored.data)
        assert codes[0] not in str(stored.data)


def test_setting_it_up_asks_who_is_there(address: str) -> None:
    browser = signed_up(address)
    assert browser.get("/accounts/2fa/totp/activate/").headers["Location"].startswith("/accounts/reauthenticate/")


def test_it_is_removed_and_said_so(address: str) -> None:
    browser = signed_up(address)
    enrol(browser)
    assert browser.post("/accounts/2fa/totp/deactivate/").status_code == 302
    assert Activity.objects.filter(owner__email=address, tag="second_factor_removed").count() == 1
    assert sign_in(new_browser(), address).headers["Location"] == "/"


def test_a_sign_in_link_asks_for_it_too(address: str) -> None:
    enrol(signed_up(address))
    browser = new_browser()
    link = issue_sign_in_link(owner=Owner.objects.get(email=address))
    assert browser.post(link.removeprefix(settings.PUBLIC_URL)).headers["Location"] == "/accounts/2fa/authenticate/"
    assert not is_signed_in(browser)


def test_a_new_password_does_not_get_around_it(address: str) -> None:
    enrol(signed_up(address))
    browser = new_browser()
    browser.post("/accounts/password/reset/", {"email": address})
    found = re.search(r"^(http\S+/password/reset/key/\S+)$", mails_to(address)[-1].body, re.MULTILINE)
    assert found
    form = browser.get(found.group(1).removeprefix(settings.PUBLIC_URL)).headers["Location"]
    browser.post(form, {"password1": PASSWORD + "!", "password2": PASSWORD + "!"})
    assert not is_signed_in(browser)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:1", "[::1]"])
def test_passkeys_are_for_the_public_url_whatever_host_was_called(host: str) -> None:
    headers = {"Accept": "application/json", "Host": host}
    options = new_browser().get("/accounts/2fa/webauthn/login/", headers=headers).json()["request_options"]
    assert options["publicKey"]["rpId"] == "localhost"


JUNK = [
    "",
    "[]",
    '"x"',
    "{}",
    "null",
    "1",
    '{"id": 1}',
    '{"id": "a", "rawId": "b", "response": {}, "type": "public-key"}',
]
JUNK += ['{"response": {"userHandle": "AAAA"}}', '{"response": []}', '{"response": {"userHandle": null}}', "{", "\x00"]
JUNK += ['{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"AA","attestationObject":"AA"}}']
ASSERTION = '{"clientDataJSON": "e30", "authenticatorData": "AA", "signature": "AA", "userHandle": "MQ"}'
JUNK += ['{"id": "AA", "rawId": "AA", "type": "public-key", "response": ' + ASSERTION + "}"]


@pytest.mark.parametrize("credential", JUNK)
def test_a_credential_that_is_none_is_wrong_and_no_failure(address: str, credential: str) -> None:
    browser = new_browser()
    browser.get("/accounts/2fa/webauthn/login/", headers={"Accept": "application/json"})
    assert browser.post("/accounts/2fa/webauthn/login/", {"credential": credential}).status_code == 302
    owner = signed_up(address)
    show_again(owner)
    owner.get("/accounts/2fa/webauthn/add/")
    assert owner.post("/accounts/2fa/webauthn/add/", {"credential": credential, "name": "x"}).status_code == 200
    assert not Authenticator.objects.filter(user__email=address).exists()
