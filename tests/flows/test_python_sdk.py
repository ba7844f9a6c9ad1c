"""The Python SDK's client at a real server, in both eras and every revision served (G2, G10-G12, part 3, R1)."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import httpx2
import pytest
from mcp import MCPError
from mcp.client import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CallToolResult,
    Implementation,
    InitializedNotification,
    InitializeRequest,
    InitializeRequestParams,
    InitializeResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
    ServerCapabilities,
)
from pydantic import BaseModel

from tests.cast import Agent, Person
from tests.flows import facts
from tests.live import LiveServer

STATELESS: Final = "2026-07-28"
PROBED: Final = "2026-07-28 by probing"
PINNED: Final = "2026-07-28 pinned"
ERAS: Final = (PROBED, PINNED, "2025-11-25", "2025-06-18", "2025-03-26")
RESOURCE_NOT_FOUND: Final = {True: -32602, False: -32002}


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio alone."""
    return "asyncio"


@pytest.fixture
def reader(owner: Person) -> Agent:
    """An agent that may only read."""
    return owner.new_agent(access="read_only")


@pytest.fixture
def stranger(other_owner: Person) -> Agent:
    """An agent of somebody else's."""
    return other_owner.new_agent()


pytestmark = pytest.mark.anyio


class Speaker(Protocol):
    """What both of the SDK's clients can do."""

    @property
    def protocol_version(self) -> str | None: ...

    @property
    def server_info(self) -> Implementation | None: ...

    @property
    def server_capabilities(self) -> ServerCapabilities | None: ...

    @property
    def instructions(self) -> str | None: ...

    async def list_tools(self) -> ListToolsResult: ...

    async def list_resources(self) -> ListResourcesResult: ...

    async def list_resource_templates(self) -> ListResourceTemplatesResult: ...

    async def read_resource(self, uri: str) -> Any: ...

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any: ...


@dataclass
class Peer:
    """A connected client, with every HTTP status it was given."""

    client: Speaker
    statuses: list[int] = field(default_factory=list)

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its result as it is on the wire."""
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        return plain(result)

    async def read(self, uri: str) -> str:
        """Read a resource's one text."""
        result = await self.client.read_resource(uri)
        assert isinstance(result, ReadResourceResult)
        (contents,) = plain(result)["contents"]
        assert contents["uri"] == uri
        assert contents["mimeType"] == "application/json"
        text: str = contents["text"]
        return text


def plain(model: BaseModel) -> dict[str, Any]:
    """Return one of the SDK's models as JSON values."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


@asynccontextmanager
async def connected(server: LiveServer, key: str, era: str, statuses: list[int] | None = None) -> AsyncIterator[Peer]:
    """Connect as an agent's host does, with the project key in the Authorization header.

    Every HTTP status goes into ``statuses`` too, for the caller whose connecting fails.
    """
    statuses = [] if statuses is None else statuses

    async def note_status(response: httpx2.Response) -> None:
        statuses.append(response.status_code)

    async with httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {key}"}, timeout=30, event_hooks={"response": [note_status]}
    ) as http:
        transport = streamable_http_client(server.mcp_url, http_client=http)
        modes = {PROBED: "auto", PINNED: STATELESS, "2025-11-25": "legacy"}
        if era in modes:
            async with Client(transport, mode=modes[era]) as client:
                yield Peer(client, statuses)
        else:
            async with transport as (reading, writing), ClientSession(reading, writing) as session:
                await shake_hands(session, era)
                yield Peer(session, statuses)


async def shake_hands(session: ClientSession, revision: str) -> None:
    """Begin with an older handshake revision, which the SDK's own ``initialize`` never asks for."""
    params = InitializeRequestParams(
        protocol_version=revision, capabilities={}, client_info=Implementation(name="flows", version="1")
    )
    session.adopt(await session.send_request(InitializeRequest(params=params), InitializeResult))
    await session.send_notification(InitializedNotification())


@pytest.mark.parametrize("era", ERAS)
async def test_the_client_gets_the_revision_it_asks_for(server: LiveServer, agent: Agent, era: str) -> None:
    async with connected(server, agent.key, era) as peer:
        assert peer.client.protocol_version == era.split()[0]
        assert set(peer.statuses) <= {200, 202}


# A pinned client skips discovery, so it is told nothing.
@pytest.mark.parametrize("era", [era for era in ERAS if era != PINNED])
async def test_the_client_is_told_whom_it_reached_and_how_to_behave(server: LiveServer, agent: Agent, era: str) -> None:
    async with connected(server, agent.key, era) as peer:
        client = peer.client
        assert client.server_info is not None
        assert client.server_capabilities is not None
        facts.check_server(plain(client.server_info), client.instructions or "", plain(client.server_capabilities))


@pytest.mark.parametrize("era", ERAS)
async def test_three_tools_are_listed_with_schemas_and_annotations(server: LiveServer, agent: Agent, era: str) -> None:
    async with connected(server, agent.key, era) as peer:
        listed = await peer.client.list_tools()
        assert listed.next_cursor is None
        facts.check_tools([plain(tool) for tool in listed.tools])


