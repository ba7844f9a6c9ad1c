"""Whatever is sent to a page of the workspace, no answer is a 5xx, and nothing of it runs (W4, G3)."""

import uuid
from typing import Any

import pytest
from django.urls import reverse

from tests.cast import unique_email
from tests.pages.house import House, furnish, pages_by_name
from tests.pages.visiting import PART, visitor

FIELDS = [
    "content",
    "source",
    "expected_revision",
    "status",
    "name",
    "title",
    "description",
    "order",
    "checkpoint",
    "access",
    "expires",
    "expires_in_days",
    "form_id",
    "days",
    "from",
    "to",
    "before",
    "since",
    "q",
    "writer",
    "day",
    "after",
    "newest_day",
    "ids",
    "seen",
    "known",
    "email",
    "standard",
    "standard_ids",
    "move",
    "add",
    "take",
    "position",
    "revision",
    "restore",
    "next",
]
VALUES = [
    "",
    "\x00",
    "-1",
    "0",
    "9" * 30,
    "1e9",
    "٣",
    "None",
    "<script>alert(1)</script>",
    "' OR 1=1 --",
    "%s%d{0}",
    "\ud800",
    "é" * 2_000,
    str(uuid.UUID(int=0)),
    ",".join([str(uuid.UUID(int=1))] * 3),
    "[1, 2",
]
NAMES = sorted({name for name, _ in pages_by_name()})


@pytest.fixture(scope="module")
def house(database_access: None) -> House:
    """A furnished workspace, for odd callers."""
    return furnish(unique_email(), "a lamp turns in 8 seconds")


def address_of(name: str, house: House) -> str:
    """Return an address of this name, with ids of the owner's own where it takes any."""
    connection_id = next(iter(house.agents.values())).id
    known = {
        "project_id": house.person.project.pk,
        "note_id": house.note.pk,
        "standard_id": house.standard.pk,
        "connection_id": connection_id,
        "revision": 1,
    }
    for wanted in (
        (),
        ("project_id",),
        ("project_id", "note_id"),
        ("project_id", "note_id", "revision"),
        ("standard_id",),
        ("standard_id", "revision"),
        ("project_id", "connection_id"),
    ):
        try:
            return reverse(name, kwargs={each: known[each] for each in wanted})
        except Exception:  # noqa: BLE001, S112  # another set of words is tried
            continue
    raise AssertionError(f"{name} takes words that this test does not know")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in {"project-delete", "account-delete"}])
def test_odd_values(house: House, name: str) -> None:
    browser = visitor(house.person, raise_request_exception=False)
    address = address_of(name, house)
    for value in VALUES:
        sent: dict[str, Any] = dict.fromkeys(FIELDS, value.encode("utf-8", "surrogatepass"))
        for headers in ({}, PART):
            for answer in (
                browser.get(
                    address, {key: value.encode("utf-8", "replace").decode() for key in FIELDS[:18]}, **headers
                ),
                browser.post(address, sent, **headers),
            ):
                assert answer.status_code < 500, (name, value[:20], answer.status_code)
                if not getattr(answer, "streaming", False):
                    assert b"<script>alert" not in answer.content


@pytest.mark.parametrize("name", NAMES)
def test_odd_bodies_and_methods(house: House, name: str) -> None:
    browser = visitor(house.person, raise_request_exception=False)
    address = address_of(name, house)
    bodies = [
        (b"{}", "application/json"),
        (b"\xff\xfe", "application/x-www-form-urlencoded; charset=utf-16"),
        (b"--x\r\n", "multipart/form-data; boundary=x"),
        (b"a=1&" * 2_000, "application/x-www-form-urlencoded"),
        (b"", ""),
    ]
    for body, kind in bodies:
        if name in {"project-delete", "account-delete"}:
            continue
        assert browser.generic("POST", address, body, content_type=kind).status_code < 500
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        assert browser.generic(method, address).status_code in {400, 405}
    assert browser.generic("HEAD", address).status_code < 500
