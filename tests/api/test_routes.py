"""What an owner can do through the API, and what comes back (A1-A8)."""

import uuid
from typing import Any

import pytest

from mcp_gateway.connections.models import Connection
from memford.core.secrets import digest
from projects.services import revise_note, write_note
from tests.api.caller import Caller, check_problem
from tests.cast import Agent, Person
from tests.live import LiveServer
from tests.oauth import OAuthClient
from tests.wire import Wire

TEXT = "  Zwölf 🪨\r\n\ttrue 007 \u202e  "


def test_me_and_logout(api: Caller, owner: Person) -> None:
    me = api.get("me")
    assert (me["id"], me["email"]) == (str(owner.id), owner.owner.email)
    assert api.send("POST", "logout").status_code == 204
    check_problem(api.send("GET", "me"), 401, "signed_out")


class TestProjects:
    """Projects (A8, T9)."""

    def test_a_project_is_made_changed_listed_and_deleted(self, api: Caller, owner: Person) -> None:
        answer = api.send("POST", "projects", {"name": TEXT[:40], "description": "What it is"})
        assert answer.status_code == 201
        made = answer.json()
        assert answer.headers["location"] == f"/api/projects/{made['id']}"
        assert made["name"] == TEXT[:40]
        assert set(made) == {
            "id", "name", "description", "notes_count", "memory_revision", "standards_revision",
            "assignment_revision", "created_at",
        }  # fmt: skip
        changed = api.send("PATCH", f"projects/{made['id']}", {"description": ""})
        assert (changed.status_code, changed.json()["description"], changed.json()["memory_revision"]) == (200, "", 1)
        listed = api.get("projects")
        assert [project["id"] for project in listed["projects"]] == [str(owner.project.pk), made["id"]]
        assert listed["next_cursor"] is None
        deleted = api.send("DELETE", f"projects/{made['id']}")
        assert (deleted.status_code, deleted.text) == (204, "")
        check_problem(api.send("GET", f"projects/{made['id']}"), 404, "not_found")
        assert len(api.get("projects")["projects"]) == 1

    def test_deleting_ends_its_agents(self, api: Caller, owner: Person, agent: Agent, server: LiveServer) -> None:
        assert api.send("DELETE", f"projects/{owner.project.pk}").status_code == 204
        with Wire(server.url, agent.key) as wire:
            assert wire.request("ping").status_code == 401

    def test_a_limit_that_is_reached_is_a_conflict(self, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(99):
            api.post("projects", {"name": f"Project {number}"})
        check_problem(api.send("POST", "projects", {"name": "One too many"}), 409, "quota_exceeded")


class TestNotes:
    """Notes and their revisions (A1, A2)."""

    def test_a_note_is_written_edited_and_restored(self, api: Caller, owner: Person) -> None:
        notes = f"projects/{owner.project.pk}/notes"
        answer = api.send("POST", notes, {"content": TEXT, "source": ""})
        made = answer.json()
        assert answer.headers["location"] == f"/api/{notes}/{made['id']}"
        assert made["original"] == {"content": TEXT, "source": ""}
        assert (made["content"], made["status"], made["revision"]) == (TEXT, "active", 1)
        assert made["writer"] == {
            "kind": "owner",
            "id": str(owner.id),
            "name": owner.owner.email,
            "account_id": str(owner.id),
        }
        one = f"{notes}/{made['id']}"
        steps: list[dict[str, Any]] = [
            {"content": "Edited"},
            {"status": "deleted"},
            {"status": "active", "source": None},
        ]
        for revision, change in enumerate(steps, 1):
            changed = api.send("PATCH", one, {"expected_revision": revision, **change})
            assert changed.status_code == 200, changed.text
            assert changed.json()["revision"] == revision + 1
            assert changed.json()["original"] == {"content": TEXT, "source": ""}
        revisions = api.get(f"{one}/revisions")["revisions"]
        assert [(r["revision"], r["content"], r["source"], r["status"]) for r in revisions] == [
            (1, TEXT, "", "active"),
            (2, "Edited", "", "active"),
            (3, "Edited", "", "deleted"),
            (4, "Edited", None, "active"),
        ]
        assert revisions[1]["changed_by"] == {"kind": "owner", "id": str(owner.id), "name": owner.owner.email}

    def test_a_stale_edit_is_told_the_current_revision(self, api: Caller, owner: Person) -> None:
        notes = f"projects/{owner.project.pk}/notes"
        one = f"{notes}/{api.post(notes, {'content': 'First'})['id']}"
        assert api.send("PATCH", one, {"expected_revision": 1, "content": "Theirs"}).status_code == 200
        answer = api.send("PATCH", one, {"expected_revision": 1, "content": "Mine"})
        assert check_problem(answer, 409, "revision_conflict")["current_revision"] == 2
        assert api.get(one)["content"] == "Theirs"

    def test_lists_page_and_filter(self, api: Caller, owner: Person) -> None:
        for number in range(7):
            write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content=f"note {number}")
        notes = f"projects/{owner.project.pk}/notes"
        seen, cursor = [], ""
        while True:
            page = api.get(f"{notes}?limit=3{cursor}")
            seen += [note["content"] for note in page["notes"]]
            if page["next_cursor"] is None:
                break
            assert len(page["notes"]) == 3
            cursor = f"&cursor={page['next_cursor']}"
        assert seen == [f"note {number}" for number in reversed(range(7))]
        newest = api.get(f"{notes}?limit=1")["notes"][0]
        revise_note(
            owner_id=owner.id,
            project_id=owner.project.pk,
            note_id=newest["id"],
            expected_revision=1,
            status="inactive",
            actor=owner.hand,
        )
        assert [note["content"] for note in api.get(f"{notes}?status=inactive")["notes"]] == ["note 6"]
        assert len(api.get(f"{notes}?status=active")["notes"]) == 6
        assert len(api.get(notes)["notes"]) == 7

    def test_a_cursor_is_one_lists_and_one_owners(self, api: Caller, owner: Person, other_api: Caller) -> None:
        for number in range(3):
            write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content=f"note {number}")
        notes = f"projects/{owner.project.pk}/notes"
        cursor = api.get(f"{notes}?limit=1")["next_cursor"]
        other = other_api.get("projects")["projects"][0]["id"]
        for answer in (
            api.send("GET", f"projects/{owner.project.pk}/activity?cursor={cursor}"),
            other_api.send("GET", f"projects/{other}/notes?cursor={cursor}"),
            api.send("GET", f"{notes}?cursor={cursor[:-1]}"),
            api.send("GET", f"{notes}?cursor=%00"),
            api.send("GET", f"{notes}?cursor={'x' * 3_000}"),
        ):
            assert "cursor" in check_problem(answer, 400, "invalid_arguments")["errors"]


