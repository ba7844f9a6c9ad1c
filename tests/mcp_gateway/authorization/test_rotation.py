"""A refresh token rotates, forgives what networks do, and gives thieves away (O7)."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Activity
from mcp_gateway.authorization.models import AccessToken, RefreshToken
from mcp_gateway.connections.models import Connection
from memford.core.secrets import digest
from tests.cast import Person
from tests.live import ROOT, LiveServer, live_server
from tests.oauth import OAuthClient

Tokens = dict[str, Any]


@pytest.fixture
def tokens(client: OAuthClient, owner: Person) -> Tokens:
    """A fresh log-in."""
    return client.connect(owner)


def refreshed(client: OAuthClient, refresh_token: str) -> Tokens:
    """Refresh, which must succeed."""
    answer = client.refresh(refresh_token)
    assert answer.status_code == 200, answer.text
    pair: Tokens = answer.json()
    return pair


def move_back(refresh_token: str, **by: timedelta) -> None:
    """Let time pass for a stored refresh token."""
    stored = RefreshToken.objects.filter(token_checksum=digest(refresh_token))
    row = stored.get()
    stored.update(**{name: getattr(row, name) - delta for name, delta in by.items()})


def is_revoked(client: OAuthClient) -> bool:
    """Say whether the client's connection ended."""
    return client.connection.revoked_at is not None


def test_refreshing_gives_a_new_pair_and_leaves_live_access_tokens_valid(client: OAuthClient, tokens: Tokens) -> None:
    pair = refreshed(client, tokens["refresh_token"])
    assert pair["refresh_token"] != tokens["refresh_token"]
    assert pair["scope"] == tokens["scope"]
    assert client.works(pair["access_token"])
    assert client.works(tokens["access_token"])


@pytest.mark.parametrize("count", [5, 20])
def test_parallel_refreshes_strand_nobody(client: OAuthClient, tokens: Tokens, count: int) -> None:
    with ThreadPoolExecutor(count) as threads:
        pairs = list(threads.map(lambda _: refreshed(client, tokens["refresh_token"]), range(count)))
    assert len({pair["refresh_token"] for pair in pairs}) == count
    # Whichever of them the client kept, it works and can be refreshed: using one ends no other.
    for pair in pairs:
        assert client.works(pair["access_token"])
    with ThreadPoolExecutor(count) as threads:
        again = list(threads.map(lambda pair: refreshed(client, pair["refresh_token"]), pairs))
    assert all(client.works(pair["access_token"]) for pair in again)
    assert not is_revoked(client)


def test_two_processes_against_two_instances_refresh_at_once(
    client: OAuthClient, tokens: Tokens, server: LiveServer
) -> None:
    form = json.dumps({"grant_type": "refresh_token", "client_id": client.id, "refresh_token": tokens["refresh_token"]})
    # A second instance, known by the same public address, on the same database.
    with live_server(2, MEMFORD_PUBLIC_URL=server.url) as second:
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.hammer", f"{url}/token", "8", form], cwd=ROOT, stdout=subprocess.PIPE
            )
            for url in (server.url, second.url)
        ]
        statuses = [status for process in processes for status in json.loads(process.communicate(timeout=60)[0])]
    assert statuses == [200] * 16
    parent = RefreshToken.objects.get(token_checksum=digest(tokens["refresh_token"]))
    assert parent.siblings_issued == 16
    assert RefreshToken.objects.filter(parent=parent).count() == 16
    assert not is_revoked(client)


def test_a_lost_answer_is_repeated_a_day_later(client: OAuthClient, tokens: Tokens) -> None:
    refreshed(client, tokens["refresh_token"])
    move_back(tokens["refresh_token"], created=timedelta(days=1), last_used_at=timedelta(days=1))
    pair = refreshed(client, tokens["refresh_token"])
    assert client.works(pair["access_token"])


def test_the_33rd_sibling_is_refused_without_revocation(client: OAuthClient, tokens: Tokens) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: client.refresh(tokens["refresh_token"]), range(40)))
    assert [answer.status_code for answer in answers].count(200) == 32
    assert {answer.json()["error"] for answer in answers if answer.status_code != 200} == {"invalid_grant"}
    assert not is_revoked(client)
    last = next(answer.json() for answer in answers if answer.status_code == 200)
    assert client.works(last["access_token"])
    refreshed(client, last["refresh_token"])


@pytest.mark.parametrize("how", ["access token", "refresh token"])
def test_an_old_one_is_good_for_half_a_minute_after_a_successors_use_and_theft_beyond(
    client: OAuthClient, tokens: Tokens, owner: Person, how: str
) -> None:
    first = tokens["refresh_token"]
    pair = refreshed(client, first)
    if how == "access token":
        assert client.works(pair["access_token"])
    else:
        refreshed(client, pair["refresh_token"])
    # Within 30 s of a successor's first use.
    move_back(first, successor_used_at=timedelta(seconds=25))
    late = refreshed(client, first)
    assert client.works(late["access_token"])
    # Beyond.
    move_back(first, successor_used_at=timedelta(seconds=6))
    answer = client.refresh(first)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert client.connection.revoked_reason == "token_reused"
    for pair_ in (tokens, pair, late):
        assert not client.works(pair_["access_token"])
        assert client.refresh(pair_["refresh_token"]).json()["error"] == "invalid_grant"
    lines = Activity.objects.filter(owner_id=owner.id, object_id=client.connection.pk).order_by("pk")
    assert list(lines.values_list("tag", flat=True)) == ["connection_approved", "token_reused", "connection_revoked"]


