"""A browser without pictures: Django's test client with what the account's pages need."""

import base64
import hmac
import re
import struct
import time
from typing import Any

from django.core import mail
from django.test import Client

PASSWORD = "a lamp turns in 8 seconds"


def new_browser(**more: Any) -> Client:
    """Return a browser that has been nowhere yet."""
    return Client(HTTP_HOST="localhost", **more)


def mails_to(address: str) -> list[Any]:
    """Return what was sent to one address, oldest first."""
    return [message for message in mail.outbox if message.to == [address]]


def code_for(address: str) -> str:
    """Return the code of the newest mail to an address."""
    found = re.search(r"^([A-Z0-9]{3,}(?:-[A-Z0-9]+)?)$", mails_to(address)[-1].body, re.MULTILINE)
    assert found, mails_to(address)[-1].body
    return found.group(1)


def sign_up(browser: Client, address: str, *, then: str = "") -> Any:
    """Fill in the form of sign-up."""
    fields = {"email": address, "password1": PASSWORD, **({"next": then} if then else {})}
    return browser.post("/accounts/signup/", fields)


def verify(browser: Client, address: str) -> Any:
    """Type in the code that the mail holds."""
    return browser.post("/accounts/confirm-email/", {"code": code_for(address)})


def sign_in(browser: Client, address: str, password: str = PASSWORD, *, then: str = "") -> Any:
    """Fill in the form of sign-in."""
    fields = {"login": address, "password": password, **({"next": then} if then else {})}
    return browser.post("/accounts/login/", fields)


def is_signed_in(browser: Client) -> bool:
    """Whether the account's page is shown, and not the form of sign-in."""
    return browser.get("/accounts/").status_code == 200


def signed_up(address: str) -> Client:
    """Return the browser of a new owner, who has verified their address and is signed in."""
    browser = new_browser()
    sign_up(browser, address)
    assert verify(browser, address).status_code == 302
    return browser


def totp(secret: str, *, ahead: int = 0) -> str:
    """Return what an authenticator app shows (RFC 6238), or will show ``ahead`` periods from now."""
    counter = struct.pack(">Q", int(time.time()) // 30 + ahead)
    digest = hmac.digest(base64.b32decode(secret + "=" * (-len(secret) % 8)), counter, "sha1")
    offset = digest[-1] & 15
    return f"{(int.from_bytes(digest[offset : offset + 4]) & 0x7FFFFFFF) % 1_000_000:06}"


def show_again(browser: Client, password: str = PASSWORD) -> None:
    """Answer the question who is there, which a change that matters asks."""
    assert browser.post("/accounts/reauthenticate/", {"password": password}).status_code == 302
