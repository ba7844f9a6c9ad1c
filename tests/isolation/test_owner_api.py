"""Nobody's browser reaches what is another's: every route of the API, taken from its own URL configuration."""

import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import URLResolver

from memford import api_urls
from projects.services import write_note
from tests.api.caller import Caller, check_problem
from tests.cast import Person
from tests.live import LiveServer
from tests.oauth import OAuthClient

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PARAMETER = re.compile(r"<str:(\w+)>")

# What each route that changes something is sent; every other route and method is found by itself.
BODIES: dict[str, dict[str, Any]] = {
    "PATCH projects/<str:project_id>": {"name": "planted"},
    "POST projects/<str:project_id>/notes": {"content": "planted"},
    "PATCH projects/<str:project_id>/notes/<str:note_id>": {"expected_revision": 1, "content": "planted"},
    "PUT projects/<str:project_id>/standards": {"expected_revision": 0, "standard_ids": []},
    "PATCH standards/<str:standard_id>": {"expected_revision": 1, "content": "planted"},
}
# Routes without an id show or make what is the caller's own.
OWN = {
    "GET me", "POST logout", "GET projects", "POST projects", "GET standards", "POST standards", "GET tokens",
    "POST tokens", "GET connections", "POST projects/import",
}  # fmt: skip
PUBLIC = {"GET schema", "GET docs"}


def routes(patterns: Iterable[Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Return every route below ``/api/`` with its view."""
    for pattern in patterns:
        route = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif not route.startswith("^"):
            yield route, pattern.callback


def operations() -> list[str]:
    """Return method and route of every operation there is."""
    found = []
    for route, view in routes(api_urls.urlpatterns):
        kind = getattr(view, "cls", None) or getattr(view, "view_class", None)
        names = [method for method in METHODS if kind is None or hasattr(kind, method.lower())]
        found += [f"{method} {route}" for method in (names if kind is not None else ["GET"])]
    return found


WITH_IDS = [operation for operation in operations() if PARAMETER.search(operation)]


@dataclass
class Belongings:
    """One of everything that has an id."""

    ids: dict[str, str]


@pytest.fixture
def belongings(api: Caller, owner: Person, server: LiveServer) -> Belongings:
    """What the owner has."""
    note = write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content="the owner's")
    client = OAuthClient(server.url)
    client.connect(owner)
    return Belongings(
        {
            "project_id": str(owner.project.pk),
            "note_id": str(note.id),
            "standard_id": api.post("standards", {"title": "The owner's", "content": "the owner's"})["id"],
            "token_id": str(owner.new_agent().connection.pk),
            "connection_id": str(client.connection.pk),
        }
    )


def filled(operation: str, ids: dict[str, str]) -> tuple[str, str]:
    """Return an operation's method, and its path with these ids."""
    method, route = operation.split(" ", 1)
    return method, PARAMETER.sub(lambda match: ids[match[1]], route)


def test_every_operation_has_its_row() -> None:
    changing = {operation for operation in WITH_IDS if operation.split()[0] in {"POST", "PUT", "PATCH"}}
    assert set(BODIES) == changing
    assert {operation for operation in operations() if operation not in WITH_IDS} == OWN | PUBLIC
    assert len(WITH_IDS) >= 18


@pytest.mark.parametrize("operation", WITH_IDS)
def test_foreign_and_never_existing_are_one_answer_and_a_stranger_hears_nothing(
    api: Caller, other_api: Caller, stranger: Caller, belongings: Belongings, operation: str
) -> None:
    body = BODIES.get(operation)
    nowhere = {name: str(uuid.uuid4()) for name in belongings.ids}
    answers = [
        other_api.send(*filled(operation, ids), body)
        for ids in (
            belongings.ids,
            nowhere,
            dict.fromkeys(nowhere, "nonsense"),
            dict.fromkeys(nowhere, str(uuid.UUID(int=0))),
            {**nowhere, "project_id": belongings.ids["project_id"]},
        )
    ]
    for answer in answers:
        check_problem(answer, 404, "not_found")
    assert len({answer.text for answer in answers}) == 1
    check_problem(stranger.send(*filled(operation, belongings.ids), body), 401, "signed_out")
    # Nothing happened to any of it, and the owner's own call succeeds.
    method, path = filled(operation, belongings.ids)
    assert api.send(method, path, body).status_code in {200, 201, 204}


@pytest.mark.parametrize("operation", [operation for operation in WITH_IDS if "note_id" in operation])
def test_a_note_is_found_in_its_own_project_alone(
    api: Caller, owner: Person, belongings: Belongings, operation: str
) -> None:
    elsewhere = {**belongings.ids, "project_id": str(owner.new_project("Elsewhere").pk)}
    check_problem(api.send(*filled(operation, elsewhere), BODIES.get(operation)), 404, "not_found")


def test_another_owners_lists_hold_nothing_of_it(other_api: Caller, owner: Person, belongings: Belongings) -> None:
    for operation in OWN:
        method, path = operation.split()
        if method == "GET":
            text = other_api.send("GET", path).text
            assert not any(id_ in text for id_ in (*belongings.ids.values(), owner.owner.email))


def test_a_foreign_id_in_a_body_is_as_good_as_none(
    other_api: Caller, other_owner: Person, belongings: Belongings
) -> None:
    asked = {"name": "x", "access": "read_write"}
    texts = {
        other_api.send("POST", "tokens", {**asked, "project_id": project_id}).text
        for project_id in (belongings.ids["project_id"], str(uuid.uuid4()))
    }
    assert len(texts) == 1
    own = f"projects/{other_owner.project.pk}/standards"
    texts = {
        other_api.send("PUT", own, {"expected_revision": 0, "standard_ids": [standard_id]}).text
        for standard_id in (belongings.ids["standard_id"], str(uuid.uuid4()))
    }
    assert len(texts) == 1
    assert other_api.get(own)["standard_ids"] == []