@pytest.mark.parametrize("era", ERAS)
async def test_a_note_is_listed_for_written_once_and_read_back_exactly(
    server: LiveServer, agent: Agent, era: str
) -> None:
    async with connected(server, agent.key, era) as peer:
        # The client validates each structured result against the schema it was listed.
        await peer.client.list_tools()
        (project,) = facts.check_success(await peer.call("memory_list_projects"))["projects"]
        assert project["id"] == agent.project_id
        wish = {
            "project_id": project["id"],
            "content": facts.EXACT_TEXT,
            "source": " flows, §1 🗒 ",
            "checkpoint_id": str(uuid.uuid4()),
        }
        first = await peer.call("memory_write", **wish)
        again = await peer.call("memory_write", **wish)
        assert facts.text_of(again) == facts.text_of(first)
        receipt = facts.check_success(first)
        assert receipt == facts.check_success(again)
        assert receipt["checkpoint_id"] == wish["checkpoint_id"]
        assert receipt["note"]["content"] == facts.EXACT_TEXT
        page = facts.check_success(await peer.call("memory_read", project_id=project["id"]))
        (note,) = page["notes"]
        assert note["content"] == facts.EXACT_TEXT
        assert note["source"] == wish["source"]
        assert note["id"] == receipt["note"]["id"]
        assert note["writer"] == receipt["note"]["writer"]
        assert (page["memory_revision"], page["project"]["notes_count"]) == (1, 1)
        assert page["next_cursor"] is None


@pytest.mark.parametrize("era", ERAS)
async def test_the_resource_is_listed_and_reads_as_the_first_page(server: LiveServer, agent: Agent, era: str) -> None:
    async with connected(server, agent.key, era) as peer:
        await peer.call("memory_write", project_id=agent.project_id, content=facts.EXACT_TEXT)
        resources = await peer.client.list_resources()
        templates = await peer.client.list_resource_templates()
        uri = facts.check_resources(
            [plain(resource) for resource in resources.resources],
            [plain(template) for template in templates.resource_templates],
            agent.project_id,
        )
        page = facts.check_success(await peer.call("memory_read", project_id=agent.project_id))
        assert json.loads(await peer.read(uri)) == page


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_resource_is_an_error_in_the_words_of_the_revision(
    server: LiveServer, agent: Agent, stranger: Agent, era: str
) -> None:
    async with connected(server, agent.key, era) as peer:
        for uri in (f"memory://projects/{stranger.project_id}/notes", "memory://projects", "file:///etc/passwd"):
            with pytest.raises(MCPError) as raised:
                await peer.client.read_resource(uri)
            assert raised.value.code == RESOURCE_NOT_FOUND[era.startswith(STATELESS)]


@pytest.mark.parametrize("era", ERAS)
async def test_a_failed_call_is_a_result_with_its_code(server: LiveServer, agent: Agent, era: str) -> None:
    project_id, checkpoint = agent.project_id, str(uuid.uuid4())
    async with connected(server, agent.key, era) as peer:
        await peer.client.list_tools()
        await peer.call("memory_write", project_id=project_id, content="one", checkpoint_id=checkpoint)
        failures = {
            "project_not_available": await peer.call("memory_read", project_id=str(uuid.uuid4())),
            "invalid_cursor": await peer.call("memory_read", project_id=project_id, cursor="made up"),
            "invalid_arguments": await peer.call("memory_write", project_id=project_id, content=" \n"),
            "checkpoint_conflict": await peer.call(
                "memory_write", project_id=project_id, content="two", checkpoint_id=checkpoint
            ),
        }
    for code, result in failures.items():
        facts.check_error(result, code)


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_tool_is_an_error(server: LiveServer, agent: Agent, era: str) -> None:
    async with connected(server, agent.key, era) as peer:
        with pytest.raises(MCPError) as raised:
            await peer.call("memory_forget")
        assert raised.value.code == -32602


@pytest.mark.parametrize("era", ERAS)
async def test_parallel_calls_of_one_client_each_get_their_own_answer(
    server: LiveServer, agent: Agent, era: str
) -> None:
    async with connected(server, agent.key, era) as peer:
        contents = [f"call {number}" for number in range(20)]
        results = await asyncio.gather(
            *(peer.call("memory_write", project_id=agent.project_id, content=content) for content in contents)
        )
        assert [facts.check_success(result)["note"]["content"] for result in results] == contents


@pytest.mark.parametrize("era", ERAS)
async def test_a_wrong_key_is_refused_and_the_client_says_so(server: LiveServer, agent: Agent, era: str) -> None:
    statuses: list[int] = []
    wrong = agent.key.swapcase().replace("MFK_", "mfk_")
    with pytest.RaisesGroup(MCPError, allow_unwrapped=True, flatten_subgroups=True):
        async with connected(server, wrong, era, statuses) as peer:
            await peer.client.list_tools()
    assert statuses
    assert set(statuses) == {401}


@pytest.mark.parametrize("era", ERAS)
async def test_a_read_only_connection_reads_and_is_refused_to_write(
    server: LiveServer, reader: Agent, era: str
) -> None:
    async with connected(server, reader.key, era) as peer:
        (project,) = facts.check_success(await peer.call("memory_list_projects"))["projects"]
        assert project["id"] == reader.project_id
        await peer.read(f"memory://projects/{project['id']}/notes")
        seen = len(peer.statuses)
        with pytest.raises(MCPError):
            await peer.call("memory_write", project_id=project["id"], content="not to be stored")
        assert peer.statuses[seen:] == [403]
        page = facts.check_success(await peer.call("memory_read", project_id=project["id"]))
        assert page["notes"] == []
        assert page["memory_revision"] == 0
