"""What is a message and what is not: JSON-RPC, batches, and the forms of an answer (G3, G4)."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cast import Agent
from tests.live import LiveServer
from tests.wire import META, Wire

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def deep(depth: int) -> bytes:
    """Return JSON nested so deep that a recursive reader gives up."""
    return b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + b"[" * depth + b"]" * depth + b"}}"


BAD_BODIES = {
    "empty": b"",
    "no JSON": b"{nonsense",
    "no UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    "UTF-16": json.dumps(PING).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(PING).encode(),
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
    "Infinity": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":-Infinity}}',
    "a number beyond all bounds": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999}}',
    "an integer of absurd length": b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}',
    "absurd depth": deep(30_000),
    "a string": b'"ping"',
    "null": b"null",
    "no version": b'{"id":1,"method":"ping"}',
    "another version": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "no method": b'{"jsonrpc":"2.0","id":1}',
    "method no string": b'{"jsonrpc":"2.0","id":1,"method":7}',
    "params a list": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}',
    "id null": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "id a fraction": b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    "id true": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "id an object": b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    "id beyond 2^53": b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
    "result and error": b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_what_is_no_message_is_answered_with_400_and_an_error(wire: Wire, body: bytes) -> None:
    answer = wire.send(body)
    assert answer.status_code == 400
    reply = answer.json()
    assert reply["jsonrpc"] == "2.0"
    assert reply["error"]["code"] in {-32700, -32600}


@pytest.mark.parametrize("id_", ["", "a" * 500, "7", 0, -1, 2**53, -(2**53), "\ud800", "é\u0000"])
def test_every_good_id_comes_back_as_it_was(wire: Wire, id_: str | int) -> None:
    reply = wire.send({"jsonrpc": "2.0", "id": id_, "method": "ping"}).json()
    assert reply == {"jsonrpc": "2.0", "id": id_, "result": {}}
    assert type(reply["id"]) is type(id_)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/unheard/of", "params": {"x": 1}},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "no"}},
    ],
)
def test_notifications_and_responses_are_accepted_with_nothing_to_say(wire: Wire, message: dict[str, Any]) -> None:
    answer = wire.send(message)
    assert answer.status_code == 202
    assert answer.content == b""


def test_a_batch_is_served_in_its_order_under_2025_03_26(wire: Wire, agent: Agent) -> None:
    batch = [
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/list"},
        {"jsonrpc": "2.0", "id": "c", "method": "no/such/method"},
    ]
    for revision in ("2025-03-26", None):
        answer = wire.send(batch, MCP_Protocol_Version=revision)
        assert answer.status_code == 200
        first, second, third = answer.json()
        assert first == {"jsonrpc": "2.0", "id": "a", "result": {}}
        assert len(second["result"]["tools"]) == 3
        assert third["error"]["code"] == -32601


def test_a_batch_of_notifications_is_accepted(wire: Wire) -> None:
    batch = [{"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 1, "result": {}}]
    answer = wire.send(batch, MCP_Protocol_Version="2025-03-26")
    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_later_revisions_have_no_batches(wire: Wire, revision: str) -> None:
    answer = wire.send([PING], MCP_Protocol_Version=revision)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32600


def test_a_bad_batch_is_refused_as_a_whole(wire: Wire, agent: Agent) -> None:
    arguments = {"project_id": agent.project_id, "content": "must not be stored"}
    write = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_write", "arguments": arguments},
    }
    initialize = {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {}}
    for batch in ([], [write, initialize], [write, 7], [write, []], [write, {"id": 1}], [write] * 21):
        answer = wire.send(batch, MCP_Protocol_Version="2025-03-26")
        assert answer.status_code == 400, batch
    assert wire.call("memory_read", {"project_id": agent.project_id}).ok["notes"] == []


def test_a_batch_may_have_twenty_messages(wire: Wire) -> None:
    assert len(wire.send([PING] * 20, MCP_Protocol_Version="2025-03-26").json()) == 20


def test_one_missing_scope_stops_a_whole_batch_before_it_begins(server: LiveServer, agent: Agent, owner: Any) -> None:
    reader = owner.new_agent(access="read_only")
    arguments = {"project_id": reader.project_id, "content": "no"}
    write = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "memory_write", "arguments": arguments},
    }
    with Wire(server.url, reader.key) as wire:
        assert wire.send([PING, write], MCP_Protocol_Version="2025-03-26").status_code == 403


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/json, text/event-stream", "*/*", "application/*", "text/html, */*;q=0.1", None],
)
def test_a_client_that_takes_json_gets_json(wire: Wire, accept: str | None) -> None:
    answer = wire.send(PING, Accept=accept)
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("accept", ["text/event-stream", "text/event-stream;q=0.9", "application/json;q=0, text/*"])
def test_a_client_that_takes_events_alone_gets_one_event(wire: Wire, accept: str) -> None:
    for answer in (wire.send(PING, Accept=accept), wire.modern("tools/list", Accept=accept)):
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/event-stream"
        event, data, end = answer.text.split("\n", 2)
        assert event == "event: message"
        assert json.loads(data.removeprefix("data: "))["id"]
        assert end == "\n"


def test_a_client_that_takes_neither_is_told_what_there_is(wire: Wire) -> None:
    assert wire.send(PING, Accept="text/html").status_code == 406


def test_a_form_is_no_message(wire: Wire) -> None:
    assert wire.send(PING, Content_Type="application/x-www-form-urlencoded").status_code == 415
    assert wire.send(PING, Content_Type="application/json; charset=utf-8").status_code == 200


def test_concurrent_calls_with_one_id_each_get_their_own_answer(server: LiveServer, agent: Agent) -> None:
    def ask(index: int) -> bool:
        with Wire(server.url, agent.key) as wire:
            arguments = {"project_id": agent.project_id, "content": f"text {index}"}
            params = {"name": "memory_write", "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            reply = wire.send(message).json()
            return bool(reply["result"]["structuredContent"]["note"]["content"] == f"text {index}")

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(64)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
members = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", 2, None]),
        "id": json_values,
        "method": st.sampled_from(
            [
                "ping",
                "initialize",
                "tools/call",
                "tools/list",
                "resources/read",
                "server/discover",
                "subscriptions/listen",
            ]
        )
        | st.text(),
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["memory_read", "memory_write", "memory_list_projects"]) | json_values,
                "arguments": json_values,
                "uri": json_values,
                "cursor": json_values,
                "protocolVersion": json_values,
                "_meta": json_values | st.just(META),
            },
        )
        | json_values,
        "result": json_values,
    },
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "MCP_Protocol_Version": st.sampled_from(["2025-03-26", "2025-06-18", "2026-07-28", "2024-11-05", "x", ""]),
        "Mcp_Method": st.sampled_from(["ping", "tools/call", "x"]),
        "Mcp_Name": st.sampled_from(["memory_read", "=?base64?!!?=", "x"]),
        "Mcp_Session_Id": st.sampled_from(["", "x", "0" * 300]),
        "Accept": st.sampled_from(["*/*", "text/event-stream", ";;,", "q=0"]),
    },
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=members | st.lists(members, max_size=3) | json_values, extra=headers)
def test_no_input_of_any_kind_is_our_failure(wire: Wire, message: Any, extra: dict[str, str]) -> None:
    answer = wire.send(json.dumps(message).encode(), method="POST", **extra)
    assert answer.status_code < 500, answer.text
    if answer.status_code == 200:
        assert "-32603" not in answer.text


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=200))
def test_no_bytes_are_our_failure(wire: Wire, body: bytes) -> None:
    assert wire.send(body).status_code in {400, 415}
