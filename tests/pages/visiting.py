"""An owner's browser without pictures: Django's test client, signed in."""

import re
from typing import Any

from django.test import Client

from tests.cast import Person

PART: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}
"""What htmx says of itself when it asks for a part of a page."""


def visitor(person: Person | None = None, **more: Any) -> Client:
    """Return a browser, in which ``person`` is signed in."""
    client = Client(HTTP_HOST="localhost", **more)
    if person is not None:
        client.force_login(person.owner, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def text_of(response: Any) -> str:
    """Return a page's HTML."""
    return str(response.content.decode())


def field(html: str, name: str) -> str:
    """Return the value of the first hidden field of this name."""
    found = re.search(rf'name="{name}" value="([^"]*)"', html)
    assert found, f"there is no field {name}"
    return found.group(1)