class TestStandards:
    """Standards, their history and assignment (A3, A4)."""

    def test_a_standard_is_shelved_edited_and_assigned(self, api: Caller, owner: Person) -> None:
        made = api.post("standards", {"title": "Style", "content": "Short."})
        second = api.post("standards", {"title": "Tests", "content": "Real."})
        one = f"standards/{made['id']}"
        changed = api.send("PATCH", one, {"expected_revision": 1, "content": "Shorter."})
        assert (changed.status_code, changed.json()["revision"]) == (200, 2)
        stale = api.send("PATCH", one, {"expected_revision": 1, "title": "Late"})
        assert check_problem(stale, 409, "revision_conflict")["current_revision"] == 2
        revisions = api.get(f"{one}/revisions")["revisions"]
        assert [(r["revision"], r["content"]) for r in revisions] == [(1, "Short."), (2, "Shorter.")]
        assert [standard["id"] for standard in api.get("standards")["standards"]] == [made["id"], second["id"]]
        assigned = f"projects/{owner.project.pk}/standards"
        assert api.get(assigned) == {"assignment_revision": 0, "standard_ids": [], "standards": []}
        wanted = [second["id"], made["id"]]
        answer = api.send("PUT", assigned, {"expected_revision": 0, "standard_ids": wanted})
        assert answer.status_code == 200
        assert answer.json()["assignment_revision"] == 1
        assert answer.json()["standard_ids"] == wanted
        assert [standard["title"] for standard in answer.json()["standards"]] == ["Tests", "Style"]
        late = api.send("PUT", assigned, {"expected_revision": 0, "standard_ids": []})
        assert check_problem(late, 409, "revision_conflict")["current_revision"] == 1
        twice = api.send("PUT", assigned, {"expected_revision": 1, "standard_ids": [made["id"]] * 2})
        check_problem(twice, 400, "invalid_arguments")


