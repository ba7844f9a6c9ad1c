"""Exchanging a code, and who may (O2, O4, O6, O9)."""

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_gateway.authorization.models import AccessToken, Application, Grant, RefreshToken
from mcp_gateway.connections.models import Connection
from memford.core.secrets import digest
from tests.cast import Person
from tests.live import LiveServer
from tests.oauth import OAuthClient, new_verifier, send
from tests.wire import Wire


def test_a_code_gives_a_pair_that_no_cache_keeps(client: OAuthClient, owner: Person) -> None:
    answer = client.exchange(client.code(owner))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"].startswith("application/json")
    tokens = answer.json()
    assert tokens["access_token"].startswith("mfa_")
    assert tokens["refresh_token"].startswith("mfr_")
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 3_600)
    assert tokens["scope"] == "memory:read memory:write"


def test_the_database_holds_digests_alone(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    tokens = client.exchange(code).json()
    tokens |= {f"refreshed {name}": value for name, value in client.refresh(tokens["refresh_token"]).json().items()}
    secrets = [code, *(value for name, value in tokens.items() if name.endswith("token"))]
    assert len(secrets) == 5
    with connection.cursor() as cursor:
        for model in (Application, Grant, AccessToken, RefreshToken, Connection):
            cursor.execute(f"SELECT t::text FROM {model._meta.db_table} t")
            rows = "\n".join(row[0] for row in cursor.fetchall())
            for secret in secrets:
                assert secret not in rows
    assert AccessToken.objects.filter(token_checksum=digest(tokens["access_token"])).exists()


def test_an_agent_works_with_its_token_and_is_told_apart(
    client: OAuthClient, owner: Person, server: LiveServer
) -> None:
    tokens = client.connect(owner)
    with Wire(server.url, tokens["access_token"]) as wire:
        written = wire.call("memory_write", {"project_id": str(owner.project.pk), "content": "by OAuth"})
        writer = written.result["structuredContent"]["note"]["writer"]
    assert writer["kind"] == "oauth"
    assert writer["id"] == str(client.connection.pk)
    assert writer["name"] == "Test client"


def test_a_reading_connection_may_not_write(client: OAuthClient, owner: Person, server: LiveServer) -> None:
    tokens = client.connect(owner, access="read_only")
    assert tokens["scope"] == "memory:read"
    with Wire(server.url, tokens["access_token"]) as wire:
        assert wire.call("memory_read", {"project_id": str(owner.project.pk)}).ok
        params = {"name": "memory_write", "arguments": {"project_id": str(owner.project.pk), "content": "x"}}
        answer = wire.request("tools/call", params)
    assert answer.status_code == 403
    assert 'scope="memory:read memory:write"' in answer.headers["www-authenticate"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": None}, "invalid_request"),
        ({"code_verifier": "x" * 43}, "invalid_grant"),
        ({"code_verifier": "x"}, "invalid_grant"),
        ({"code_verifier": "é" * 50}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:1/other"}, "invalid_grant"),
        ({"code": "unknown"}, "invalid_grant"),
        ({"code": "\0"}, "invalid_grant"),
        ({"code": None}, "invalid_request"),
        ({"resource": "https://other.example"}, "invalid_target"),
    ],
)
def test_what_is_not_right_with_a_code_is_refused_and_uses_nothing_up(
    client: OAuthClient, owner: Person, changes: dict[str, str | None], error: str
) -> None:
    code = client.code(owner)
    answer = client.exchange(**{"code": code, **changes})  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert answer.json()["error"] == error
    assert client.exchange(code).status_code == 200


def test_the_redirect_uri_may_be_left_out_as_in_oauth_2_1(client: OAuthClient, owner: Person) -> None:
    assert client.exchange(client.code(owner), redirect_uri=None).status_code == 200


def test_a_code_ends_after_a_minute(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    grant = Grant.objects.get(code=digest(code))
    assert timedelta(seconds=50) < grant.expires - timezone.now() <= timedelta(seconds=60)
    Grant.objects.filter(pk=grant.pk).update(expires=timezone.now() - timedelta(seconds=1))
    assert client.exchange(code).json()["error"] == "invalid_grant"
    assert client.connection.revoked_at is None


def test_a_code_is_anothers_to_nobody(client: OAuthClient, owner: Person, server: LiveServer) -> None:
    code = client.code(owner)
    thief = OAuthClient(server.url)
    thief.verifier = client.verifier
    assert thief.exchange(code).json()["error"] == "invalid_grant"
    assert client.exchange(code).status_code == 200


def test_of_parallel_exchanges_one_at_most_is_served_and_the_replay_ends_it(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: client.exchange(code), range(8)))
    served = [answer for answer in answers if answer.status_code == 200]
    assert len(served) == 1
    assert {answer.json()["error"] for answer in answers if answer.status_code != 200} == {"invalid_grant"}
    assert AccessToken.objects.filter(connection=client.connection).count() == 1
    assert client.connection.revoked_reason == "code_replayed"
    assert not client.works(served[0].json()["access_token"])


class TestClients:
    """Who a client is, and how it shows it (O3, RFC 6749 2.3)."""

    @pytest.mark.parametrize("call", ["token", "revoke"])
    def test_an_unknown_client_is_told_so(self, server: LiveServer, call: str) -> None:
        for client_id in ("unknown", "", "\0", None):
            fields = {"grant_type": "refresh_token", "refresh_token": "x", "token": "x", "client_id": client_id}
            answer = send("POST", f"{server.url}/{call}", data={n: v for n, v in fields.items() if v is not None})
            assert answer.status_code == 401
            assert answer.json()["error"] == "invalid_client"
            assert answer.headers["www-authenticate"].startswith("Basic ")

    def test_a_forgotten_client_is_told_so(self, client: OAuthClient, owner: Person) -> None:
        tokens = client.connect(owner)
        AccessToken.objects.filter(application__client_id=client.id).delete()
        RefreshToken.objects.filter(application__client_id=client.id).delete()
        Application.objects.filter(client_id=client.id).delete()
        answer = client.refresh(tokens["refresh_token"])
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")

    @pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
    def test_a_confidential_client_authenticates_in_either_way(
        self, server: LiveServer, owner: Person, method: str
    ) -> None:
        client = OAuthClient(server.url, metadata={"token_endpoint_auth_method": method})
        secret = client.registered["client_secret"]
        code = client.code(owner)
        for refused in (
            client.exchange(code),
            client.exchange(code, client_secret="wrong"),
            _basic(client, "wrong")(code),
        ):
            assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
        if method == "client_secret_post":
            answer = client.exchange(code, client_secret=secret)
        else:
            answer = _basic(client, secret)(code)
        assert answer.status_code == 200
        refresh_token = answer.json()["refresh_token"]
        assert client.refresh(refresh_token).status_code == 401
        assert client.refresh(refresh_token, client_secret=secret).status_code == 200

    @pytest.mark.parametrize(
        "header", ["Basic", "Basic ?", "Basic eA==", "Basic /w==", "Bearer x", "Basic " + "x" * 999]
    )
    def test_no_header_is_our_failure(self, client: OAuthClient, header: str) -> None:
        fields = {"grant_type": "refresh_token", "refresh_token": "x"}
        answer = send("POST", f"{client.url}/token", data=fields, headers={"Authorization": header})
        assert answer.status_code == 401
        assert answer.json()["error"] == "invalid_client"


def _basic(client: OAuthClient, secret: str) -> Callable[[str], httpx2.Response]:
    pair = base64.b64encode(f"{quote(client.id)}:{quote(secret)}".encode()).decode()

    def exchange(code: str) -> httpx2.Response:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": client.verifier,
            "redirect_uri": client.redirect_uri,
        }
        return send("POST", f"{client.url}/token", data=fields, headers={"Authorization": f"Basic {pair}"})

    return exchange


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "application/x-www-form-urlencoded"),
        (b"grant_type=password&username=a&password=b", "application/x-www-form-urlencoded"),
        (b"grant_type=client_credentials", "application/x-www-form-urlencoded"),
        (b"grant_type=%zz&%ff=%fe", "application/x-www-form-urlencoded"),
        (b"grant_type=urn:ietf:params:oauth:grant-type:device_code", "application/x-www-form-urlencoded"),
        (b'{"grant_type": "refresh_token"}', "application/json"),
        (b"--x", "multipart/form-data; boundary=x"),
        (b"--x", "multipart/form-data"),
        (b"grant_type=refresh_token", "application/x-www-form-urlencoded; charset=utf-16"),
        (b"grant_type=refresh_token", "application/x-www-form-urlencoded; charset=nonsense"),
        (b"&".join(b"a%d=1" % n for n in range(2_000)), "application/x-www-form-urlencoded"),
    ],
)
@pytest.mark.parametrize("path", ["/token", "/revoke"])
def test_what_cannot_be_read_is_refused_in_json(server: LiveServer, path: str, content: bytes, kind: str) -> None:
    answer = send("POST", f"{server.url}{path}", content=content, headers={"Content-Type": kind})
    assert answer.status_code in {400, 401}
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()["error"] in {
        "invalid_request",
        "unsupported_grant_type",
        "invalid_client",
    }


