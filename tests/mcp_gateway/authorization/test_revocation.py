"""Disconnected is disconnected, by whom ever, at the next call and on open streams (O8, G7, R4)."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Activity
from mcp_gateway.authorization.models import AccessToken
from mcp_gateway.connections.services import revoke_connection
from memford.core.secrets import digest
from tests.cast import Person
from tests.events import EventReader, begin_session, subscribe
from tests.live import LiveServer, wait_until
from tests.oauth import OAuthClient
from tests.wire import Wire


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
@pytest.mark.parametrize("hint", [None, "access_token", "refresh_token", "nonsense"])
def test_a_client_ends_its_connection_with_either_token(
    client: OAuthClient, owner: Person, which: str, hint: str | None
) -> None:
    tokens = client.connect(owner)
    answer = client.revoke(tokens[which], token_type_hint=hint)
    assert (answer.status_code, answer.text) == (200, "")
    assert not client.works(tokens["access_token"])
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert client.connection.revoked_reason == "client"
    line = Activity.objects.get(owner_id=owner.id, tag="connection_revoked")
    assert (line.actor_kind, line.actor_name, line.detail) == ("oauth", "Test client", {"reason": "client"})
    assert client.revoke(tokens[which]).status_code == 200
    assert Activity.objects.filter(owner_id=owner.id, tag="connection_revoked").count() == 1


@pytest.mark.parametrize("token", ["unknown", "mfr_x", "\0", "é" * 3_000])
def test_an_unknown_token_is_as_good_as_revoked(client: OAuthClient, token: str) -> None:
    assert client.revoke(token).status_code == 200


def test_no_token_is_a_bad_request(client: OAuthClient) -> None:
    answer = client.revoke("")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


def test_another_clients_token_stays_untouched(client: OAuthClient, owner: Person, server: LiveServer) -> None:
    tokens = client.connect(owner)
    other = OAuthClient(server.url)
    for which in ("access_token", "refresh_token"):
        assert other.revoke(tokens[which]).status_code == 200
    assert client.works(tokens["access_token"])


def test_a_confidential_client_authenticates_to_revoke(server: LiveServer, owner: Person) -> None:
    client = OAuthClient(server.url, metadata={"token_endpoint_auth_method": "client_secret_post"})
    secret = client.registered["client_secret"]
    answer = client.exchange(client.code(owner), client_secret=secret)
    token = answer.json()["access_token"]
    for refused in (client.revoke(token), client.revoke(token, client_secret="wrong")):
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    assert client.works(token)
    assert client.revoke(token, client_secret=secret).status_code == 200
    assert not client.works(token)


def test_the_owner_ends_it_at_once(client: OAuthClient, owner: Person) -> None:
    tokens = client.connect(owner)
    revoke_connection(owner_id=owner.id, connection_id=client.connection.pk, actor=owner.hand)
    assert not client.works(tokens["access_token"])
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    line = Activity.objects.get(owner_id=owner.id, tag="connection_revoked")
    assert (line.actor_kind, line.detail) == ("owner", {"reason": "owner"})


def test_a_replayed_code_ends_what_it_issued(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    tokens = client.exchange(code).json()
    pair = client.refresh(tokens["refresh_token"]).json()
    # Neither a wrong verifier nor a wrong client is the replay of somebody who held the code rightly.
    assert client.exchange(code, code_verifier="x" * 43).json()["error"] == "invalid_grant"
    assert client.works(tokens["access_token"])
    assert client.exchange(code).json()["error"] == "invalid_grant"
    assert client.connection.revoked_reason == "code_replayed"
    for access_token in (tokens["access_token"], pair["access_token"]):
        assert not client.works(access_token)


@pytest.mark.parametrize("how", ["client", "owner", "reuse", "renewal limit"])
def test_open_streams_close(client: OAuthClient, owner: Person, server: LiveServer, how: str) -> None:
    tokens = client.connect(owner)
    with Wire(server.url, tokens["access_token"]) as wire:
        session = begin_session(wire)
        subscribe(wire, session, str(owner.project.pk))
        with EventReader(wire, session) as stream:
            wait_until(lambda: stream.events, what="the first byte")
            _end(client, owner, tokens["refresh_token"], how)
            stream.wait_for_end(limit_seconds=5)
            assert stream.well_formed
    assert not client.works(tokens["access_token"])


def _end(client: OAuthClient, owner: Person, refresh_token: str, how: str) -> None:
    from mcp_gateway.authorization.models import RefreshToken
    from mcp_gateway.connections.models import Connection

    if how == "client":
        client.revoke(refresh_token)
    elif how == "owner":
        revoke_connection(owner_id=owner.id, connection_id=client.connection.pk, actor=owner.hand)
    elif how == "renewal limit":
        Connection.objects.filter(pk=client.connection.pk).update(expires_at=timezone.now())
    else:
        stored = RefreshToken.objects.filter(token_checksum=digest(refresh_token))
        stored.update(successor_used_at=timezone.now() - timedelta(minutes=1))
        assert client.refresh(refresh_token).status_code == 400


def test_listening_ends_with_the_access_token(client: OAuthClient, owner: Person, server: LiveServer) -> None:
    tokens = client.connect(owner)
    stored = AccessToken.objects.filter(token_checksum=digest(tokens["access_token"]))
    stored.update(expires=timezone.now() + timedelta(seconds=3))
    uri = f"memory://projects/{owner.project.pk}/notes"
    with (
        Wire(server.url, tokens["access_token"]) as wire,
        EventReader(wire, listen={"resourceSubscriptions": [uri]}) as listening,
    ):
        wait_until(lambda: listening.hints, what="the hint")
        listening.wait_for_end(limit_seconds=8)
        assert listening.events[-1].data["id"] == "listening"
