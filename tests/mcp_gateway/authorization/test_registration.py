"""Registration is open, says what was registered, and takes no address that a browser must not go to (O3, RFC 7591)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_gateway.authorization.clients import client_name
from mcp_gateway.authorization.models import Application
from mcp_gateway.authorization.redirects import is_registered, origin_of, problem_of
from memford.core.secrets import digest
from tests.live import LiveServer
from tests.oauth import OAuthClient, send

GOOD = [
    "https://claude.ai/api/mcp/auth_callback",
    "https://example.com:8443/cb?x=1",
    "http://127.0.0.1/callback",
    "http://127.0.0.1:33418/",
    "http://localhost:6274/oauth/callback/debug",
    "http://[::1]:8080/cb",
    "cursor://anysphere.cursor-retrieval/oauth/user-x/callback",
    "com.example.app:/oauth",
    "vscode://vscode.github-authentication/did-authenticate",
]
BAD: list[Any] = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "vbscript:x",
    "blob:https://example.com/x",
    "about:blank",
    "ws://127.0.0.1/",
    "wss://example.com/",
    "ftp://example.com/",
    "http://example.com/cb",
    "http://127.0.0.1.evil.example/cb",
    "http://127.0.0.2/cb",
    "http://localhost@evil.example/cb",
    "https://user:word@example.com/cb",
    "https://example.com/cb#fragment",
    "https://example.com/cb#",
    "https:///cb",
    "https://x.example;script-src",
    "https://*/cb",
    "https://'unsafe-inline'/",
    "https://claude.ai%E3%80%82evil.example/cb",
    "https://[::1;x]/cb",
    "https://example.com:99999/cb",
    "https://exa mple.com/cb",
    "https://example.com/c\nb",
    "https://example.com/\0",
    "https://example.com/é",
    "/callback",
    "callback",
    "",
    "cursor:",
    f"https://example.com/{'x' * 2_000}",
    None,
    7,
    ["https://example.com"],
]


def register(server: LiveServer, metadata: Any) -> Any:
    """Send metadata as they are."""
    return send("POST", f"{server.url}/register", json=metadata)


def test_the_answer_echoes_what_was_registered(server: LiveServer) -> None:
    answer = register(
        server,
        {
            "redirect_uris": GOOD,
            "client_name": "An agent",
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token", "implicit", "urn:x"],
            "response_types": ["code", "token"],
            "scope": "memory:read openid offline_access",
            "application_type": "web",
            "software_id": "unknown metadata",
            "jwks": {"keys": []},
        },
    )
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    stored = Application.objects.get(client_id=body.pop("client_id"))
    assert isinstance(body.pop("client_id_issued_at"), int)
    assert body == {
        "redirect_uris": GOOD,
        "client_name": "An agent",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": "memory:read memory:write",
        "application_type": "web",
    }
    assert stored.redirect_uris.split() == GOOD
    assert stored.client_type == "public"


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic", None])
def test_a_confidential_client_gets_a_secret_that_is_kept_as_a_digest(server: LiveServer, method: str | None) -> None:
    metadata = {"redirect_uris": GOOD[:1]} | ({"token_endpoint_auth_method": method} if method else {})
    body = register(server, metadata).json()
    assert body["token_endpoint_auth_method"] == method or "client_secret_basic"
    assert body["client_secret_expires_at"] == 0
    assert len(body["client_secret"]) >= 43
    stored = Application.objects.get(client_id=body["client_id"])
    assert stored.client_secret == digest(body["client_secret"])


@pytest.mark.parametrize("uri", BAD)
def test_an_address_that_no_browser_may_go_to_is_refused(server: LiveServer, uri: Any) -> None:
    answer = register(server, {"redirect_uris": [GOOD[0], uri]})
    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_redirect_uri"
    assert answer.json()["error_description"].startswith("redirect_uris[1]")


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": "https://example.com/cb"}, "invalid_redirect_uri"),
        ({"redirect_uris": [f"https://example.com/{n}" for n in range(51)]}, "invalid_redirect_uri"),
        ({"redirect_uris": GOOD, "grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({"redirect_uris": GOOD, "grant_types": "authorization_code"}, "invalid_client_metadata"),
        ({"redirect_uris": GOOD, "response_types": ["token"]}, "invalid_client_metadata"),
        ({"redirect_uris": GOOD, "token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        ({"redirect_uris": GOOD, "token_endpoint_auth_method": ["none"]}, "invalid_client_metadata"),
        ([], "invalid_client_metadata"),
        ("text", "invalid_client_metadata"),
        (None, "invalid_client_metadata"),
    ],
)
def test_what_cannot_be_served_is_refused_by_name(server: LiveServer, metadata: Any, error: str) -> None:
    answer = register(server, metadata)
    assert answer.status_code == 400
    assert answer.json()["error"] == error


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"NaN", b'{"redirect_uris": NaN}', b"[" * 60_000, b"\0"])
def test_what_is_no_json_is_refused(server: LiveServer, body: bytes) -> None:
    answer = send("POST", f"{server.url}/register", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_client_metadata"


def test_too_much_is_refused(server: LiveServer) -> None:
    answer = register(server, {"redirect_uris": GOOD, "logo_uri": "x" * 70_000})
    assert answer.status_code == 413
    assert answer.json()["error"] == "invalid_request"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
NAMES = ["client_name", "grant_types", "response_types", "token_endpoint_auth_method", "application_type", "scope"]


@settings(max_examples=60, deadline=None)
@given(metadata=st.dictionaries(st.sampled_from(NAMES), json_values), uris=json_values | st.just(GOOD))
def test_no_metadata_are_our_failure(server: LiveServer, metadata: dict[str, Any], uris: Any) -> None:
    assert register(server, {**metadata, "redirect_uris": uris}).status_code in {201, 400}


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("  Claude \n Code ", "Claude Code"),
        ("safe\u202egnp.exe", "safe gnp.exe"),
        ("<b>bold</b>", "<b>bold</b>"),
        ("x" * 500, "x" * 120),
        ("\0", ""),
        (7, ""),
        (None, ""),
    ],
)
def test_a_name_is_made_fit_to_be_shown(raw: Any, shown: str) -> None:
    assert client_name(raw) == shown


@pytest.mark.parametrize(
    ("asked", "matches"),
    [
        ("http://127.0.0.1:50000/cb", True),
        ("http://127.0.0.1/cb", True),
        ("http://localhost:50000/cb", False),
        ("http://[::1]:50000/cb", False),
        ("http://127.0.0.1:50000/cb/", False),
        ("http://127.0.0.1:50000/cb?x=1", False),
        ("http://127.0.0.1:50000/CB", False),
        ("http://127.0.0.1:x/cb", False),
        ("http://evil@127.0.0.1:50000/cb", False),
        ("https://127.0.0.1:50000/cb", False),
        ("https://app.example/cb", True),
        ("https://app.example:443/cb", False),
        ("https://app.example:8443/cb", False),
        ("https://APP.example/cb", False),
        ("https://app.example/cb/../cb", False),
        ("app.example:/cb", True),
        ("app.example:/cb2", False),
    ],
)
def test_matching_is_exact_but_for_the_port_of_a_loopback_address(asked: str, matches: bool) -> None:
    assert is_registered(asked, ["http://127.0.0.1:1234/cb", "https://app.example/cb", "app.example:/cb"]) is matches


@given(st.text(max_size=60))
def test_any_text_is_judged_and_never_stumbled_over(uri: str) -> None:
    assert problem_of(uri) is None or not is_registered(uri, GOOD)


@pytest.mark.parametrize(
    ("uri", "origin"),
    [
        ("http://127.0.0.1:50000/cb", "http://127.0.0.1:50000"),
        ("https://app.example/cb?x", "https://app.example"),
        ("cursor://a/b", "cursor:"),
        ("http://[::1]:8080/cb", "http:"),
    ],
)
def test_a_policy_names_the_place_that_was_validated(uri: str, origin: str) -> None:
    assert origin_of(uri) == origin


def test_a_loopback_client_may_come_back_on_another_port(client: OAuthClient, owner: Any) -> None:
    moved = client.redirect_uri.replace("49152", "50999")
    code = client.code(owner, redirect_uri=moved)
    assert client.exchange(code).json()["error"] == "invalid_grant"
    assert client.exchange(code, redirect_uri=moved).status_code == 200
