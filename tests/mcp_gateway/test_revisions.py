"""Four revisions of the protocol at one address (G2, G9, G11, G12)."""

import json
from typing import Any

import pytest

from mcp_gateway.server import memford_version
from tests.cast import Agent
from tests.live import LiveServer
from tests.wire import META, Wire

HANDSHAKE = ["2025-11-25", "2025-06-18", "2025-03-26"]
ALL = ["2026-07-28", *HANDSHAKE]
CAPABILITIES = {"tools": {"listChanged": False}, "resources": {"subscribe": True, "listChanged": False}}


def initialize(wire: Wire, revision: Any, **headers: str | None) -> dict[str, Any]:
    """Begin with a handshake and return its result."""
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
    answer = wire.request("initialize", params, **headers)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_served_revision_is_agreed_to(wire: Wire, revision: str) -> None:
    assert initialize(wire, revision, MCP_Protocol_Version=None)["protocolVersion"] == revision


@pytest.mark.parametrize("revision", ["2024-11-05", "2026-07-28", "2030-01-01", "newest", ""])
def test_any_other_is_answered_with_the_newest_handshake_revision(wire: Wire, revision: str) -> None:
    assert initialize(wire, revision)["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("header", ["2026-07-28", "2024-11-05", "nonsense", None])
def test_initialize_is_the_handshake_whatever_its_header_says(wire: Wire, header: str | None) -> None:
    assert initialize(wire, "2025-06-18", MCP_Protocol_Version=header)["protocolVersion"] == "2025-06-18"


def test_initialize_in_the_envelope_of_2026_07_28_is_an_unknown_method(wire: Wire) -> None:
    answer = wire.modern("initialize")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == -32601


def test_initialize_with_a_session_id_begins_anew(wire: Wire) -> None:
    assert initialize(wire, "2025-11-25", Mcp_Session_Id="old")["protocolVersion"] == "2025-11-25"


def test_initialize_without_its_parameters_is_a_clear_error(wire: Wire) -> None:
    assert wire.request("initialize", {}).json()["error"]["code"] == -32602


def test_the_handshake_says_what_is_there_and_nothing_else(wire: Wire, server: LiveServer) -> None:
    result = initialize(wire, "2025-11-25")
    assert result["capabilities"] == CAPABILITIES
    info = result["serverInfo"]
    assert info["name"] == "memford"
    assert info["version"] == memford_version()
    assert info["websiteUrl"] == server.url
    assert info["icons"][0]["src"].startswith(server.url)
    for word in ("project", "reference data", "instructions", "read"):
        assert word in result["instructions"]
    assert len(result["instructions"]) < 600


def test_the_icon_that_is_named_is_there(wire: Wire) -> None:
    icon = initialize(wire, "2025-11-25")["serverInfo"]["icons"][0]
    answer = wire.client.get(icon["src"])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == icon["mimeType"]


@pytest.mark.parametrize("header", ["2024-11-05", "2030-01-01", "nonsense", "2025-11-25, 2025-11-25"])
def test_an_unsupported_header_is_refused_with_the_list_of_what_is_served(wire: Wire, header: str) -> None:
    answer = wire.request("ping", MCP_Protocol_Version=header)
    assert answer.status_code == 400
    assert answer.json()["error"]["data"]["supported"] == ALL


@pytest.mark.parametrize("header", [*HANDSHAKE, None])
def test_a_call_without_a_session_is_served_by_itself(wire: Wire, header: str | None) -> None:
    answer = wire.request("tools/list", MCP_Protocol_Version=header)
    assert len(answer.json()["result"]["tools"]) == 3


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_a_session_that_is_not_here_is_not_found(wire: Wire, method: str) -> None:
    body = b"" if method != "POST" else {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert wire.send(body, method=method, Mcp_Session_Id="gone").status_code == 404


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_get_and_delete_need_a_session(wire: Wire, method: str) -> None:
    assert wire.send(b"", method=method).status_code == 400


def test_get_needs_a_client_that_takes_events(wire: Wire) -> None:
    assert wire.send(b"", method="GET", Accept="application/json", Mcp_Session_Id="x").status_code == 406
    assert wire.send(b"", method="GET", Accept="*/*").status_code == 400


def test_an_error_of_a_handshake_revision_is_a_plain_answer(wire: Wire) -> None:
    answer = wire.request("no/such/method")
    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == -32601


def test_every_handshake_revision_gets_the_same_result_as_structure_and_as_text(wire: Wire) -> None:
    for revision in HANDSHAKE:
        params = {"name": "memory_list_projects", "arguments": {}}
        result = wire.request("tools/call", params, MCP_Protocol_Version=revision).json()["result"]
        assert set(result) == {"content", "structuredContent", "isError"}
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


class TestStateless:
    """2026-07-28, without handshake and session (G12)."""

    def test_discovery_lists_all_four_and_what_is_there(self, wire: Wire) -> None:
        result = wire.modern("server/discover").json()["result"]
        assert result["supportedVersions"] == ALL
        assert result["capabilities"] == CAPABILITIES
        assert result["instructions"]

    def test_a_tool_is_called(self, wire: Wire, agent: Agent) -> None:
        answer = wire.modern("tools/call", {"name": "memory_list_projects", "arguments": {}})
        assert answer.status_code == 200
        result = answer.json()["result"]
        assert result["structuredContent"]["projects"][0]["id"] == agent.project_id
        assert result["resultType"] == "complete"

    def test_a_session_id_means_nothing(self, wire: Wire) -> None:
        assert wire.modern("tools/list", Mcp_Session_Id="whatever").status_code == 200

    def test_answers_that_could_be_kept_say_that_they_are_private_and_stale(self, wire: Wire, agent: Agent) -> None:
        uri = f"memory://projects/{agent.project_id}/notes"
        for method, params in (
            ("tools/list", {}),
            ("resources/list", {}),
            ("resources/templates/list", {}),
            ("resources/read", {"uri": uri}),
            ("server/discover", {}),
        ):
            result = wire.modern(method, params).json()["result"]
            assert (result["ttlMs"], result["cacheScope"]) == (0, "private"), method

    @pytest.mark.parametrize(
        "headers",
        [
            {"MCP_Protocol_Version": None},
            {"MCP_Protocol_Version": "2025-11-25"},
            {"Mcp_Method": None},
            {"Mcp_Method": "tools/list"},
            {"Mcp_Name": None},
            {"Mcp_Name": "memory_read"},
        ],
    )
    def test_headers_must_mirror_the_body(self, wire: Wire, headers: dict[str, Any]) -> None:
        answer = wire.modern("tools/call", {"name": "memory_list_projects", "arguments": {}}, **headers)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == -32020

    @pytest.mark.parametrize("revision", ["2027-01-01", "nonsense"])
    def test_an_unknown_revision_is_told_all_four(self, wire: Wire, revision: str) -> None:
        meta = {**META, "io.modelcontextprotocol/protocolVersion": revision}
        answer = wire.modern("tools/list", meta=meta, MCP_Protocol_Version=revision)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": ALL, "requested": revision}

    @pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
    def test_a_missing_key_of_the_envelope_is_named(self, wire: Wire, missing: str) -> None:
        meta = {key: value for key, value in META.items() if not key.endswith(missing)}
        answer = wire.modern("tools/list", meta=meta)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == -32602
        assert missing in answer.json()["error"]["message"]

    def test_an_unknown_method_is_not_found(self, wire: Wire) -> None:
        for method in ("no/such/method", "ping", "resources/subscribe", "logging/setLevel"):
            answer = wire.modern(method)
            assert answer.status_code == 404, method
            assert answer.json()["error"]["code"] == -32601

    def test_an_unknown_tool_and_an_unknown_resource_are_invalid_parameters(self, wire: Wire) -> None:
        for method, params in (
            ("tools/call", {"name": "no_such_tool", "arguments": {}}),
            ("resources/read", {"uri": "memory://projects/x/notes"}),
        ):
            answer = wire.modern(method, params)
            assert answer.status_code == 400
            assert answer.json()["error"]["code"] == -32602

    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    def test_there_is_no_get_and_no_delete(self, wire: Wire, method: str) -> None:
        answer = wire.send(b"", method=method, MCP_Protocol_Version="2026-07-28", Mcp_Session_Id="x")
        assert answer.status_code == 405

    def test_a_posted_response_is_refused_and_a_notification_accepted(self, wire: Wire) -> None:
        response = {"jsonrpc": "2.0", "id": 1, "result": {}}
        notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert wire.send(response, MCP_Protocol_Version="2026-07-28").status_code == 400
        assert wire.send(notification, MCP_Protocol_Version="2026-07-28").status_code == 202
