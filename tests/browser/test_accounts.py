"""The account's pages in a real browser (W1, W4)."""

import re
from typing import Any

import pytest

from tests.accounts.browser import totp
from tests.browser.mailbox import Mailbox
from tests.browser.steps import PASSWORD, expect_signed_in, show_again, show_again_if_asked, sign_in, sign_out, sign_up
from tests.cast import unique_email
from tests.live import LiveServer

NEW = "the lamp turns in 9 seconds"


@pytest.fixture
def address() -> str:
    """An address that nobody has yet."""
    return unique_email()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_from_a_request_to_sign_up_and_back_to_the_request(
    new_page: Any, mailbox: Mailbox, address: str, script: bool
) -> None:
    page = new_page(java_script_enabled=script)
    page.goto("/accounts/login/?next=/accounts/sessions/%3Fasked%3Dyes")
    page.get_by_role("link", name="Sign up").click()
    sign_up(page, mailbox, address, at=page.url)
    page.wait_for_url("**/accounts/sessions/?asked=yes")
    assert page.get_by_text(address, exact=True).is_visible()


def test_a_wrong_password_is_said_so_and_the_right_one_signs_in(new_page: Any, mailbox: Mailbox, address: str) -> None:
    page = new_page()
    sign_up(page, mailbox, address)
    sign_out(page)
    sign_in(page, address, "not it")
    assert "is not right" in page.get_by_role("alert").inner_text()
    sign_in(page, address)
    expect_signed_in(page)


def test_a_forgotten_password_is_replaced_by_the_link_in_the_mail(
    new_page: Any, mailbox: Mailbox, address: str
) -> None:
    sign_up(new_page(), mailbox, address)
    page = new_page()
    page.goto("/accounts/login/")
    page.get_by_role("link", name="Forgot your password?").click()
    page.get_by_label("E-mail address").fill(address)
    page.get_by_role("button", name="Send the link").click()
    page.goto(mailbox.link(address, count=2))
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("New password, once more").fill(NEW)
    page.get_by_role("button", name="Set the password").click()
    expect_signed_in(page)
    sign_out(page)
    sign_in(page, address, NEW)
    expect_signed_in(page)


def test_another_session_is_ended(new_page: Any, mailbox: Mailbox, address: str) -> None:
    here, there = new_page(), new_page(user_agent="Lantern 1")
    sign_up(here, mailbox, address)
    sign_in(there, address)
    here.goto("/accounts/sessions/")
    here.get_by_role("listitem").filter(has_text="Lantern 1").get_by_role("button", name="End").click()
    assert here.get_by_text("That session was ended.").is_visible()
    there.goto("/accounts/")
    assert there.get_by_role("heading", name="Sign in").is_visible()


def test_an_authenticator_app_is_set_up_and_used(new_page: Any, mailbox: Mailbox, address: str) -> None:
    page = new_page()
    sign_up(page, mailbox, address)
    page.goto("/accounts/2fa/")
    page.get_by_role("link", name="Set up an app").click()
    show_again(page)
    picture = page.get_by_role("img", name="as a picture")
    assert picture.evaluate("image => image.naturalWidth") > 50, "the policy lets the picture through"
    secret = page.locator("#authenticator_secret").inner_text()
    page.get_by_label("Code").fill(totp(secret))
    page.get_by_role("button", name="Switch it on").click()
    codes = re.findall(r"\d{8}", page.locator(".codes").inner_text())
    assert len(codes) == 10
    sign_out(page)
    sign_in(page, address)
    page.get_by_label("Code").fill(totp(secret, ahead=1))
    page.get_by_role("button", name="Sign in").click()
    expect_signed_in(page)


def with_authenticator(page: Any) -> Any:
    """Give a page's browser a device that can hold passkeys and knows its user."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    return session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def add_passkey(page: Any, name: str) -> None:
    """Add a passkey from the account's page on."""
    page.goto("/accounts/2fa/webauthn/add/")
    show_again_if_asked(page)
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Add it").click()
    page.wait_for_url("**/recovery-codes/")


def test_a_passkey_is_added_signs_in_alone_and_is_renamed_and_removed(
    new_page: Any, site: LiveServer, mailbox: Mailbox, address: str
) -> None:
    page = new_page()
    sign_up(page, mailbox, address)
    with_authenticator(page)
    add_passkey(page, "Lighthouse laptop")
    sign_out(page)
    page.goto("/accounts/login/?next=/accounts/2fa/webauthn/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(f"{site.url}/accounts/2fa/webauthn/")
    assert page.get_by_text("Lighthouse laptop").first.is_visible()
    page.get_by_role("link", name="Rename").click()
    show_again_if_asked(page)
    page.get_by_label("Name").fill("Pier laptop")
    page.get_by_role("button", name="Save").click()
    page.goto("/accounts/2fa/webauthn/")
    page.get_by_role("link", name="Remove Pier laptop").click()
    show_again_if_asked(page)
    page.get_by_role("button", name="Remove it").click()
    page.goto("/accounts/2fa/webauthn/")
    assert page.get_by_text("You have none yet").is_visible()


def test_a_passkey_is_the_second_factor_after_a_password(new_page: Any, mailbox: Mailbox, address: str) -> None:
    page = new_page()
    sign_up(page, mailbox, address)
    with_authenticator(page)
    add_passkey(page, "Key")
    sign_out(page)
    sign_in(page, address)
    page.get_by_role("button", name="Use a passkey or key").click()
    expect_signed_in(page)


def test_a_device_without_a_passkey_is_told_so_in_the_page(new_page: Any) -> None:
    page = new_page()
    with_authenticator(page)
    page.goto("/accounts/login/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    assert "No passkey was used" in page.get_by_role("alert").inner_text()


def test_without_script_no_button_is_there_that_does_nothing(new_page: Any) -> None:
    page = new_page(java_script_enabled=False)
    page.goto("/accounts/login/")
    assert page.get_by_role("button", name="Sign in", exact=True).is_visible()
    assert not page.get_by_role("button", name="passkey").is_visible()


def test_all_is_reached_by_keyboard(new_page: Any, mailbox: Mailbox, address: str) -> None:
    sign_up(new_page(), mailbox, address)
    page = new_page()
    page.goto("/accounts/login/")
    page.get_by_label("E-mail address").focus()
    page.keyboard.type(address)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect_signed_in(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
