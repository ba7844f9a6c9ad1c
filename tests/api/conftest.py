"""Signed-in owners, for the tests of the API."""

import pytest

from tests.api.caller import Caller
from tests.cast import Person
from tests.live import LiveServer


@pytest.fixture
def api(server: LiveServer, owner: Person) -> Caller:
    """The owner's browser."""
    return Caller(server.url, owner.owner)


@pytest.fixture
def other_api(server: LiveServer, other_owner: Person) -> Caller:
    """Another owner's browser."""
    return Caller(server.url, other_owner.owner)


@pytest.fixture
def stranger(server: LiveServer) -> Caller:
    """Somebody who is not signed in."""
    return Caller(server.url)
