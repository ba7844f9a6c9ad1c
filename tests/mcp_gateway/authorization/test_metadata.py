"""What clients discover, byte for byte, at every address they look (O1, O2, G6)."""

import pytest

from tests.live import LiveServer
from tests.oauth import send

SERVER_PATHS = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/mcp",
]
RESOURCE_PATHS = ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]
ENDPOINTS = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "registration_endpoint": "/register"}
FORGED = {"Host": "localhost", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Forwarded": "host=x"}


@pytest.mark.parametrize("path", SERVER_PATHS)
def test_the_servers_metadata_say_what_works(server: LiveServer, path: str) -> None:
    answer = send("GET", f"{server.url}{path}", headers=FORGED)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "max-age" in answer.headers["cache-control"]
    assert answer.json() == {
        "issuer": server.url,
        "authorization_endpoint": f"{server.url}/authorize",
        "token_endpoint": f"{server.url}/token",
        "registration_endpoint": f"{server.url}/register",
        "revocation_endpoint": f"{server.url}/revoke",
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
        "revocation_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": ["memory:read", "memory:write"],
        "authorization_response_iss_parameter_supported": True,
        "protected_resources": [f"{server.url}/mcp"],
        "service_documentation": f"{server.url}/docs",
    }


@pytest.mark.parametrize("path", RESOURCE_PATHS)
def test_the_resources_metadata_name_the_issuer_byte_for_byte(server: LiveServer, path: str) -> None:
    answer = send("GET", f"{server.url}{path}", headers=FORGED)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.json() == {
        "resource": f"{server.url}/mcp",
        "authorization_servers": [server.url],
        "scopes_supported": ["memory:read", "memory:write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Memford",
        "resource_documentation": f"{server.url}/docs",
    }


def test_a_client_that_was_given_the_slash_finds_it_again(server: LiveServer) -> None:
    challenge = send("POST", f"{server.url}/mcp/", json={}).headers["www-authenticate"]
    address = challenge.split('resource_metadata="')[1].split('"')[0]
    assert address == f"{server.url}/.well-known/oauth-protected-resource/mcp/"
    assert send("GET", address).json()["resource"] == f"{server.url}/mcp/"


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/",
        "/.well-known/jwks.json",
        "/.well-known/oauth-authorization-server/elsewhere",
        "/.well-known/oauth-protected-resource/other",
        "/.well-known/mcp/server-card.json",
        "/mcp/.well-known/openid-configuration",
        "/mcp/.well-known/oauth-authorization-server",
        "/.well-known/%00%ff",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_everything_else_well_known_is_a_json_404(server: LiveServer, path: str, method: str) -> None:
    answer = send(method, f"{server.url}{path}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"] == "not_found"


@pytest.mark.parametrize("path", ["/token", "/register", "/revoke"])
def test_pages_of_any_origin_may_call_and_no_cookie_is_taken(server: LiveServer, path: str) -> None:
    headers = {
        "Origin": "https://any.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, authorization",
    }
    preflight = send("OPTIONS", f"{server.url}{path}", headers=headers)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "Authorization" in preflight.headers["access-control-allow-headers"]
    answer = send("POST", f"{server.url}{path}", headers={"Origin": "https://any.example"})
    assert answer.status_code in {400, 401}
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/token", "/register", "/revoke"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_another_method_is_refused_in_json(server: LiveServer, path: str, method: str) -> None:
    answer = send(method, f"{server.url}{path}")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST, OPTIONS"
    assert answer.json()["error"] == "method_not_allowed"


def test_the_documentation_that_is_named_is_there(server: LiveServer) -> None:
    page = send("GET", f"{server.url}/docs")
    assert page.status_code == 200
    assert f"{server.url}/mcp" in page.text