def test_too_much_is_refused_in_json(server: LiveServer) -> None:
    answer = send("POST", f"{server.url}/token", data={"grant_type": "x" * 70_000})
    assert (answer.status_code, answer.json()["error"]) == (413, "invalid_request")


@settings(max_examples=80, deadline=None)
@given(
    fields=st.dictionaries(
        st.sampled_from(["grant_type", "code", "refresh_token", "client_id", "client_secret", "scope", "resource"]),
        st.sampled_from(["authorization_code", "refresh_token"]) | st.text(max_size=30),
    ),
    path=st.sampled_from(["/token", "/revoke"]),
)
def test_no_form_is_our_failure(server: LiveServer, fields: dict[str, Any], path: str) -> None:
    assert send("POST", f"{server.url}{path}", data=_encodable(fields)).status_code in {200, 400, 401}


def _encodable(fields: dict[str, str]) -> dict[str, str]:
    return {name: value.encode("utf-8", "replace").decode() for name, value in fields.items()}


def test_a_token_for_another_audience_is_not_taken(client: OAuthClient, owner: Person) -> None:
    tokens = client.connect(owner)
    stored = AccessToken.objects.filter(token_checksum=digest(tokens["access_token"]))
    mine = stored.get().resource
    for foreign in ([f"{client.url}/mcp/"], [client.url], [], [*mine, "https://other.example"]):
        stored.update(resource=foreign)
        assert not client.works(tokens["access_token"])
    stored.update(resource=mine)
    assert client.works(tokens["access_token"])


def test_an_access_token_ends_after_its_hour(client: OAuthClient, owner: Person) -> None:
    tokens = client.connect(owner)
    stored = AccessToken.objects.filter(token_checksum=digest(tokens["access_token"]))
    left = stored.get().expires - timezone.now()
    assert timedelta(seconds=3_590) < left <= timedelta(seconds=3_600)
    stored.update(expires=timezone.now())
    assert not client.works(tokens["access_token"])


def test_a_refresh_token_a_code_and_a_pkce_verifier_open_nothing(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    tokens = client.exchange(code).json()
    for credential in (tokens["refresh_token"], code, new_verifier()[0], tokens["access_token"][4:]):
        assert not client.works(credential)
