"""Clients that name themselves by a document: fetched only where it is on, and never from inside (O3)."""

from typing import Any

import pytest
from oauth2_provider import cimd
from oauth2_provider.settings import oauth2_settings

from mcp_gateway.authorization.documents import DocumentFetcher, as_served
from mcp_gateway.authorization.metadata import server_metadata
from mcp_gateway.authorization.models import Application
from memford.env import Env
from tests.live import LiveServer, live_server
from tests.oauth import Browser, OAuthClient, send

URL = "https://client.example/metadata.json"
DOCUMENT: dict[str, Any] = {
    "client_id": URL,
    "client_name": "Document \u202eclient",
    "redirect_uris": ["http://127.0.0.1/callback", "cursor://here/cb"],
    "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
    "token_endpoint_auth_method": "none",
}


def test_what_is_ours_of_a_document_is_taken() -> None:
    served = as_served(DOCUMENT)
    assert served["grant_types"] == ["authorization_code", "refresh_token"]
    assert served["client_name"] == "Document client"


@pytest.mark.parametrize(
    "changes",
    [
        {"grant_types": ["client_credentials"]},
        {"grant_types": "authorization_code"},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["http://127.0.0.1/cb", "http://evil.example/cb"]},
        {"redirect_uris": "https://client.example/cb"},
        {"redirect_uris": [7]},
    ],
)
def test_what_could_not_be_served_is_no_client(changes: dict[str, Any]) -> None:
    with pytest.raises(cimd.CIMDError):
        as_served({**DOCUMENT, **changes})


@pytest.mark.parametrize(
    "address",
    [
        "http://client.example/metadata.json",
        "https://localhost/metadata.json",
        "https://127.0.0.1/metadata.json",
        "https://[::1]/metadata.json",
        "https://10.0.0.1/metadata.json",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::ffff:127.0.0.1]/metadata.json",
        "https://user:word@client.example/metadata.json",
        "https://client.example/a/../b",
    ],
)
def test_no_address_from_inside_is_fetched(address: str) -> None:
    with pytest.raises(cimd.CIMDError):
        DocumentFetcher().fetch(address)


@pytest.mark.parametrize(
    ("public_url", "cimd_", "on"),
    [
        ("http://localhost:8000", None, False),
        ("http://localhost:8000", "on", True),
        ("https://memford.example.com", None, True),
        ("https://memford.example.com", "off", False),
    ],
)
def test_it_is_off_by_default_where_the_public_url_is_loopback(public_url: str, cimd_: Any, on: bool) -> None:
    environment = Env.model_construct(public_url=public_url, cimd=cimd_)
    assert environment.has_client_documents is on


def test_only_what_works_is_advertised(server: LiveServer) -> None:
    assert "client_id_metadata_document_supported" not in server_metadata()
    with live_server(MEMFORD_CIMD="on") as other:
        answer = send("GET", f"{other.url}/.well-known/oauth-authorization-server")
        assert answer.json()["client_id_metadata_document_supported"] is True
        # Nobody can be reached there; that is an unknown client and no failure of ours.
        client = OAuthClient(other.url)
        page = Browser(other.url).get(client.ask(client_id="https://127.0.0.1/metadata.json"))
        assert page.status_code == 400
        assert "not known here" in page.text
    assert Browser(server.url).get(OAuthClient(server.url).ask(client_id=URL)).status_code == 400


def test_a_document_becomes_a_public_client(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "https://client.example/one.json"
    document = as_served({**DOCUMENT, "client_id": address})
    monkeypatch.setattr(DocumentFetcher, "fetch", lambda self, client_id: (document, 300))
    monkeypatch.setattr(oauth2_settings, "CIMD_ENABLED", True, raising=False)
    client = cimd.resolve_cimd_application(address, request=None)
    assert isinstance(client, Application)
    assert client.client_type == "public"
    assert client.name == "Document client"
    assert client.redirect_uri_allowed("http://127.0.0.1:55555/callback")
    assert not client.redirect_uri_allowed("http://127.0.0.1:55555/other")
    Application.objects.filter(pk=client.pk).delete()
