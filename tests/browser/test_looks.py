"""Every page of an account, light and dark, wide and on a phone: axe finds nothing, and nothing runs off the side."""

import re
from typing import Any

import pytest

from accounts.services import ensure_owner, issue_sign_in_link
from tests.accounts.browser import totp
from tests.browser.looks import LOOKS, Look
from tests.browser.mailbox import Mailbox
from tests.browser.steps import PASSWORD, elsewhere, expect_signed_in, show_again, sign_in
from tests.browser.test_accounts import with_authenticator
from tests.cast import unique_email
from tests.pages.house import furnish

STRANGERS = [
    "/",
    "/docs",
    "/api/docs",
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/password/reset/",
    "/sign-in/x",
    "/invitation/x",
]
STRANGERS += [
    "/accounts/password/reset/done/",
    "/accounts/password/reset/key/1-x-y/",
    "/accounts/inactive/",
    "/nothing",
]
OWNERS = [
    "/",
    "/accounts/",
    "/accounts/email/",
    "/accounts/password/change/",
    "/accounts/sessions/",
    "/accounts/logout/",
]
OWNERS += ["/accounts/2fa/", "/accounts/2fa/webauthn/", "/accounts/reauthenticate/", "/accounts/reauthenticate/code/"]
SURE = ["/accounts/2fa/recovery-codes/", "/accounts/2fa/recovery-codes/generate/", "/accounts/2fa/totp/deactivate/"]
SURE += ["/accounts/2fa/webauthn/add/", "/accounts/2fa/", "/accounts/2fa/reauthenticate/", "/accounts/"]


@pytest.mark.parametrize("kind", LOOKS)
def test_the_pages_of_strangers(new_page: Any, look: Look, kind: str) -> None:
    page = new_page(**LOOKS[kind])
    for path in STRANGERS:
        page.goto(path)
        look(page)
    sign_in(page, "nobody@example.com", "not it")
    look(page)
    page.goto("/accounts/signup/")
    page.get_by_label("E-mail address").fill("nobody@example.com")
    page.get_by_label("Password").fill("password")
    page.get_by_role("button", name="Sign up").click()
    described = page.get_by_label("Password").get_attribute("aria-describedby")
    assert "id_password1_error" in described, "the error belongs to its field"
    look(page)


@pytest.mark.parametrize("kind", LOOKS)
def test_the_pages_of_an_owner(new_page: Any, mailbox: Mailbox, look: Look, kind: str) -> None:
    page, address = new_page(**LOOKS[kind]), unique_email()
    page.goto("/accounts/signup/")
    page.get_by_label("E-mail address").fill(address)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_label("Code").fill("WRONG1")
    page.get_by_role("button", name="Go on").click()
    look(page)
    page.get_by_label("Code").fill(mailbox.code(address))
    page.get_by_role("button", name="Go on").click()
    expect_signed_in(page)
    for path in OWNERS:
        page.goto(path)
        look(page)
    _with_second_factors(page, look)
    for path in SURE:
        page.goto(path)
        look(page)
    page.goto("/accounts/2fa/webauthn/")
    look(page)
    page.get_by_role("link", name="Rename").click()
    look(page)
    page.goto("/accounts/2fa/webauthn/")
    page.get_by_role("link", name=re.compile("Remove")).click()
    look(page)
    again = new_page(**LOOKS[kind])
    sign_in(again, address)
    again.get_by_role("heading", name="Second factor").wait_for()
    look(again)


def _with_second_factors(page: Any, look: Look) -> None:
    """Set up an app and a passkey, looking at each page on the way."""
    page.goto("/accounts/2fa/totp/activate/")
    show_again(page)
    look(page)
    page.get_by_label("Code").fill(totp(page.locator("#authenticator_secret").inner_text()))
    page.get_by_role("button", name="Switch it on").click()
    look(page)
    with_authenticator(page)
    page.goto("/accounts/2fa/webauthn/add/")
    page.get_by_role("button", name="Add it").click()
    page.get_by_role("heading", name="Second factor").wait_for()


def test_the_first_owner_is_told_what_to_set(new_page: Any, mailbox: Mailbox, look: Look) -> None:
    page = new_page()
    link = elsewhere(lambda: issue_sign_in_link(owner=ensure_owner(email=unique_email())))
    page.goto("/sign-in/" + link.rpartition("/")[2])
    look(page)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="a password", exact=True).click()
    look(page)
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password, once more").fill(PASSWORD)
    page.get_by_role("button", name="Set the password").click()
    expect_signed_in(page)


@pytest.mark.parametrize("kind", LOOKS)
def test_every_page_of_the_workspace(new_page: Any, look: Look, kind: str) -> None:
    house = elsewhere(lambda: furnish(unique_email(), PASSWORD))
    page = new_page(**LOOKS[kind])
    sign_in(page, house.person.owner.email)
    for path in house.pages().values():
        page.goto(path)
        look(page)
