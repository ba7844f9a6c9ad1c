"""``memford mcp``: the official client on standard input and output, in every era, through restarts (C3)."""

import json
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from django.db import connections
from mcp import MCPError
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from mcp_gateway.connections.services import revoke_connection
from projects.models import Note
from projects.services import write_note
from tests.cast import Agent, Person
from tests.live import LiveServer, free_port, live_server
from tests.terminal.terminal import Terminal

pytestmark = pytest.mark.anyio
ERAS = ["auto", "2026-07-28", "legacy"]


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio alone."""
    return "asyncio"


@asynccontextmanager
async def host(terminal: Terminal, mode: str = "auto", **more: Any) -> AsyncIterator[Client]:
    """Be a host that starts the bridge."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "memford.cli", "mcp"], env=terminal.environment, cwd=str(terminal.home)
    )
    async with Client(server, mode=mode, **more) as client:
        yield client


@pytest.mark.parametrize("mode", ERAS)
async def test_the_same_tools_and_results_pass(keyed: Terminal, agent: Agent, server: LiveServer, mode: str) -> None:
    from tests.wire import Wire

    with Wire(server.url, agent.key) as wire:
        straight = wire.call("memory_list_projects").ok
    async with host(keyed, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"memory_list_projects", "memory_read", "memory_write"}
        assert tools["memory_write"].annotations is not None
        listed = await client.call_tool("memory_list_projects", {})
        assert listed.structured_content == straight
        checkpoint = str(uuid.uuid4())
        note = {"project_id": agent.project_id, "content": "by the bridge 🗼\r\n", "checkpoint_id": checkpoint}
        receipts = [await client.call_tool("memory_write", note) for _ in range(2)]
        assert receipts[0].structured_content == receipts[1].structured_content
        page = await client.call_tool("memory_read", {"project_id": agent.project_id})
        assert page.structured_content is not None
        assert page.structured_content["notes"][0]["content"] == "by the bridge 🗼\r\n"
        refused = await client.call_tool("memory_read", {"project_id": "another"})
        assert refused.is_error
        assert "project_not_available" in str(refused.content)
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("memory_forget", {})
        (resource,) = (await client.list_resources()).resources
        read = await client.read_resource(str(resource.uri))
        assert json.loads(read.contents[0].text)["notes"][0]["content"] == "by the bridge 🗼\r\n"  # type: ignore[union-attr]
        with pytest.raises(MCPError):
            await client.read_resource("memory://projects/another/notes")


async def test_many_calls_at_once_each_get_their_own_answer(keyed: Terminal, agent: Agent) -> None:
    async with host(keyed) as client, anyio.create_task_group() as tasks:

        async def write(number: int) -> None:
            answer = await client.call_tool(
                "memory_write", {"project_id": agent.project_id, "content": f"number {number}"}
            )
            assert answer.structured_content is not None
            assert answer.structured_content["note"]["content"] == f"number {number}"

        for number in range(20):
            tasks.start_soon(write, number)


async def elsewhere[T](function: Callable[[], T]) -> T:
    """Ask the database in a thread, which keeps no connection to it."""

    def run() -> T:
        try:
            return function()
        finally:
            connections.close_all()

    return await anyio.to_thread.run_sync(run)


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_hints_come_through(keyed: Terminal, agent: Agent, owner: Person, mode: str) -> None:
    heard = anyio.Event()
    uri = f"memory://projects/{agent.project_id}/notes"

    def write() -> None:
        write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content="news")

    async def on_message(message: Any) -> None:
        if "resources/updated" in str(message) or "ResourceUpdated" in type(message).__name__:
            heard.set()

    async with host(keyed, mode, message_handler=on_message) as client:
        if mode == "legacy":
            await client.subscribe_resource(uri)
            with anyio.fail_after(20):
                await heard.wait()
            heard = anyio.Event()
            await elsewhere(write)
            with anyio.fail_after(20):
                await heard.wait()
        else:
            async with client.listen(resource_subscriptions=[uri]) as hints:
                with anyio.fail_after(20):
                    await anext(aiter(hints))
                    await elsewhere(write)
                    await anext(aiter(hints))


async def test_a_revoked_key_is_an_error_that_says_so(keyed: Terminal, agent: Agent, owner: Person) -> None:
    async with host(keyed) as client:
        await client.list_tools()
        await elsewhere(
            lambda: revoke_connection(owner_id=owner.id, connection_id=agent.connection.pk, actor=owner.hand)
        )
        answer = await client.call_tool("memory_list_projects", {})
        assert answer.is_error
        assert "signed_out" in str(answer.content)


async def test_a_server_that_goes_and_comes_back_costs_no_call_that_may_be_repeated(
    terminal: Terminal, agent: Agent
) -> None:
    port = free_port()
    terminal.variables |= {"MEMFORD_URL": f"http://localhost:{port}", "MEMFORD_API_KEY": agent.key}
    first, second = live_server(MEMFORD_PORT=str(port)), live_server(MEMFORD_PORT=str(port))
    await anyio.to_thread.run_sync(first.__enter__)
    async with host(terminal) as client:
        assert not (await client.call_tool("memory_list_projects", {})).is_error
        await anyio.to_thread.run_sync(lambda: first.__exit__(None, None, None))
        unsafe = await client.call_tool("memory_write", {"project_id": agent.project_id, "content": "unknown"})
        assert unsafe.is_error
        assert "Whether it was stored is not known" in str(unsafe.content)
        safe = {"project_id": agent.project_id, "content": "safe", "checkpoint_id": str(uuid.uuid4())}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, second.__enter__)
            answer = await client.call_tool("memory_write", safe)
        try:
            assert not answer.is_error, answer.content
            assert not (await client.call_tool("memory_write", safe)).is_error
        finally:
            await anyio.to_thread.run_sync(lambda: second.__exit__(None, None, None))
    stored = await elsewhere(
        lambda: list(Note.objects.filter(project_id=agent.project_id).values_list("content", flat=True))
    )
    assert stored == ["safe"]


def test_standard_output_holds_the_protocol_and_nothing_else(keyed: Terminal) -> None:
    process = keyed.start("mcp")
    assert process.stdin is not None
    assert process.stdout is not None
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "nonsense"},
    ]
    process.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages) + "this is no JSON\n")
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(3)]
    assert {answer["id"] for answer in answers} == {1, 2, 3}
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    process.stdin.close()
    rest = process.stdout.read()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert process.wait(20) == 0, "it ends when its host hangs up"
    assert process.stderr is not None
    assert keyed.variables["MEMFORD_API_KEY"] not in process.stderr.read()
    process.stderr.close()
    process.stdout.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_told(keyed: Terminal, how: signal.Signals) -> None:
    process = keyed.start("mcp", stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    assert process.stdout is not None
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}) + "\n")
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(how)
    process.wait(15)
    process.stdin.close()
    process.stdout.close()


def test_without_a_credential_it_says_so_and_ends(terminal: Terminal) -> None:
    terminal.run("mcp", status=4)
    assert "memford login" in terminal.said
    terminal.run("mcp", "--check", status=4)
