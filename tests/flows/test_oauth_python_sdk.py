"""The official Python client signs in by OAuth, works, refreshes without asking, and asks again when it must (O1-O8).

Its owner is a person who signs in and approves by the pages; the host waits for their browser on a loopback port.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import pytest
from django.db import connections
from django.utils import timezone
from mcp import MCPError
from mcp.client import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp_types import CallToolResult
from pydantic import AnyUrl, BaseModel

from mcp_gateway.authorization.models import AccessToken
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import revoke_connection
from tests.cast import Person
from tests.flows import facts
from tests.flows.approving import Approver, new_person_with_password
from tests.live import LiveServer
from tests.loopback import Listener, listening
from tests.oauth import query_of

MODES: Final = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
"""How the client is told to connect, and the revision that comes of it."""


@dataclass
class Store:
    """What a client keeps between its runs."""

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
    """A program with an MCP client, its owner's browser, and all that it sent, as ``METHOD /path status``."""

    server: LiveServer
    listener: Listener
    approver: Approver
    store: Store = field(default_factory=Store)
    metadata: dict[str, Any] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    provider: OAuthClientProvider | None = None

    async def _open_browser(self, url: str) -> None:
        shown = await asyncio.to_thread(self.approver.open, url)
        assert shown.status_code == 200

    async def _take_callback(self) -> AuthorizationCodeResult:
        query = await asyncio.to_thread(self.listener.arrived)
        if "error" in query:
            raise PermissionError(query["error"])
        return AuthorizationCodeResult(**query)

    async def _note(self, response: httpx2.Response) -> None:
        request = response.request
        self.sent.append(f"{request.method} {request.url.path} {response.status_code}")

    @asynccontextmanager
    async def connected(self, mode: str = "auto") -> AsyncIterator[Client]:
        """Connect as a host does at its start, with what it kept."""
        metadata = {
            "client_name": "Python host",
            "redirect_uris": [AnyUrl(self.listener.url)],
            "token_endpoint_auth_method": "none",
            **self.metadata,
        }
        self.provider = OAuthClientProvider(
            self.server.mcp_url,
            OAuthClientMetadata(**metadata),
            self.store,
            redirect_handler=self._open_browser,
            callback_handler=self._take_callback,
        )
        hooks = {"response": [self._note]}
        async with httpx2.AsyncClient(auth=self.provider, timeout=30, verify=False, event_hooks=hooks) as http:
            transport = streamable_http_client(self.server.mcp_url, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client

    async def project_seen(self, mode: str = "auto") -> str:
        """Connect, and return the project that the agent sees."""
        async with self.connected(mode) as client:
            return await project_of(client)

    def let_the_hour_pass(self) -> None:
        """Bring the client's own clock to the end of its access token."""
        assert self.provider is not None
        self.provider.context.token_expiry_time = time.time() - 1

    @property
    def asked(self) -> int:
        """How often the owner was asked."""
        return len(self.approver.asked)

    def times(self, sent: str) -> int:
        """How often something was sent, and answered so."""
        return self.sent.count(sent)


def plain(model: BaseModel) -> dict[str, Any]:
    """Return one of the SDK's models as JSON values."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool, which must succeed, and return its structured result."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    return facts.check_success(plain(result))


async def project_of(client: Client) -> str:
    """Return the one project that a connected agent sees."""
    (project,) = (await call(client, "memory_list_projects"))["projects"]
    return str(project["id"])


@pytest.fixture
def person() -> Person:
    """An owner who signs in with a password."""
    return new_person_with_password()


@pytest.fixture
def listener() -> Iterator[Listener]:
    """The port on which the host waits."""
    with listening() as waiting:
        yield waiting


@pytest.fixture
def host(server: LiveServer, listener: Listener, person: Person) -> Host:
    """A host that nobody has signed in to."""
    return Host(server, listener, Approver(person.owner.email))


def connections_of(person: Person) -> list[Connection]:
    """Return an owner's connections, oldest first."""
    return list(Connection.objects.filter(owner_id=person.id).order_by("created_at"))


def expire_access_tokens(person: Person) -> None:
    """End every access token of an owner's agents."""
    try:
        ended = AccessToken.objects.filter(user_id=person.id).update(expires=timezone.now() - timedelta(seconds=1))
        assert ended
    finally:
        connections.close_all()


def disconnect(person: Person) -> None:
    """End the newest of an owner's connections, as the owner does."""
    try:
        newest = connections_of(person)[-1]
        revoke_connection(owner_id=person.id, connection_id=newest.pk, actor=person.hand)
    finally:
        connections.close_all()


@pytest.mark.parametrize("mode", MODES)
def test_it_discovers_registers_asks_once_and_works(host: Host, person: Person, mode: str) -> None:
    async def work() -> dict[str, Any]:
        async with host.connected(mode) as client:
            assert client.protocol_version == MODES[mode]
            facts.check_tools([plain(tool) for tool in (await client.list_tools()).tools])
            project = await project_of(client)
            await call(client, "memory_write", project_id=project, content=facts.EXACT_TEXT)
            return await call(client, "memory_read", project_id=project)

    page = asyncio.run(work())
    assert page["project"]["id"] == str(person.project.pk)
    (note,) = page["notes"]
    assert note["content"] == facts.EXACT_TEXT
    assert note["writer"]["name"] == "Python host"
    # Each step once: the client guesses no address and is sent no way round.
    assert host.sent[:5] == [
        "POST /mcp 401",
        "GET /.well-known/oauth-protected-resource/mcp 200",
        "GET /.well-known/oauth-authorization-server 200",
        "POST /register 201",
        "POST /token 200",
    ]
    assert host.times("POST /mcp 401") == 1
    asked = query_of(host.approver.asked[0])
    assert asked["code_challenge_method"] == "S256"
    assert asked["resource"] == host.server.mcp_url
    assert urlsplit(host.approver.asked[0]).path == "/authorize"
    # The next start of the host asks nobody.
    assert asyncio.run(host.project_seen(mode)) == str(person.project.pk)
    assert host.asked == 1
    (connection,) = connections_of(person)
    assert connection.name == "Python host"


@pytest.mark.parametrize("method", ["none", "client_secret_post", "client_secret_basic", None])
def test_every_way_to_authenticate_gets_in_and_refreshes(host: Host, person: Person, method: str | None) -> None:
    host.metadata = {"token_endpoint_auth_method": method}

    async def work() -> None:
        async with host.connected() as client:
            await project_of(client)
            await asyncio.to_thread(expire_access_tokens, person)
            host.let_the_hour_pass()
            await project_of(client)

    asyncio.run(work())
    assert host.store.client is not None
    assert host.store.client.token_endpoint_auth_method == (method or "client_secret_basic")
    assert (host.store.client.client_secret is None) == (method == "none")
    assert (host.times("POST /token 200"), host.asked) == (2, 1)


def test_the_project_that_was_picked_is_the_one_that_is_reached(host: Host, person: Person) -> None:
    second = person.new_project("Second & <last>")
    host.approver.project = "Second & <last>"
    assert asyncio.run(host.project_seen()) == str(second.pk)


def test_what_the_owner_narrowed_holds_and_the_client_is_told(host: Host, person: Person) -> None:
    host.approver.access = "read_only"
    assert asyncio.run(host.project_seen()) == str(person.project.pk)
    assert host.store.tokens is not None
    assert host.store.tokens.scope == "memory:read"


def test_an_owner_who_says_no_is_heard_and_no_connection_is_made(host: Host, person: Person) -> None:
    host.approver.decision = "deny"
    with pytest.RaisesGroup(
        pytest.RaisesExc(PermissionError, match="access_denied"), allow_unwrapped=True, flatten_subgroups=True
    ):
        asyncio.run(host.project_seen())
    assert connections_of(person) == []
    assert not any("/token" in sent for sent in host.sent)


def test_it_refreshes_for_months_without_asking_again(host: Host, person: Person) -> None:
    async def work() -> set[str]:
        seen = set()
        async with host.connected("legacy") as client:
            for _ in range(5):
                # In the middle of a session, which goes on.
                assert await project_of(client) == str(person.project.pk)
                assert host.store.tokens is not None
                seen.add(str(host.store.tokens.refresh_token))
                await asyncio.to_thread(expire_access_tokens, person)
                host.let_the_hour_pass()
        return seen

    assert len(asyncio.run(work())) == 5
    assert host.asked == 1
    assert host.times("POST /mcp 401") == 1
    (connection,) = connections_of(person)
    assert connection.revoked_at is None


def test_the_calls_of_one_process_share_one_refresh(host: Host, person: Person) -> None:
    contents = [f"call {number}" for number in range(10)]

    async def work() -> list[dict[str, Any]]:
        async with host.connected() as client:
            project = await project_of(client)
            await asyncio.to_thread(expire_access_tokens, person)
            host.let_the_hour_pass()
            calls = (call(client, "memory_write", project_id=project, content=content) for content in contents)
            return await asyncio.gather(*calls)

    assert [written["note"]["content"] for written in asyncio.run(work())] == contents
    assert (host.times("POST /token 200"), host.times("POST /mcp 401")) == (2, 1)


def test_processes_of_a_host_that_refresh_at_once_all_go_on(host: Host, person: Person) -> None:
    asyncio.run(host.project_seen())
    # Each read the store before another wrote it.
    twins = [
        Host(host.server, host.listener, host.approver, Store(host.store.tokens, host.store.client)) for _ in range(5)
    ]

    async def all_at_once() -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(twin.connected()) for twin in twins]
            for _ in range(3):
                await asyncio.to_thread(expire_access_tokens, person)
                for twin in twins:
                    twin.let_the_hour_pass()
                projects = await asyncio.gather(*(project_of(client) for client in clients))
                assert set(projects) == {str(person.project.pk)}

    asyncio.run(all_at_once())
    assert len({twin.store.tokens.refresh_token for twin in twins if twin.store.tokens is not None}) == 5
    assert [twin.times("POST /token 200") for twin in twins] == [3] * 5
    assert host.asked == 1
    (connection,) = connections_of(person)
    assert connection.revoked_at is None


