"""A project leaves whole and comes back whole, through the API (docs/archive.md)."""

import json

import pytest

from memford.core.limits import limits
from projects.models import Project
from projects.services import revise_note, write_note
from tests.api.caller import Caller, check_problem
from tests.cast import Person

TEXT = "  Zwölf 🪨\r\n\ttrue 007 \u202e``` \x01 "


@pytest.fixture
def furnished(api: Caller, owner: Person) -> Person:
    """A project with a note that was edited, and a standard."""
    note = write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content=TEXT)
    revise_note(
        owner_id=owner.id,
        project_id=owner.project.pk,
        note_id=note.id,
        expected_revision=1,
        content="Edited",
        actor=owner.hand,
    )
    standard = api.post("standards", {"title": "Style", "content": TEXT})["id"]
    body = {"expected_revision": 0, "standard_ids": [standard]}
    assert api.send("PUT", f"projects/{owner.project.pk}/standards", body).status_code == 200
    return owner


def test_what_leaves_comes_back(api: Caller, furnished: Person, other_api: Caller) -> None:
    answer = api.send("GET", f"projects/{furnished.project.pk}/export")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-disposition"] == f'attachment; filename="memford-{furnished.project.pk}.json"'
    assert answer.headers["content-length"] == str(len(answer.content))
    archive = answer.json()
    assert archive["content"]["notes"][0]["revisions"][0]["content"] == TEXT
    for browser in (api, other_api):
        before = len(browser.get("projects")["projects"])
        foreseen = browser.send("POST", "projects/import", answer.content, Content_Type="application/json")
        assert foreseen.status_code == 200, foreseen.text
        assert foreseen.json()["project_id"] is None
        assert foreseen.json()["problems"] == []
        assert len(browser.get("projects")["projects"]) == before, "a dry run stores nothing, and is the default"
        made = browser.send("POST", "projects/import?dry_run=false", answer.content, Content_Type="application/json")
        assert made.status_code == 201, made.text
        project = made.json()["project_id"]
        assert made.headers["location"] == f"/api/projects/{project}"
        (note,) = browser.get(f"projects/{project}/notes")["notes"]
        assert (note["content"], note["revision"], note["original"]["content"]) == ("Edited", 2, TEXT)
        (standard,) = browser.get(f"projects/{project}/standards")["standards"]
        assert (standard["title"], standard["content"]) == ("Style", TEXT)


def test_it_leaves_as_markdown_too(api: Caller, furnished: Person) -> None:
    answer = api.send("GET", f"projects/{furnished.project.pk}/export?format=markdown")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "Edited" in answer.text


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b"\xff", b'{"format": NaN}', b"[" * 50_000, b'{"format":"memford-project","version":2}'],
)
def test_what_is_no_archive_is_told_and_stores_nothing(api: Caller, owner: Person, content: bytes) -> None:
    foreseen = api.send("POST", "projects/import", content, Content_Type="application/json")
    assert foreseen.status_code == 200, foreseen.text
    assert foreseen.json()["problems"]
    refused = api.send("POST", "projects/import?dry_run=false", content, Content_Type="application/json")
    check_problem(refused, 400, "invalid_arguments")
    assert Project.objects.filter(owner_id=owner.id).count() == 1


def test_a_changed_archive_is_refused_by_its_sum(api: Caller, furnished: Person) -> None:
    archive = api.get(f"projects/{furnished.project.pk}/export")
    archive["content"]["notes"][0]["revisions"][0]["content"] = "forged"
    refused = api.send(
        "POST", "projects/import?dry_run=false", json.dumps(archive).encode(), Content_Type="application/json"
    )
    assert "sha256" in str(check_problem(refused, 400, "invalid_arguments")["errors"])


@pytest.mark.parametrize("query", ["dry_run=maybe", "dry_run="])
def test_a_bad_query_is_refused_by_name(api: Caller, furnished: Person, query: str) -> None:
    answer = api.send("POST", f"projects/import?{query}", b"{}", Content_Type="application/json")
    assert "dry_run" in check_problem(answer, 400, "invalid_arguments")["errors"]
    answer = api.send("GET", f"projects/{furnished.project.pk}/export?format=xml")
    assert "format" in check_problem(answer, 400, "invalid_arguments")["errors"]


def test_another_media_type_and_too_much_are_refused(api: Caller) -> None:
    check_problem(api.send("POST", "projects/import", b"x", Content_Type="text/plain"), 415, "unsupported_media_type")
    length = str(limits().archive_max_bytes + 1)
    assert int(length) > 1_000_000
