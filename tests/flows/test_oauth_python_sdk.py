"""The official Python client signs in by OAuth, works, refreshes without asking, and asks again when it must (O1-O8)."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from django.db import connections
from django.utils import timezone
from mcp.client import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from mcp_gateway.authorization.models import AccessToken
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import revoke_connection
from tests.cast import Person
from tests.live import LiveServer
from tests.oauth import Browser, query_of

REDIRECT = "http://127.0.0.1:43117/callback"


@dataclass
class Store:
    """What a client keeps between its runs; two of its processes may share it."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return what was registered."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep what was registered."""
        self.client = client_info


@dataclass
class Host:
    """A program with an MCP client and its owner's browser."""

    server: LiveServer
    person: Person
    store: Store = field(default_factory=Store)
    asked: list[str] = field(default_factory=list)
    provider: OAuthClientProvider | None = None
    _returned: str = ""

    async def _open_browser(self, url: str) -> None:
        self.asked.append(url)
        self._returned = await asyncio.to_thread(self._approve, url)

    def _approve(self, url: str) -> str:
        browser, path = Browser(self.server.url, self.person.owner), url.removeprefix(self.server.url)
        try:
            answer = browser.decide(path, project=str(self.person.project.pk), access="read_write", decision="approve")
        finally:
            connections.close_all()
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    async def _take_callback(self) -> AuthorizationCodeResult:
        query = query_of(self._returned)
        return AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query["iss"])

    @asynccontextmanager
    async def connected(self, mode: str = "auto") -> AsyncIterator[Client]:
        """Connect as a host does at its start, with what it kept."""
        metadata = OAuthClientMetadata(
            client_name="Python host",
            redirect_uris=[AnyUrl(REDIRECT)],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",
        )
        provider = OAuthClientProvider(
            self.server.mcp_url,
            metadata,
            self.store,
            redirect_handler=self._open_browser,
            callback_handler=self._take_callback,
        )
        self.provider = provider
        async with httpx2.AsyncClient(auth=provider, timeout=20, verify=False) as http:
            transport = streamable_http_client(self.server.mcp_url, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client

    async def project_seen(self, mode: str = "auto") -> str:
        """Connect, and return the project that the agent sees."""
        async with self.connected(mode) as client:
            return await project_of(client)

    def let_the_hour_pass(self) -> None:
        """Move the access token's end into the past, for the client that holds it."""
        assert self.provider is not None
        self.provider.context.token_expiry_time = time.time() - 1


async def project_of(client: Client) -> str:
    """Return the project that a connected agent sees."""
    listed: Any = await client.call_tool("memory_list_projects", {})
    return str(listed.structured_content["projects"][0]["id"])


@pytest.fixture
def host(server: LiveServer, owner: Person) -> Host:
    """A host that nobody has signed in to."""
    return Host(server, owner)


def connection_of(host: Host) -> Connection:
    """Return the one connection that a host made last."""
    assert host.store.client is not None
    found = Connection.objects.filter(client__client_id=host.store.client.client_id)
    return found.latest("created_at")


def expire_access_tokens(host: Host) -> None:
    """End every access token of a host's connection."""
    try:
        tokens = AccessToken.objects.filter(connection=connection_of(host))
        tokens.update(expires=timezone.now() - timedelta(seconds=1))
    finally:
        connections.close_all()


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_it_discovers_registers_asks_once_and_works(host: Host, mode: str) -> None:
    assert asyncio.run(host.project_seen(mode)) == str(host.person.project.pk)
    assert len(host.asked) == 1
    asked = query_of(host.asked[0])
    assert asked["code_challenge_method"] == "S256"
    assert asked["resource"] == host.server.mcp_url
    assert urlsplit(host.asked[0]).path == "/authorize"
    # The next start of the host asks nobody.
    assert asyncio.run(host.project_seen(mode)) == str(host.person.project.pk)
    assert len(host.asked) == 1
    assert connection_of(host).name == "Python host"


def test_it_refreshes_for_months_without_asking_again(host: Host) -> None:
    async def work() -> set[str]:
        seen = set()
        async with host.connected() as client:
            for _ in range(5):
                assert await project_of(client) == str(host.person.project.pk)
                assert host.store.tokens is not None
                seen.add(str(host.store.tokens.refresh_token))
                await asyncio.to_thread(expire_access_tokens, host)
                host.let_the_hour_pass()
        return seen

    assert len(asyncio.run(work())) == 5
    assert len(host.asked) == 1
    assert connection_of(host).revoked_at is None


def test_processes_of_a_host_that_refresh_at_once_all_go_on(host: Host) -> None:
    asyncio.run(host.project_seen())
    # Each read the store before another wrote it.
    twins = [Host(host.server, host.person, Store(host.store.tokens, host.store.client), host.asked) for _ in range(5)]

    async def all_at_once() -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(twin.connected()) for twin in twins]
            for _ in range(3):
                await asyncio.to_thread(expire_access_tokens, host)
                for twin in twins:
                    twin.let_the_hour_pass()
                projects = await asyncio.gather(*(project_of(client) for client in clients))
                assert set(projects) == {str(host.person.project.pk)}

    asyncio.run(all_at_once())
    assert len({twin.store.tokens.refresh_token for twin in twins if twin.store.tokens is not None}) == 5
    assert len(host.asked) == 1
    assert connection_of(host).revoked_at is None


def test_after_a_disconnection_it_asks_the_owner_again(host: Host) -> None:
    asyncio.run(host.project_seen())
    first = connection_of(host)
    revoke_connection(owner_id=host.person.id, connection_id=first.pk, actor=host.person.hand)
    assert asyncio.run(host.project_seen()) == str(host.person.project.pk)
    assert len(host.asked) == 2
    assert connection_of(host).pk != first.pk
