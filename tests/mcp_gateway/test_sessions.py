"""Sessions live in the database: bound to the connection, ended by idleness, by DELETE, by being too many (G9)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from mcp_gateway.connections.authentication import authenticate
from mcp_gateway.transport.models import McpSession
from mcp_gateway.transport.session_services import begin_session as store_session
from memford.core.limits import limits
from tests.cast import Agent, Person
from tests.events import begin_session, subscribe
from tests.live import LiveServer
from tests.wire import Wire


def test_a_handshake_begins_a_session_that_nobody_can_guess(wire: Wire, agent: Agent) -> None:
    first, second = begin_session(wire), begin_session(wire)
    assert first != second
    assert min(len(first), len(second)) >= 43
    assert first.isascii()
    assert first.isprintable()
    stored = McpSession.objects.get(pk=first)
    assert (stored.connection_id, stored.revision, stored.client_name) == (agent.connection.pk, "2025-11-25", "wire")


def test_a_failed_handshake_begins_none(wire: Wire) -> None:
    answer = wire.request("initialize", {})
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("header", ["2025-11-25", "2025-06-18", "2025-03-26", None])
def test_the_sessions_own_revision_governs(wire: Wire, header: str | None) -> None:
    session = begin_session(wire, "2025-03-26")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = wire.send([ping], MCP_Protocol_Version=header, Mcp_Session_Id=session)
    assert answer.status_code == 200, "a batch is served, because the session is of 2025-03-26"
    later = begin_session(wire, "2025-11-25")
    assert wire.send([ping], MCP_Protocol_Version="2025-03-26", Mcp_Session_Id=later).status_code == 400


def test_an_unsupported_header_is_refused_within_a_session_too(wire: Wire) -> None:
    session = begin_session(wire)
    assert wire.request("ping", Mcp_Session_Id=session, MCP_Protocol_Version="2024-11-05").status_code == 400


def test_a_session_belongs_to_its_connection_and_not_to_the_keys_bytes(
    server: LiveServer, wire: Wire, owner: Person
) -> None:
    session = begin_session(wire)
    assert wire.request("ping", Mcp_Session_Id=session).status_code == 200
    for stranger in (owner.new_agent(), Person(owner.owner).new_agent()):
        with Wire(server.url, stranger.key) as other:
            for method in ("POST", "GET", "DELETE"):
                body = {"jsonrpc": "2.0", "id": 1, "method": "ping"} if method == "POST" else b""
                assert other.send(body, method=method, Mcp_Session_Id=session).status_code == 404
    assert wire.request("ping", Mcp_Session_Id=session).status_code == 200


def test_delete_ends_it(wire: Wire) -> None:
    session = begin_session(wire)
    answer = wire.send(b"", method="DELETE", Mcp_Session_Id=session)
    assert (answer.status_code, answer.content) == (204, b"")
    for method in ("DELETE", "GET"):
        assert wire.send(b"", method=method, Mcp_Session_Id=session).status_code == 404
    assert wire.request("tools/list", Mcp_Session_Id=session).status_code == 404
    assert begin_session(wire) != session


def test_it_ends_when_it_was_idle_for_an_hour(wire: Wire) -> None:
    session = begin_session(wire)
    idle = timedelta(seconds=limits().mcp_session_idle_life_seconds)
    McpSession.objects.filter(pk=session).update(last_seen_at=timezone.now() - idle + timedelta(minutes=1))
    assert wire.request("ping", Mcp_Session_Id=session).status_code == 200
    seen = McpSession.objects.get(pk=session).last_seen_at
    assert timezone.now() - seen < timedelta(seconds=30), "a call keeps it alive"
    McpSession.objects.filter(pk=session).update(last_seen_at=timezone.now() - idle)
    assert wire.request("ping", Mcp_Session_Id=session).status_code == 404


def test_last_seen_is_written_once_a_minute(wire: Wire) -> None:
    session = begin_session(wire)
    first = McpSession.objects.get(pk=session).last_seen_at
    wire.request("ping", Mcp_Session_Id=session)
    assert McpSession.objects.get(pk=session).last_seen_at == first


def test_the_longest_idle_gives_way_beyond_a_thousand_however_many_begin_at_once(agent: Agent) -> None:
    most = limits().mcp_sessions_per_connection_max
    mine = {
        "owner_id": agent.principal.owner_id,
        "connection_id": agent.principal.connection_id,
        "project_id": agent.principal.project_id,
        "revision": "2025-11-25",
    }
    long_ago = timezone.now() - timedelta(minutes=30)
    McpSession.objects.bulk_create(
        McpSession(id=f"{agent.connection.pk.hex}-{n}", last_seen_at=long_ago + timedelta(seconds=n), **mine)
        for n in range(most - 3)
    )

    def begin(index: int) -> str:
        try:
            return store_session(agent.principal, revision="2025-11-25", client_info=None)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        begun = list(pool.map(begin, range(24)))
    live = set(McpSession.objects.filter(connection=agent.connection).values_list("pk", flat=True))
    assert len(live) == most
    assert set(begun) <= live, "the new ones stay"
    assert f"{agent.connection.pk.hex}-0" not in live, "the longest idle is gone"


def test_subscribing_needs_a_session_and_its_own_notes(wire: Wire, agent: Agent, other_owner: Person) -> None:
    uri = f"memory://projects/{agent.project_id}/notes"
    for method in ("resources/subscribe", "resources/unsubscribe"):
        assert wire.request(method, {"uri": uri}).status_code == 400
        batch = [{"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": uri}}]
        assert wire.send(batch, MCP_Protocol_Version="2025-03-26").status_code == 400
    session = begin_session(wire)
    for foreign in (f"memory://projects/{other_owner.project.pk}/notes", uri + "/", "file:///x"):
        error = wire.request("resources/subscribe", {"uri": foreign}, Mcp_Session_Id=session).json()["error"]
        assert error["code"] == -32002
    subscribe(wire, session, agent.project_id)
    assert McpSession.objects.get(pk=session).subscribed
    subscribe(wire, session, agent.project_id, "resources/unsubscribe")
    assert not McpSession.objects.get(pk=session).subscribed


def test_a_session_remembers_what_its_first_page_showed_and_never_less(wire: Wire, agent: Agent) -> None:
    session = begin_session(wire)
    arguments = {"project_id": agent.project_id}
    wire.call("memory_write", {**arguments, "content": "one"}, Mcp_Session_Id=session)
    assert McpSession.objects.get(pk=session).read_memory_revision is None
    wire.call("memory_read", arguments, Mcp_Session_Id=session)
    assert McpSession.objects.get(pk=session).read_memory_revision == 1
    wire.call("memory_write", {**arguments, "content": "two"}, Mcp_Session_Id=session)
    wire.request("resources/read", {"uri": f"memory://projects/{agent.project_id}/notes"}, Mcp_Session_Id=session)
    assert McpSession.objects.get(pk=session).read_memory_revision == 2


def test_a_call_with_a_session_costs_no_statement_more(agent: Agent) -> None:
    from tests.mcp_gateway.test_statements import counted

    session = store_session(agent.principal, revision="2025-11-25", client_info={"name": "x\0\ud800" + "y" * 500})
    authenticate(agent.key, session)
    with counted() as count:
        caller = authenticate(agent.key, session)
        assert count() == 1
    assert caller.session is not None
    assert caller.session.id == session
