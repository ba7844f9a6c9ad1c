"""Who may call the endpoint, by which name, from which page, with how much, and with which credential."""

import http.client
import json
import re
import socket
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Owner
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import revoke_connection
from memford.core.secrets import new_secret
from projects.services import delete_project
from tests.cast import Agent, Person
from tests.live import LiveServer
from tests.wire import Wire

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LISTED = "https://claude.ai"
CHALLENGE = re.compile(r'^Bearer resource_metadata="(?P<metadata>[^"]+)", scope="memory:read memory:write"')


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_both_forms_of_the_address_answer_without_a_redirect(server: LiveServer, agent: Agent, path: str) -> None:
    with Wire(server.url, agent.key, path) as wire:
        assert wire.send(PING).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "TRACE", "PROPFIND"])
def test_another_method_is_refused_at_once_without_a_credential(server: LiveServer, method: str) -> None:
    with Wire(server.url, None) as wire:
        answer = wire.send(b"", method=method)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST, GET, DELETE, OPTIONS"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "evil.example:8000", "", "[::2]:80"])
def test_a_host_that_is_not_configured_is_misdirected(wire: Wire, host: str) -> None:
    answer = wire.send(PING, Host=host)
    assert answer.status_code in {400, 421} if not host else answer.status_code == 421


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8000", "LOCALHOST"])
def test_every_loopback_name_is_a_host_of_a_loopback_service(wire: Wire, host: str) -> None:
    assert wire.send(PING, Host=host).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://claude.ai", "https://claude.ai.evil.example", "https://claude.ai/", ""],
)
def test_a_page_of_an_origin_that_is_not_listed_is_refused_before_its_credential(wire: Wire, origin: str) -> None:
    answer = wire.send(PING, Origin=origin)
    assert answer.status_code == 403
    assert answer.json()["error"] == "origin_not_allowed"
    assert "access-control-allow-origin" not in answer.headers
    assert wire.send(b"", method="OPTIONS", Origin=origin).status_code == 403


@pytest.mark.parametrize(
    "origin",
    [
        LISTED,
        "https://claude.com",
        "https://chatgpt.com",
        "https://vscode.dev",
        "http://localhost:6274",
        "http://[::1]:5",
    ],
)
def test_a_listed_page_may_call_and_read_the_answer(wire: Wire, origin: str) -> None:
    answer = wire.send(PING, Origin=origin)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    exposed = {name.strip() for name in answer.headers["access-control-expose-headers"].split(",")}
    assert exposed == {"Mcp-Session-Id", "WWW-Authenticate", "Retry-After"}


def test_a_listed_page_can_read_a_refusal_too(server: LiveServer) -> None:
    with Wire(server.url, None) as wire:
        answer = wire.send(PING, Origin=LISTED)
    assert answer.status_code == 401
    assert answer.headers["access-control-allow-origin"] == LISTED


def test_preflight_needs_no_credential_and_allows_what_clients_send(server: LiveServer) -> None:
    with Wire(server.url, None) as wire:
        answer = wire.send(b"", method="OPTIONS", Origin=LISTED)
    assert answer.status_code == 204
    assert answer.content == b""
    assert {name.strip() for name in answer.headers["access-control-allow-headers"].split(",")} == {
        "Authorization",
        "Content-Type",
        "Accept",
        "MCP-Protocol-Version",
        "Mcp-Session-Id",
        "Mcp-Method",
        "Mcp-Name",
        "Last-Event-ID",
    }
    assert answer.headers["access-control-allow-methods"] == "POST, GET, DELETE"


def test_forged_forwarding_headers_change_nothing_that_is_printed(server: LiveServer) -> None:
    forged = {"X_Forwarded_Host": "evil.example", "X_Forwarded_Proto": "https", "Forwarded": "host=evil.example"}
    with Wire(server.url, None) as wire:
        answer = wire.send(PING, Host="127.0.0.1", **forged)
    challenge = CHALLENGE.match(answer.headers["www-authenticate"])
    assert challenge is not None
    assert challenge["metadata"] == f"{server.url}/.well-known/oauth-protected-resource/mcp"


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_the_challenge_points_to_the_metadata_of_the_form_that_was_called(server: LiveServer, path: str) -> None:
    with Wire(server.url, None, path) as wire:
        header = wire.send(PING).headers["www-authenticate"]
    challenge = CHALLENGE.match(header)
    assert challenge is not None
    assert challenge["metadata"] == f"{server.url}/.well-known/oauth-protected-resource{path}"
    assert "error=" not in header


BAD_HEADERS = [
    "Basic dXNlcjpwYXNz",
    "Bearer",
    "Bearer ",
    "Bearer a b",
    "Bearer mfk_unknown",
    "Bearer mfa_unknown",
    "Bearer mfk_" + "x" * 5000,
    "mfk_unknown",
    "Bearer \x80\xff",
]


@pytest.mark.parametrize("value", BAD_HEADERS)
def test_a_bad_credential_is_told_so(server: LiveServer, value: str) -> None:
    status, headers, body = raw_post(server, [("Authorization", value.encode("latin-1"))], json.dumps(PING).encode())
    assert status == 401
    assert 'error="invalid_token"' in headers["www-authenticate"]
    assert CHALLENGE.match(headers["www-authenticate"])
    assert json.loads(body)["error"] == "invalid_token"