@pytest.mark.parametrize("refreshing", [False, True], ids=["while its token seems good", "when it refreshes"])
def test_after_a_disconnection_it_asks_the_owner_again_and_the_call_succeeds(
    host: Host, person: Person, refreshing: bool
) -> None:
    async def work() -> str:
        async with host.connected() as client:
            await project_of(client)
            await asyncio.to_thread(disconnect, person)
            if refreshing:
                host.let_the_hour_pass()
            return await project_of(client)

    assert asyncio.run(work()) == str(person.project.pk)
    assert host.times("POST /token 400") == refreshing
    # It is the same client, which need not register again.
    assert (host.asked, host.times("POST /register 201")) == (2, 1)
    old, new = connections_of(person)
    assert (old.revoked_at is not None, new.revoked_at is None) == (True, True)
    assert old.client_id == new.client_id


def test_a_session_ends_with_its_connection_and_the_next_start_works(host: Host, person: Person) -> None:
    async def work() -> None:
        async with host.connected("legacy") as client:
            await project_of(client)
            await asyncio.to_thread(disconnect, person)
            # Signed in anew within the call, the client learns that its session was the old connection's.
            with pytest.raises(MCPError):
                await project_of(client)

    asyncio.run(work())
    assert host.asked == 2
    assert asyncio.run(host.project_seen("legacy")) == str(person.project.pk)
    assert host.asked == 2


def test_a_forgotten_clients_owner_is_told_what_to_do_and_sent_nowhere(host: Host, person: Person) -> None:
    asyncio.run(host.project_seen())
    assert host.store.client is not None
    host.store.client.client_id = "mfc_forgotten"
    host.store.tokens = None
    # The page says what to do; the person's browser is sent nowhere.
    with pytest.RaisesGroup(
        pytest.RaisesExc(AssertionError, match="add it anew"), allow_unwrapped=True, flatten_subgroups=True
    ):
        asyncio.run(host.project_seen())
