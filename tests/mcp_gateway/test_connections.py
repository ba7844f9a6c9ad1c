"""Project keys: made once, kept as digests, ended for good (A5, O9, S2)."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connections

from accounts.models import Owner
from mcp_gateway.connections.authentication import InvalidCredential, authenticate
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.selectors import list_connections, live_keys
from mcp_gateway.connections.services import bootstrap, create_key, revoke_connection
from memford.core.errors import InvalidArguments, NotFound, QuotaExceeded
from memford.core.limits import limits
from projects.selectors import list_activity
from tests.cast import Person, unique_email


def test_the_secret_is_returned_once_and_never_stored_or_shown(owner: Person) -> None:
    agent = owner.new_agent()
    assert agent.key.startswith("mfk_")
    assert len(agent.key) == 47
    with connections["system"].cursor() as cursor:
        cursor.execute(
            "SELECT connections_connection::text FROM connections_connection WHERE id = %s", [agent.connection.pk]
        )
        (row,) = cursor.fetchone()
    assert agent.key not in row
    assert agent.key[8:] not in row
    assert agent.connection.key_prefix == agent.key[:8]
    issued = create_key(owner_id=owner.id, project_id=owner.project.pk, name="x", access="read_only", actor=owner.hand)
    assert issued.secret not in repr(issued)


def test_a_key_stands_for_its_connection_and_access(owner: Person) -> None:
    writer, reader = owner.new_agent(), owner.new_agent(access="read_only")
    assert authenticate(writer.key).principal == writer.principal
    assert authenticate(reader.key).principal.scopes == {"memory:read"}


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", ""), ("name", "x" * 121), ("access", "all"), ("expires_in_days", 0), ("expires_in_days", 9_999)],
)
def test_a_bad_key_is_refused(owner: Person, field: str, value: object) -> None:
    given: dict[str, Any] = {"name": "x", "access": "read_only", field: value}
    with pytest.raises(InvalidArguments) as refused:
        create_key(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand, **given)
    assert list(refused.value.data["fields"]) == [field]  # type: ignore[call-overload]


def test_nobody_makes_or_ends_a_key_of_anothers(owner: Person, other_owner: Person) -> None:
    agent = owner.new_agent()
    with pytest.raises(NotFound):
        create_key(
            owner_id=other_owner.id, project_id=owner.project.pk, name="x", access="read_only", actor=other_owner.hand
        )
    with pytest.raises(NotFound):
        revoke_connection(owner_id=other_owner.id, connection_id=agent.connection.pk, actor=other_owner.hand)
    assert authenticate(agent.key)


def test_a_project_has_25_live_keys_at_most_however_many_ask_at_once(owner: Person) -> None:
    most = limits().live_keys_per_project_max

    def make(index: int) -> bool:
        try:
            owner.new_agent()
        except QuotaExceeded:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(make, range(most + 5)))
    assert sum(made) == most
    ended = live_keys(owner_id=owner.id, project_id=owner.project.pk)[0]
    revoke_connection(owner_id=owner.id, connection_id=ended.pk, actor=owner.hand)
    assert owner.new_agent()


def test_ending_a_connection_is_logged_once_and_it_stays_in_the_list(owner: Person) -> None:
    agent = owner.new_agent()
    for _ in range(2):
        revoke_connection(owner_id=owner.id, connection_id=agent.connection.pk, actor=owner.hand)
    with pytest.raises(InvalidCredential):
        authenticate(agent.key)
    lines = list_activity(owner_id=owner.id, project_id=owner.project.pk, limit=10)
    assert [line.tag for line in lines].count("connection_revoked") == 1
    assert list_connections(owner_id=owner.id).get().revoked_at is not None


def test_last_used_is_written_once_a_minute(owner: Person) -> None:
    agent = owner.new_agent()
    authenticate(agent.key)
    first = Connection.objects.get(pk=agent.connection.pk).last_used_at
    assert first is not None
    authenticate(agent.key)
    assert Connection.objects.get(pk=agent.connection.pk).last_used_at == first


class TestBootstrap:
    """S2: what a script begins with."""

    def test_owner_and_project_are_made_once_and_the_key_each_time(self) -> None:
        email = unique_email()
        given: dict[str, Any] = {"owner_email": email, "password": None, "project_name": "Demo", "access": "read_write"}
        first, second = bootstrap(**given), bootstrap(**{**given, "owner_email": email.upper()})
        assert first.project_id == second.project_id
        assert first.key != second.key
        assert authenticate(first.key).principal.project_id == first.project_id
        assert Owner.objects.get(email=email).email_verified_at is not None
        assert first.key not in repr(first)

    def test_its_own_oldest_beyond_five_end_and_no_other(self, owner: Person) -> None:
        manual = owner.new_agent()
        given: dict[str, Any] = {
            "owner_email": owner.owner.email,
            "password": None,
            "project_name": "Lighthouse",
            "access": "read_only",
        }
        keys = [bootstrap(**given).key for _ in range(7)]
        for ended in keys[:2]:
            with pytest.raises(InvalidCredential):
                authenticate(ended)
        for live in [*keys[2:], manual.key]:
            assert authenticate(live).principal.project_id == owner.project.pk

    def test_the_password_is_set_for_a_new_owner_alone_and_must_be_good(self) -> None:
        email = unique_email()
        given: dict[str, Any] = {"owner_email": email, "project_name": "Demo", "access": "read_write"}
        with pytest.raises(InvalidArguments):
            bootstrap(password="short", **given)
        bootstrap(password="a long enough phrase", **given)
        bootstrap(password="another phrase altogether", **given)
        assert Owner.objects.get(email=email).check_password("a long enough phrase")

    @pytest.mark.parametrize("email", ["", "nobody", "a@b@c", "x" * 300 + "@example.com"])
    def test_a_bad_address_is_refused(self, email: str) -> None:
        with pytest.raises(InvalidArguments):
            bootstrap(owner_email=email, password=None, project_name="Demo", access="read_write")

    def test_two_at_once_make_one_owner_and_one_project(self) -> None:
        email = f"{uuid.uuid4().hex}@example.com"

        def run(index: int) -> uuid.UUID:
            try:
                return bootstrap(owner_email=email, password=None, project_name="Demo", access="read_write").project_id
            finally:
                connections.close_all()

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(run, range(4)))) == 1


def test_a_validation_of_django_is_not_needed_to_keep_kinds_apart(owner: Person) -> None:
    from django.db import IntegrityError

    with pytest.raises((IntegrityError, ValidationError)):
        Connection.objects.create(owner=owner.owner, project=owner.project, kind="key", name="x")