class TestAccess:
    """Keys and connections (A5, A6)."""

    def test_a_key_is_shown_once_and_revoked_at_once(self, api: Caller, owner: Person, server: LiveServer) -> None:
        asked = {"project_id": str(owner.project.pk), "name": "Nightly", "access": "read_only", "expires_in_days": 7}
        answer = api.send("POST", "tokens", asked)
        made = answer.json()
        assert answer.headers["cache-control"] == "no-store"
        assert made["key"].startswith(made["prefix"])
        assert Connection.objects.get(pk=made["id"]).key_digest == digest(made["key"])
        listed = api.get("tokens")["tokens"]
        assert [token["id"] for token in listed] == [made["id"]]
        assert "key" not in listed[0]
        assert made["key"] not in str(listed)
        with Wire(server.url, made["key"]) as wire:
            assert wire.request("ping").status_code == 200
            assert api.get(f"tokens/{made['id']}")["last_used_at"] is not None
            assert api.send("DELETE", f"tokens/{made['id']}").status_code == 204
            assert wire.request("ping").status_code == 401
        assert api.get(f"tokens/{made['id']}")["revoked_reason"] == "owner"
        assert api.send("DELETE", f"tokens/{made['id']}").status_code == 204

    def test_a_connection_is_seen_and_disconnected(self, api: Caller, owner: Person, server: LiveServer) -> None:
        client = OAuthClient(server.url)
        tokens = client.connect(owner, access="read_only")
        (listed,) = api.get("connections")["connections"]
        assert (listed["client_name"], listed["redirect_host"], listed["access"]) == (
            "Test client",
            "127.0.0.1:49152",
            "read_only",
        )
        assert listed["renewal_limit"]
        check_problem(api.send("GET", f"tokens/{listed['id']}"), 404, "not_found")
        assert api.send("DELETE", f"connections/{listed['id']}").status_code == 204
        assert not client.works(tokens["access_token"])
        assert api.get(f"connections/{listed['id']}")["revoked_at"] is not None

    def test_the_activity_tells_of_it_all_without_content(self, api: Caller, owner: Person, server: LiveServer) -> None:
        OAuthClient(server.url).connect(owner)
        api.post(f"projects/{owner.project.pk}/notes", {"content": "a secret thing"})
        log = f"projects/{owner.project.pk}/activity"
        lines = api.get(f"{log}?limit=2")
        assert [line["tag"] for line in lines["activity"]] == ["note_written", "connection_approved"]
        assert "a secret thing" not in str(lines)
        older = api.get(f"{log}?cursor={lines['next_cursor']}")
        assert [line["tag"] for line in older["activity"]] == ["project_created"]


class TestDoor:
    """The login session and the public origin, and nothing else (part 6)."""

    @pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://localhost", "{url}/", "{upper}"])
    def test_a_change_needs_the_public_origin(self, api: Caller, owner: Person, origin: str | None) -> None:
        given = None if origin is None else origin.format(url=api.url, upper=api.url.upper())
        for method, path, body in (
            ("POST", "projects", {"name": "x"}),
            ("PATCH", f"projects/{owner.project.pk}", {"name": "x"}),
            ("DELETE", f"projects/{owner.project.pk}", None),
            ("POST", "logout", None),
        ):
            check_problem(api.send(method, path, body, Origin=given), 403, "origin_required")
        assert api.get("projects", Origin=given)["projects"][0]["name"] == "Lighthouse"

    def test_nobody_is_sent_anywhere(self, stranger: Caller) -> None:
        for method, path in (("GET", "me"), ("POST", "projects"), ("GET", f"projects/{uuid.uuid4()}")):
            answer = stranger.send(method, path, {} if method == "POST" else None)
            check_problem(answer, 401, "signed_out")
            assert answer.headers["www-authenticate"].startswith("Session")

    def test_no_credential_of_an_agent_opens_it(
        self, stranger: Caller, owner: Person, agent: Agent, server: LiveServer
    ) -> None:
        tokens = OAuthClient(server.url).connect(owner)
        for credential in (agent.key, tokens["access_token"]):
            check_problem(stranger.send("GET", "me", Authorization=f"Bearer {credential}"), 401, "signed_out")

    def test_no_csrf_token_is_asked_for(self, api: Caller) -> None:
        assert api.send("POST", "projects", {"name": "By a page's script"}).status_code == 201

    def test_a_deactivated_owner_is_out(self, api: Caller, owner: Person) -> None:
        type(owner.owner).objects.filter(pk=owner.id).update(is_active=False)
        check_problem(api.send("GET", "me"), 401, "signed_out")

    def test_a_tag_spares_what_has_not_changed(self, api: Caller, owner: Person) -> None:
        path = f"projects/{owner.project.pk}"
        tag = api.send("GET", path).headers["etag"]
        same = api.send("GET", path, If_None_Match=f'"x", {tag}')
        assert (same.status_code, same.text, same.headers["etag"]) == (304, "", tag)
        api.send("PATCH", path, {"name": "Changed"})
        assert api.send("GET", path, If_None_Match=tag).status_code == 200

    @pytest.mark.parametrize(
        "path", ["", "nothing", "me%0d%0aX:1", "projects/", "projects/x/y/z", "me/", "%00", "me?limit=%ff"]
    )
    def test_what_is_no_route_is_a_problem_too(self, api: Caller, path: str) -> None:
        answer = api.send("GET", path)
        if path.startswith("me?"):
            assert answer.status_code == 200
        else:
            check_problem(answer, 404, "not_found")


