"""A registered client, for the tests of the authorization server."""

import pytest

from tests.live import LiveServer
from tests.oauth import OAuthClient


@pytest.fixture
def client(server: LiveServer) -> OAuthClient:
    """Register a public client with a loopback address."""
    return OAuthClient(server.url)
