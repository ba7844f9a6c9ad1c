"""What people do on the account's pages, in words of their own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connections

from tests.browser.mailbox import Mailbox

PASSWORD = "a lamp turns in 8 seconds"


def elsewhere[T](function: Callable[[], T]) -> T:
    """Run what asks the database in another thread: Playwright keeps this one in an event loop."""

    def run() -> T:
        try:
            return function()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()


def sign_up(page: Any, mailbox: Mailbox, address: str, *, at: str = "/accounts/signup/") -> None:
    """Sign up and type in the code of the mail."""
    page.goto(at)
    page.get_by_label("E-mail address").fill(address)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_label("Code").fill(mailbox.code(address))
    page.get_by_role("button", name="Go on").click()


def sign_in(page: Any, address: str, password: str = PASSWORD, *, at: str = "/accounts/login/") -> None:
    """Sign in with a password."""
    page.goto(at)
    page.get_by_label("E-mail address").fill(address)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page: Any) -> None:
    """Sign out by the header."""
    page.get_by_role("button", name="Sign out").click()


def show_again(page: Any) -> None:
    """Type the password once more, where a change that matters asks for it."""
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()


def show_again_if_asked(page: Any) -> None:
    """The same, where it may have been asked a moment ago."""
    page.wait_for_load_state()
    if page.get_by_role("heading", name="Is it you?").is_visible():
        show_again(page)


def expect_signed_in(page: Any) -> None:
    """Wait until the header offers to sign out."""
    page.get_by_role("button", name="Sign out").wait_for()