class TestBodies:
    """Strict bodies with clear words (part 6, T10)."""

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"content": "x", "colour": "red"}, "colour"),
            ({}, "content"),
            ({"content": None}, "content"),
            ({"content": 7}, "content"),
            ({"content": True}, "content"),
            ({"content": " "}, "content"),
            ({"content": "x" * 32_001}, "content"),
            ({"content": "a\0b"}, "content"),
            ({"content": "x", "source": "s" * 121}, "source"),
            ({"content": "x", "source": ["s"]}, "source"),
        ],
    )
    def test_the_field_is_named(self, api: Caller, owner: Person, body: Any, field: str) -> None:
        answer = api.send("POST", f"projects/{owner.project.pk}/notes", body)
        assert list(check_problem(answer, 400, "invalid_arguments")["errors"]) == [field]
        assert api.get(f"projects/{owner.project.pk}")["notes_count"] == 0

    def test_a_lone_surrogate_is_named_too(self, api: Caller, owner: Person) -> None:
        answer = api.send(
            "POST", f"projects/{owner.project.pk}/notes", b'{"content": "\\ud800"}', Content_Type="application/json"
        )
        assert "content" in check_problem(answer, 400, "invalid_arguments")["errors"]

    @pytest.mark.parametrize("body", [b'{"\\ud800": 1}', b'{"name": "x", "access": "\\ud800", "project_id": "x"}'])
    def test_a_lone_surrogate_anywhere_is_a_problem_of_the_callers(self, api: Caller, body: bytes) -> None:
        answer = api.send("POST", "tokens", body, Content_Type="application/json")
        assert "\\ud800" in str(check_problem(answer, 400, "invalid_arguments")["errors"])

    @pytest.mark.parametrize(
        ("revision", "ok"),
        [(1, True), ("1", False), (True, False), (1.0, False), (0, False), (2**31, False), (10**30, False)],
    )
    def test_a_revision_is_a_whole_number(self, api: Caller, owner: Person, revision: Any, ok: bool) -> None:
        notes = f"projects/{owner.project.pk}/notes"
        note = api.post(notes, {"content": "x"})
        answer = api.send("PATCH", f"{notes}/{note['id']}", {"expected_revision": revision, "content": "y"})
        assert answer.status_code == (200 if ok else 400)

    @pytest.mark.parametrize(
        ("content", "kind", "status", "code"),
        [
            (b"{", "application/json", 400, "malformed_body"),
            (b"\xff", "application/json", 400, "malformed_body"),
            (b"[]", "application/json", 400, "malformed_body"),
            (b'"x"', "application/json", 400, "malformed_body"),
            (b'{"name": NaN}', "application/json", 400, "malformed_body"),
            (b"[" * 100_000, "application/json", 400, "malformed_body"),
            (b"name=x", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
            (b'{"name": "x"}', "text/plain", 415, "unsupported_media_type"),
            (b'{"name": "' + b"x" * 1_100_000 + b'"}', "application/json", 413, "request_too_large"),
        ],
    )
    def test_what_cannot_be_read_is_refused(
        self, api: Caller, content: bytes, kind: str, status: int, code: str
    ) -> None:
        check_problem(api.send("POST", "projects", content, Content_Type=kind), status, code)

    @pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=-1", "limit=%C2%B2", "status=gone"])
    def test_a_bad_query_is_refused_by_name(self, api: Caller, owner: Person, query: str) -> None:
        answer = api.send("GET", f"projects/{owner.project.pk}/notes?{query}")
        assert list(check_problem(answer, 400, "invalid_arguments")["errors"]) == [query.partition("=")[0]]

    def test_another_method_is_refused(self, api: Caller, owner: Person) -> None:
        answer = api.send("PUT", f"projects/{owner.project.pk}", {})
        check_problem(answer, 405, "method_not_allowed")
        assert answer.headers["allow"] == "GET, PATCH, DELETE, HEAD, OPTIONS"