def test_two_credentials_are_one_too_many(server: LiveServer, agent: Agent) -> None:
    value = f"Bearer {agent.key}".encode()
    status, _, _ = raw_post(server, [("Authorization", value)] * 2, json.dumps(PING).encode())
    assert status == 401


def test_a_key_in_the_address_or_in_the_body_is_no_credential(server: LiveServer, agent: Agent) -> None:
    with Wire(server.url, None, f"/mcp?access_token={agent.key}&key={agent.key}") as wire:
        assert wire.send({**PING, "access_token": agent.key}).status_code == 401


def test_the_scheme_is_read_in_any_case(wire: Wire, agent: Agent) -> None:
    assert wire.send(PING, Authorization=f"bearer {agent.key}").status_code == 200


def test_a_revoked_key_fails_on_the_next_call(wire: Wire, agent: Agent, owner: Person) -> None:
    assert wire.send(PING).status_code == 200
    revoke_connection(owner_id=owner.id, connection_id=agent.connection.pk, actor=owner.hand)
    assert wire.send(PING).status_code == 401


def test_an_expired_key_fails(wire: Wire, agent: Agent) -> None:
    Connection.objects.filter(pk=agent.connection.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert wire.send(PING).status_code == 401


def test_deleting_the_project_ends_its_keys(wire: Wire, owner: Person) -> None:
    delete_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand)
    assert wire.send(PING).status_code == 401


def test_a_deactivated_owner_has_no_agents(wire: Wire, owner: Person) -> None:
    Owner.objects.filter(pk=owner.id).update(is_active=False)
    assert wire.send(PING).status_code == 401


def test_a_key_that_was_never_issued_is_refused(server: LiveServer) -> None:
    with Wire(server.url, new_secret("mfk_")) as wire:
        assert wire.send(PING).status_code == 401


def test_a_reading_connection_may_not_write_and_hears_both_scopes(server: LiveServer, owner: Person) -> None:
    reader = owner.new_agent(access="read_only")
    arguments = {"project_id": reader.project_id, "content": "no"}
    with Wire(server.url, reader.key) as wire:
        answer = wire.request("tools/call", {"name": "memory_write", "arguments": arguments})
        assert wire.call("memory_read", {"project_id": reader.project_id}).ok["notes"] == []
    assert answer.status_code == 403
    challenge = answer.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="memory:read memory:write"' in challenge


def test_the_largest_body_is_served_and_one_byte_more_is_not(wire: Wire) -> None:
    def padded(size: int) -> bytes:
        start = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"'
        end = b'"}}}'
        return start + b"x" * (size - len(start) - len(end)) + end

    assert wire.send(padded(65_536)).status_code == 200
    answer = wire.send(padded(65_537))
    assert answer.status_code == 413
    assert answer.json()["error"] == "request_too_large"


def test_a_chunked_body_counts_as_it_arrives_and_nothing_of_it_is_stored(
    server: LiveServer, wire: Wire, agent: Agent
) -> None:
    arguments = {"project_id": agent.project_id, "content": "x" * 10_000}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_write", "arguments": arguments},
    }
    body = json.dumps(call).encode() + b" " * 65_536
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:40_000], body[40_000:])) + b"0\r\n\r\n"
    headers = [("Authorization", f"Bearer {agent.key}".encode()), ("Transfer-Encoding", b"chunked")]
    status, answered, _ = raw_post(server, headers, chunks, framed=False)
    assert status == 413
    assert answered["connection"] == "close"
    assert wire.call("memory_read", {"project_id": agent.project_id}).ok["notes"] == []


def test_a_client_that_sends_far_too_much_still_hears_the_answer(server: LiveServer, agent: Agent) -> None:
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10) as connection:
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {agent.key}\r\nContent-Length: 900000\r\n\r\n"
        connection.sendall(head.encode() + b"x" * 900_000)
        answer = connection.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_size_is_refused_before_the_credential_is_looked_at(server: LiveServer) -> None:
    with Wire(server.url, None) as wire:
        assert wire.send(b" " * 70_000).status_code == 413


def test_a_credential_is_asked_before_the_body_is_read_as_json(server: LiveServer) -> None:
    with Wire(server.url, None) as wire:
        assert wire.send(b"{nonsense").status_code == 401


def test_answers_are_never_kept_by_a_cache(wire: Wire) -> None:
    assert wire.send(PING).headers["cache-control"] == "no-store"


def raw_post(
    server: LiveServer, headers: list[tuple[str, bytes]], body: bytes, *, framed: bool = True
) -> tuple[int, dict[str, str], bytes]:
    """Post with exactly these header lines, doubled ones too."""
    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=10)
    try:
        connection.putrequest("POST", "/mcp", skip_host=True)
        connection.putheader("Host", "localhost")
        connection.putheader("Content-Type", "application/json")
        if framed:
            connection.putheader("Content-Length", str(len(body)))
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()
