"""What nobody can use any more goes, and nothing else does, however often and beside whatever traffic (O10, P3)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.db.models import F
from django.utils import timezone

from accounts.models import Activity
from mcp_gateway.authorization import cleaning
from mcp_gateway.authorization.models import AccessToken, Application, Grant, RefreshToken
from mcp_gateway.authorization.tasks import clean_task
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import revoke_connection
from memford.core.secrets import digest
from tests.cast import Person
from tests.oauth import Browser, OAuthClient


def days(number: float) -> timedelta:
    """Return so many days."""
    return timedelta(days=number)


def move_connection(client: OAuthClient, **by: timedelta) -> None:
    """Let time pass for a client's connection."""
    Connection.objects.filter(pk=client.connection.pk).update(**{name: F(name) - delta for name, delta in by.items()})


def move_client(client: OAuthClient, **by: timedelta) -> None:
    """Let time pass for a client."""
    now = timezone.now()
    Application.objects.filter(client_id=client.id).update(**{name: now - delta for name, delta in by.items()})


def is_known(client: OAuthClient) -> bool:
    """Say whether a client is still registered."""
    return Application.objects.filter(client_id=client.id).exists()


def test_an_approval_that_never_arrived_ends(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    clean_task()
    assert client.connection.revoked_at is None
    Grant.objects.filter(code=digest(code)).update(expires=timezone.now() - timedelta(seconds=605))
    clean_task()
    assert client.connection.revoked_reason == "never_connected"
    assert Activity.objects.filter(owner_id=owner.id, tag="connection_revoked").count() == 1


def test_a_connection_that_is_used_is_left_alone(client: OAuthClient, owner: Person) -> None:
    code = client.code(owner)
    tokens = client.exchange(code).json()
    Grant.objects.filter(code=digest(code)).update(expires=timezone.now() - days(100))
    AccessToken.objects.filter(connection=client.connection).update(expires=timezone.now() - days(29))
    RefreshToken.objects.filter(connection=client.connection).update(created=timezone.now() - days(29))
    clean_task()
    assert client.connection.revoked_at is None
    assert not AccessToken.objects.filter(connection=client.connection).exists()
    pair = client.refresh(tokens["refresh_token"]).json()
    assert client.works(pair["access_token"])
    clean_task()
    assert client.works(pair["access_token"])
    # What tells of reuse stays: the used code, and the rotated token.
    assert client.exchange(code).json()["error"] == "invalid_grant"
    assert client.connection.revoked_reason == "code_replayed"


def test_reuse_is_seen_after_the_access_tokens_are_gone(client: OAuthClient, owner: Person) -> None:
    tokens = client.connect(owner)
    pair = client.refresh(tokens["refresh_token"]).json()
    assert client.works(pair["access_token"])
    AccessToken.objects.filter(connection=client.connection).update(expires=timezone.now() - days(1))
    cleaning.remove_expired_access_tokens()
    stored = RefreshToken.objects.filter(token_checksum=digest(tokens["refresh_token"]))
    stored.update(successor_used_at=timezone.now() - timedelta(seconds=31))
    assert client.refresh(tokens["refresh_token"]).status_code == 400
    assert client.connection.revoked_reason == "token_reused"


def test_a_connection_whose_tokens_died_unused_ends(client: OAuthClient, owner: Person) -> None:
    client.connect(owner)
    RefreshToken.objects.filter(connection=client.connection).update(created=timezone.now() - days(31))
    cleaning.end_unused_connections()
    assert client.connection.revoked_at is None, "an access token is still good"
    AccessToken.objects.filter(connection=client.connection).update(expires=timezone.now())
    cleaning.end_unused_connections()
    assert client.connection.revoked_reason == "unused"


def test_credentials_go_when_their_connection_has_ended(client: OAuthClient, owner: Person) -> None:
    tokens = client.connect(owner)
    client.refresh(tokens["refresh_token"])
    revoke_connection(owner_id=owner.id, connection_id=client.connection.pk, actor=owner.hand)
    clean_task()
    models: list[Any] = [RefreshToken, AccessToken, Grant]
    assert all(model.objects.filter(connection=client.connection).exists() for model in models)
    move_connection(client, revoked_at=timedelta(seconds=3_605))
    clean_task()
    assert not any(model.objects.filter(connection=client.connection).exists() for model in models)
    assert client.connection.name == "Test client", "the writer stays"
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


class TestClients:
    """90 days without a connection, or 400 after the last one ended (O10)."""

    @pytest.mark.parametrize(("unused", "known"), [(89.9, True), (90.1, False)])
    def test_one_that_never_had_a_connection(self, client: OAuthClient, unused: float, known: bool) -> None:
        move_client(client, created=days(unused + 100), last_used_at=days(unused))
        clean_task()
        assert is_known(client) is known

    def test_one_that_was_never_used_at_all(self, client: OAuthClient) -> None:
        move_client(client, created=days(90.1))
        clean_task()
        assert not is_known(client)

    @pytest.mark.parametrize(("ended", "known"), [(399.9, True), (400.1, False)])
    def test_one_whose_last_connection_ended(
        self, client: OAuthClient, owner: Person, ended: float, known: bool
    ) -> None:
        client.connect(owner)
        connection = client.connection
        move_client(client, created=days(900), last_used_at=days(900))
        revoke_connection(owner_id=owner.id, connection_id=connection.pk, actor=owner.hand)
        move_connection(client, revoked_at=days(ended))
        clean_task()
        assert is_known(client) is known
        kept = Connection.objects.get(pk=connection.pk)
        assert (kept.client_id is not None) is known
        assert kept.name == "Test client"

    def test_one_with_a_live_connection(self, client: OAuthClient, owner: Person) -> None:
        tokens = client.connect(owner)
        move_client(client, created=days(900), last_used_at=days(900))
        clean_task()
        assert is_known(client)
        assert client.works(tokens["access_token"])

    def test_asking_counts_as_use(self, client: OAuthClient) -> None:
        move_client(client, created=days(200), last_used_at=days(89))
        Browser(client.url).get(client.ask())
        move_client(client, created=days(200))
        stored = Application.objects.get(client_id=client.id)
        assert stored.last_used_at is not None
        assert timezone.now() - stored.last_used_at < timedelta(minutes=1)


def test_lots_of_any_size_and_several_runs_at_once_do_the_same(client: OAuthClient, owner: Person) -> None:
    codes = [digest(client.code(owner)) for _ in range(7)]
    Grant.objects.filter(code__in=codes).update(expires=timezone.now() - days(1))

    def run(_: int) -> int:
        try:
            return cleaning.end_abandoned_connections(at_once=2)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as threads:
        assert sum(threads.map(run, range(3))) >= 7
    mine = Connection.objects.filter(client__client_id=client.id)
    assert set(mine.values_list("revoked_reason", flat=True)) == {"never_connected"}
    assert Activity.objects.filter(owner_id=owner.id, tag="connection_revoked").count() == 7