def test_the_clock_starts_with_the_first_use_and_no_later_one_moves_it(client: OAuthClient, tokens: Tokens) -> None:
    pair = refreshed(client, tokens["refresh_token"])
    stored = RefreshToken.objects.filter(token_checksum=digest(tokens["refresh_token"]))
    assert stored.get().successor_used_at is None
    assert client.works(tokens["access_token"])
    assert stored.get().successor_used_at is None, "the token that came with it is no successor"
    assert client.works(pair["access_token"])
    first_use = stored.get().successor_used_at
    assert first_use is not None
    client.works(pair["access_token"])
    refreshed(client, pair["refresh_token"])
    assert stored.get().successor_used_at == first_use


def test_an_old_generation_is_theft_even_after_the_access_tokens_were_cleared(
    client: OAuthClient, tokens: Tokens
) -> None:
    second = refreshed(client, tokens["refresh_token"])
    third = refreshed(client, second["refresh_token"])
    assert client.works(third["access_token"])
    move_back(tokens["refresh_token"], successor_used_at=timedelta(days=40), created=timedelta(days=60))
    AccessToken.objects.filter(connection=client.connection).exclude(
        token_checksum=digest(third["access_token"])
    ).delete()
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert is_revoked(client)
    assert not client.works(third["access_token"])


def test_it_dies_after_30_days_unused_and_that_is_no_theft(client: OAuthClient, tokens: Tokens) -> None:
    move_back(tokens["refresh_token"], created=timedelta(days=29, hours=23))
    refreshed(client, tokens["refresh_token"])
    # Presented meanwhile, it was not unused.
    move_back(tokens["refresh_token"], created=timedelta(days=29), last_used_at=timedelta(days=29))
    refreshed(client, tokens["refresh_token"])
    move_back(tokens["refresh_token"], last_used_at=timedelta(days=31))
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert not is_revoked(client)


def test_nothing_outlives_the_renewal_limit(client: OAuthClient, tokens: Tokens) -> None:
    pair = refreshed(client, tokens["refresh_token"])
    before = client.connection.expires_at
    refreshed(client, pair["refresh_token"])
    assert client.connection.expires_at == before, "refreshing moves no renewal limit"
    Connection.objects.filter(pk=client.connection.pk).update(expires_at=timezone.now())
    assert client.refresh(pair["refresh_token"]).json()["error"] == "invalid_grant"
    assert not client.works(pair["access_token"])


def test_a_refresh_token_is_anothers_to_nobody(client: OAuthClient, tokens: Tokens, server: LiveServer) -> None:
    thief = OAuthClient(server.url)
    assert thief.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert not is_revoked(client)
    refreshed(client, tokens["refresh_token"])


@pytest.mark.parametrize("token", ["", "mfr_unknown", "\0", "é", "x" * 5_000])
def test_an_unknown_refresh_token_is_refused(client: OAuthClient, token: str) -> None:
    answer = client.refresh(token)
    assert answer.status_code == 400
    assert answer.json()["error"] in {"invalid_grant", "invalid_request"}


@pytest.mark.parametrize(
    ("scope", "given"),
    [
        (None, "memory:read memory:write"),
        ("memory:read memory:write", "memory:read memory:write"),
        ("memory:read", "memory:read"),
        ("openid offline_access", "memory:read memory:write"),
    ],
)
def test_a_refresh_may_ask_for_less(client: OAuthClient, tokens: Tokens, scope: str | None, given: str) -> None:
    answer = client.refresh(tokens["refresh_token"], scope=scope)
    assert answer.json()["scope"] == given


def test_a_client_that_asks_for_more_than_was_approved_keeps_its_log_in(client: OAuthClient, owner: Person) -> None:
    tokens = client.connect(owner, access="read_only")
    answer = client.refresh(tokens["refresh_token"], scope="memory:read memory:write")
    assert (answer.status_code, answer.json()["scope"]) == (200, "memory:read")


def test_refreshing_while_the_owner_disconnects_leaves_nothing_that_works(
    client: OAuthClient, tokens: Tokens, owner: Person
) -> None:
    from django.db import connections

    from mcp_gateway.connections.services import revoke_connection

    def disconnect() -> None:
        try:
            revoke_connection(owner_id=owner.id, connection_id=client.connection.pk, actor=owner.hand)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(9) as threads:
        calls = [threads.submit(client.refresh, tokens["refresh_token"]) for _ in range(4)]
        ended = threads.submit(disconnect)
        calls += [threads.submit(client.refresh, tokens["refresh_token"]) for _ in range(4)]
        ended.result()
        answers = [call.result() for call in calls]
    for answer in answers:
        assert answer.status_code in {200, 400}
        if answer.status_code == 200:
            assert not client.works(answer.json()["access_token"])
            assert client.refresh(answer.json()["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_session_outlives_a_refresh(client: OAuthClient, tokens: Tokens, server: LiveServer) -> None:
    from tests.events import begin_session
    from tests.wire import Wire

    with Wire(server.url, tokens["access_token"]) as wire:
        session = begin_session(wire)
    pair = refreshed(client, tokens["refresh_token"])
    with Wire(server.url, pair["access_token"]) as wire:
        assert wire.request("ping", Mcp_Session_Id=session).status_code == 200
