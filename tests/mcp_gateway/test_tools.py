"""The three tools as an agent meets them (T1-T11) and the schemas they promise (part 3)."""

import base64
import json
import uuid
from typing import Any

import jsonschema
import pytest

from mcp_gateway.tools import TOOLS
from memford.core.limits import limits
from projects.services import assign_standards, change_project, create_standard, revise_note, revise_standard
from tests.cast import Agent, Person
from tests.live import LiveServer
from tests.wire import Wire


def write(wire: Wire, agent: Agent, content: str, **more: Any) -> dict[str, Any]:
    """Write a note and return its receipt."""
    note: dict[str, Any] = wire.call("memory_write", {"project_id": agent.project_id, "content": content, **more}).ok[
        "note"
    ]
    return note


def read(wire: Wire, agent: Agent, **more: Any) -> dict[str, Any]:
    """Read one page."""
    return wire.call("memory_read", {"project_id": agent.project_id, **more}).ok


def edit(owner: Person, note_id: str, revision: int = 1, **changes: Any) -> None:
    """Change a note as its owner."""
    revise_note(
        owner_id=owner.id,
        project_id=owner.project.pk,
        note_id=note_id,
        expected_revision=revision,
        actor=owner.hand,
        **changes,
    )


class TestSchemas:
    """Written plainly, so that every client's validator takes them."""

    def test_there_are_three_tools(self, wire: Wire) -> None:
        tools = wire.request("tools/list").json()["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["memory_list_projects", "memory_read", "memory_write"]

    def test_inputs_are_closed_and_outputs_open(self) -> None:
        for tool in TOOLS.values():
            advertised = tool.advertised.model_dump(by_alias=True, mode="json", exclude_none=True)
            assert advertised["inputSchema"]["additionalProperties"] is False
            assert "additionalProperties" not in json.dumps(advertised["outputSchema"])
            for schema in (advertised["inputSchema"], advertised["outputSchema"]):
                jsonschema.Draft202012Validator.check_schema(schema)

    def test_no_schema_uses_what_some_client_cannot_read(self) -> None:
        for tool in TOOLS.values():
            advertised = tool.advertised.model_dump(by_alias=True, mode="json", exclude_none=True)
            text = json.dumps([advertised["inputSchema"], advertised["outputSchema"]])
            for word in ("$ref", "$defs", '"format"', "anyOf", "oneOf", "allOf"):
                assert word not in text, (tool.name, word)
            assert '"null"' not in json.dumps(advertised["inputSchema"])

    def test_every_property_is_described_and_bounded(self) -> None:
        def check(schema: dict[str, Any], path: str) -> None:
            kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            for name, prop in schema.get("properties", {}).items():
                assert prop.get("description"), f"{path}.{name}"
                check(prop, f"{path}.{name}")
            if "string" in kinds:
                assert "maxLength" in schema or "enum" in schema, path
            if "integer" in kinds:
                assert {"minimum", "maximum"} <= set(schema), path
            if "array" in kinds:
                assert "maxItems" in schema, path
                check(schema["items"], f"{path}[]")

        for tool in TOOLS.values():
            check(tool.advertised.input_schema, f"{tool.name} input")
            assert tool.advertised.output_schema is not None
            check(tool.advertised.output_schema, f"{tool.name} output")

    def test_titles_and_annotations_tell_what_a_tool_does(self, wire: Wire) -> None:
        tools = wire.request("tools/list").json()["result"]["tools"]
        marks = {tool["name"]: tool["annotations"] for tool in tools}
        assert all(tool["title"] for tool in tools)
        for name, mark in marks.items():
            assert mark["destructiveHint"] is False
            assert mark["openWorldHint"] is False
            assert mark["readOnlyHint"] is (name != "memory_write")
            assert mark["idempotentHint"] is (name != "memory_write")

    def test_real_results_fit_their_schema(self, wire: Wire, agent: Agent, owner: Person) -> None:
        standard = create_standard(owner_id=owner.id, title="Tone", content="Plain words.", actor=owner.hand)
        assign_standards(
            owner_id=owner.id,
            project_id=owner.project.pk,
            expected_revision=0,
            standard_ids=[standard.pk],
            actor=owner.hand,
        )
        arguments = {"project_id": agent.project_id}
        calls: list[tuple[str, dict[str, Any]]] = [
            ("memory_list_projects", {}),
            ("memory_write", {**arguments, "content": "one", "checkpoint_id": str(uuid.uuid4()), "source": "s"}),
            ("memory_write", {**arguments, "content": "two"}),
            ("memory_read", {**arguments, "limit": 1}),
            ("memory_read", arguments),
        ]
        for name, given in calls:
            jsonschema.validate(wire.call(name, given).ok, TOOLS[name].output_schema)

    def test_an_unknown_tool_is_a_protocol_error(self, wire: Wire) -> None:
        reply = wire.request("tools/call", {"name": "memory_forget", "arguments": {}}).json()
        assert reply["error"]["code"] == -32602
        assert "memory_read" in reply["error"]["message"]

    def test_a_list_has_one_page_and_takes_no_cursor(self, wire: Wire) -> None:
        for method in ("tools/list", "resources/list", "resources/templates/list"):
            assert wire.request(method, {"cursor": "x"}).json()["error"]["code"] == -32602


class TestArguments:
    """Bad input gets a clear error that names the field."""

    @pytest.mark.parametrize(
        ("tool", "arguments", "field"),
        [
            ("memory_list_projects", {"limit": 0}, "limit"),
            ("memory_list_projects", {"limit": 101}, "limit"),
            ("memory_list_projects", {"limit": "5"}, "limit"),
            ("memory_list_projects", {"limit": True}, "limit"),
            ("memory_list_projects", {"limit": 1.5}, "limit"),
            ("memory_list_projects", {"offset": -1}, "offset"),
            ("memory_list_projects", {"verbose": True}, "verbose"),
            ("memory_list_projects", {"\ud800": 1}, "\\ud800"),
            ("memory_read", {}, "project_id"),
            ("memory_read", {"project_id": None}, "project_id"),
            ("memory_read", {"project_id": 7}, "project_id"),
            ("memory_read", {"project_id": "x" * 201}, "project_id"),
            ("memory_read", {"project_id": "", "limit": 101}, "limit"),
            ("memory_read", {"project_id": "", "cursor": "x" * 1001}, "cursor"),
            ("memory_write", {"project_id": ""}, "content"),
            ("memory_write", {"project_id": "", "content": ["x"]}, "content"),
            ("memory_write", {"project_id": "", "content": ""}, "content"),
            ("memory_write", {"project_id": "", "content": "x\ud800"}, "content"),
            ("memory_write", {"project_id": "", "content": "x", "source": "\udfff"}, "source"),
            ("memory_write", {"project_id": "", "content": "x\0"}, "content"),
            ("memory_write", {"project_id": "", "content": "x", "source": "\0"}, "source"),
            ("memory_write", {"project_id": "", "content": "x", "source": "s" * 121}, "source"),
            ("memory_write", {"project_id": "", "content": "x", "checkpoint_id": "1"}, "checkpoint_id"),
            (
                "memory_write",
                {"project_id": "", "content": "x", "checkpoint_id": str(uuid.uuid4()).upper()},
                "checkpoint_id",
            ),
            (
                "memory_write",
                {"project_id": "", "content": "x", "checkpoint_id": str(uuid.uuid4()) + "\n"},
                "checkpoint_id",
            ),
            ("memory_write", {"project_id": "", "content": "x", "checkpoint_id": uuid.uuid4().hex}, "checkpoint_id"),
        ],
    )
    def test_the_field_is_named(self, wire: Wire, tool: str, arguments: dict[str, Any], field: str) -> None:
        error = wire.call(tool, arguments).error
        assert error["code"] == "invalid_arguments"
        assert list(error["fields"]) == [field]
        assert error["message"]

    @pytest.mark.parametrize("content", [" ", "\n\t\r\n", "\u3000\u2003"])
    def test_blank_content_is_refused(self, wire: Wire, agent: Agent, content: str) -> None:
        error = wire.call("memory_write", {"project_id": agent.project_id, "content": content}).error
        assert list(error["fields"]) == ["content"]

    def test_a_null_for_an_optional_argument_counts_as_absent(self, wire: Wire, agent: Agent) -> None:
        note = write(wire, agent, "x", source=None, checkpoint_id=None)
        assert note["source"] is None
        assert len(read(wire, agent, limit=None, cursor=None)["notes"]) == 1
        assert wire.request("tools/call", {"name": "memory_list_projects"}).json()["result"]["isError"] is False

    def test_a_whole_number_may_be_written_with_a_point(self, wire: Wire, agent: Agent) -> None:
        assert read(wire, agent, limit=5.0)["notes"] == []


class TestListProjects:
    """T1."""

    def test_only_the_connections_own_project_is_listed(self, wire: Wire, agent: Agent, owner: Person) -> None:
        owner.new_project("Another")
        listed = wire.call("memory_list_projects").ok
        (project,) = listed["projects"]
        assert project == {
            "id": agent.project_id,
            "name": "Lighthouse",
            "description": "",
            "notes_count": 0,
            "memory_revision": 0,
            "standards_revision": 0,
            "created_at": project["created_at"],
        }
        assert listed["next_offset"] is None

    def test_an_offset_beyond_it_finds_nothing_more(self, wire: Wire) -> None:
        assert wire.call("memory_list_projects", {"offset": 1}).ok == {"projects": [], "next_offset": None}

    def test_counts_grow_with_what_is_written(self, wire: Wire, agent: Agent, owner: Person) -> None:
        write(wire, agent, "one")
        change_project(owner_id=owner.id, project_id=agent.project_id, actor=owner.hand, name="Beacon")
        (project,) = wire.call("memory_list_projects").ok["projects"]
        assert (project["name"], project["notes_count"], project["memory_revision"]) == ("Beacon", 1, 2)


class TestWrite:
    """T6, T7, T9, T10."""

    def test_the_receipt_tells_what_was_received_and_who_wrote(self, wire: Wire, agent: Agent, owner: Person) -> None:
        result = wire.call("memory_write", {"project_id": agent.project_id, "content": "text", "source": "desk"}).ok
        note = result["note"]
        assert note == {
            "id": note["id"],
            "project_id": agent.project_id,
            "content": "text",
            "source": "desk",
            "received_at": note["received_at"],
            "writer": {
                "kind": "key",
                "id": str(agent.connection.pk),
                "name": "an agent",
                "account_id": str(owner.id),
            },
        }
        assert "checkpoint_id" not in result

    @pytest.mark.parametrize(
        "content",
        [
            "🗼 naïve café — 漢字",
            "  leading and trailing  \n",
            "line\r\nline\rline\n",
            '{"looks": ["like", "JSON"]}',
            "00123",
            "null",
            "'; DROP TABLE projects_note; --",
            "%s %(x)s {} \\ \\u0041",
            "e\u0301 and é are two texts",
            "\u200b\ufeff\u2028",
            "\x01\x1f\x7f\x85",
        ],
    )
    def test_text_comes_back_exactly(self, wire: Wire, agent: Agent, content: str) -> None:
        assert write(wire, agent, content, source=content[:120])["content"] == content
        (note,) = read(wire, agent)["notes"]
        assert (note["content"], note["source"]) == (content, content[:120])

    def test_the_longest_text_is_stored_and_one_more_code_point_is_not(self, wire: Wire, agent: Agent) -> None:
        # As UTF-8 the body stays below 65,536 bytes with two bytes a letter.
        longest = "é" * 32_000
        body = {"project_id": agent.project_id, "content": longest}
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "memory_write", "arguments": body},
        }
        reply = wire.send(json.dumps(message, ensure_ascii=False).encode()).json()
        assert reply["result"]["structuredContent"]["note"]["content"] == longest
        error = wire.call("memory_write", {"project_id": agent.project_id, "content": "x" * 32_001}).error
        assert (error["code"], list(error["fields"])) == ("invalid_arguments", ["content"])

    def test_an_empty_source_is_not_the_same_as_none(self, wire: Wire, agent: Agent) -> None:
        assert write(wire, agent, "x", source="")["source"] == ""

    def test_a_repeated_checkpoint_returns_the_first_receipt_byte_for_byte(self, wire: Wire, agent: Agent) -> None:
        arguments = {
            "project_id": agent.project_id,
            "content": "once",
            "source": "desk",
            "checkpoint_id": str(uuid.uuid4()),
        }
        first, again = (wire.call("memory_write", arguments).result for _ in range(2))
        assert first == again
        page = read(wire, agent)
        assert len(page["notes"]) == 1
        assert page["memory_revision"] == 1

    @pytest.mark.parametrize("change", [{"content": "other"}, {"source": "other"}, {"source": None}])
    def test_a_checkpoint_with_other_text_is_a_conflict(self, wire: Wire, agent: Agent, change: dict[str, Any]) -> None:
        arguments = {
            "project_id": agent.project_id,
            "content": "once",
            "source": "desk",
            "checkpoint_id": str(uuid.uuid4()),
        }
        assert wire.call("memory_write", arguments).ok
        assert wire.call("memory_write", {**arguments, **change}).error["code"] == "checkpoint_conflict"
        assert len(read(wire, agent)["notes"]) == 1

    def test_another_connections_checkpoint_is_unrelated(self, wire: Wire, agent: Agent, owner: Person) -> None:
        arguments = {"project_id": agent.project_id, "content": "mine", "checkpoint_id": str(uuid.uuid4())}
        first = wire.call("memory_write", arguments).ok["note"]["id"]
        with Wire(wire.url, owner.new_agent().key) as second:
            assert second.call("memory_write", {**arguments, "content": "theirs"}).ok["note"]["id"] != first

    def test_a_retry_undoes_nothing_that_the_owner_did(self, wire: Wire, agent: Agent, owner: Person) -> None:
        arguments = {"project_id": agent.project_id, "content": "first", "checkpoint_id": str(uuid.uuid4())}
        receipt = wire.call("memory_write", arguments).result
        note_id = receipt["structuredContent"]["note"]["id"]
        edit(owner, note_id, content="better", source="owner")
        assert wire.call("memory_write", arguments).result == receipt
        (note,) = read(wire, agent)["notes"]
        assert (note["content"], note["source"], note["revision"]) == ("better", "owner", 2)
        edit(owner, note_id, 2, status="deleted")
        assert wire.call("memory_write", arguments).result == receipt
        assert read(wire, agent)["notes"] == []

    def test_the_owners_storage_has_an_end_and_a_retry_is_still_answered(
        self, wire: Wire, agent: Agent, owner: Person
    ) -> None:
        arguments = {"project_id": agent.project_id, "content": "stored", "checkpoint_id": str(uuid.uuid4())}
        receipt = wire.call("memory_write", arguments).result
        other = owner.new_project("Full")
        type(other).objects.filter(pk=other.pk).update(stored_bytes=limits().stored_text_per_owner_max_bytes)
        error = wire.call("memory_write", {"project_id": agent.project_id, "content": "one more"}).error
        assert error["code"] == "quota_exceeded"
        assert wire.call("memory_write", arguments).result == receipt
        assert read(wire, agent)["memory_revision"] == 1


class TestRead:
    """T2-T5."""

    def test_pages_go_from_new_to_old_and_inside_a_page_from_old_to_new(self, wire: Wire, agent: Agent) -> None:
        for number in range(7):
            write(wire, agent, f"note {number}")
        first = read(wire, agent, limit=3)
        second = read(wire, agent, limit=2, cursor=first["next_cursor"])
        third = read(wire, agent, cursor=second["next_cursor"])
        texts = [[note["content"][-1] for note in page["notes"]] for page in (first, second, third)]
        assert texts == [["4", "5", "6"], ["2", "3"], ["0", "1"]]
        assert third["next_cursor"] is None

    def test_a_full_last_page_is_the_end(self, wire: Wire, agent: Agent) -> None:
        for number in range(2):
            write(wire, agent, str(number))
        assert read(wire, agent, limit=2)["next_cursor"] is None

    def test_a_note_is_shown_as_it_now_reads(self, wire: Wire, agent: Agent, owner: Person) -> None:
        receipt = write(wire, agent, "before", source="desk")
        edit(owner, receipt["id"], content="after")
        (note,) = read(wire, agent)["notes"]
        assert note == {
            "id": receipt["id"],
            "content": "after",
            "source": "desk",
            "revision": 2,
            "received_at": receipt["received_at"],
            "updated_at": note["updated_at"],
            "writer": receipt["writer"],
        }
        assert note["updated_at"] > note["received_at"]

    def test_inactive_and_deleted_notes_are_counted_but_not_read(self, wire: Wire, agent: Agent, owner: Person) -> None:
        ids = [write(wire, agent, str(number))["id"] for number in range(3)]
        edit(owner, ids[0], status="inactive")
        edit(owner, ids[1], status="deleted")
        page = read(wire, agent)
        assert [note["id"] for note in page["notes"]] == [ids[2]]
        assert page["project"]["notes_count"] == 3
        edit(owner, ids[1], 2, status="active")
        assert [note["id"] for note in read(wire, agent)["notes"]] == ids[1:]

    def test_a_page_ends_before_it_grows_too_large(self, wire: Wire, agent: Agent) -> None:
        for _ in range(18):
            write(wire, agent, "x" * 32_000)
        first = read(wire, agent)
        assert len(first["notes"]) == 16
        assert len(read(wire, agent, cursor=first["next_cursor"])["notes"]) == 2

    def test_standards_come_complete_on_every_page_in_the_owners_order(
        self, wire: Wire, agent: Agent, owner: Person
    ) -> None:
        titles = ["Zeal", "Accuracy", "Silence"]
        standards = [
            create_standard(owner_id=owner.id, title=title, content=f"About {title}", actor=owner.hand)
            for title in titles
        ]
        revise_standard(
            owner_id=owner.id,
            standard_id=standards[2].pk,
            expected_revision=1,
            actor=owner.hand,
            status="inactive",
        )
        assign_standards(
            owner_id=owner.id,
            project_id=owner.project.pk,
            expected_revision=0,
            standard_ids=[standard.pk for standard in standards],
            actor=owner.hand,
        )
        for number in range(2):
            write(wire, agent, str(number))
        first = read(wire, agent, limit=1)
        second = read(wire, agent, cursor=first["next_cursor"])
        assert [standard["title"] for standard in first["standards"]] == ["Zeal", "Accuracy"]
        assert first["standards"] == second["standards"]
        assert first["standards"][0] == {
            "id": str(standards[0].pk),
            "title": "Zeal",
            "content": "About Zeal",
            "revision": 1,
        }

    def test_new_notes_do_not_disturb_a_reader(self, wire: Wire, agent: Agent) -> None:
        for number in range(4):
            write(wire, agent, str(number))
        first = read(wire, agent, limit=2)
        write(wire, agent, "new")
        second = read(wire, agent, limit=50, cursor=first["next_cursor"])
        assert [note["content"] for note in second["notes"]] == ["0", "1"]
        for name in ("memory_revision", "standards_revision", "project"):
            assert first[name] == second[name]

    @pytest.mark.parametrize(
        "disturbance", ["content", "inactive", "deleted", "name", "description", "standards", "standard"]
    )
    def test_any_other_change_tells_a_reader_to_begin_again(
        self, wire: Wire, agent: Agent, owner: Person, disturbance: str
    ) -> None:
        standard = create_standard(owner_id=owner.id, title="Tone", content="Plain.", actor=owner.hand)
        assigned: dict[str, Any] = {"owner_id": owner.id, "project_id": owner.project.pk, "actor": owner.hand}
        assign_standards(expected_revision=0, standard_ids=[standard.pk], **assigned)
        ids = [write(wire, agent, str(number))["id"] for number in range(3)]
        cursor = read(wire, agent, limit=1)["next_cursor"]
        match disturbance:
            case "content":
                edit(owner, ids[0], content="edited")
            case "inactive" | "deleted":
                edit(owner, ids[0], status=disturbance)
            case "name" | "description":
                change_project(**{**assigned, disturbance: "other"})
            case "standards":
                assign_standards(expected_revision=1, standard_ids=[], **assigned)
            case "standard":
                revise_standard(
                    owner_id=owner.id,
                    standard_id=standard.pk,
                    expected_revision=1,
                    actor=owner.hand,
                    content="Plainer.",
                )
        error = wire.call("memory_read", {"project_id": agent.project_id, "cursor": cursor}).error
        assert error["code"] == "memory_changed"
        assert "begin again" in error["message"]

    def test_restoring_tells_a_reader_to_begin_again(self, wire: Wire, agent: Agent, owner: Person) -> None:
        ids = [write(wire, agent, str(number))["id"] for number in range(3)]
        edit(owner, ids[0], status="deleted")
        cursor = read(wire, agent, limit=1)["next_cursor"]
        edit(owner, ids[0], 2, status="active")
        error = wire.call("memory_read", {"project_id": agent.project_id, "cursor": cursor}).error
        assert error["code"] == "memory_changed"

    def test_a_cursor_that_is_not_ours_is_refused(self, wire: Wire, agent: Agent, owner: Person) -> None:
        for number in range(3):
            write(wire, agent, str(number))
        cursor = read(wire, agent, limit=1)["next_cursor"]
        payload, _, signature = cursor.rpartition(":")
        forged_position = base64.urlsafe_b64encode(b"[9,3,0,0,3]").decode().rstrip("=")
        bad = ["", "x", cursor[:-1], cursor[1:], f"{payload}:{signature[::-1]}", f"{forged_position}:{signature}"]
        bad += [cursor.replace(":", ""), cursor + "=", "\ud800", "é" * 200, "\0"]
        for value in bad:
            answer = wire.call("memory_read", {"project_id": agent.project_id, "cursor": value})
            assert answer.text.get("error", {}).get("code") == "invalid_cursor", value
        with Wire(wire.url, owner.new_agent().key) as second:
            error = second.call("memory_read", {"project_id": agent.project_id, "cursor": cursor}).error
        assert error["code"] == "invalid_cursor"

    def test_every_accepted_change_raises_its_revision_by_one(self, wire: Wire, agent: Agent, owner: Person) -> None:
        def revisions() -> tuple[int, int]:
            page = read(wire, agent)
            return page["memory_revision"], page["standards_revision"]

        assert revisions() == (0, 0)
        note = write(wire, agent, "one")
        assert revisions() == (1, 0)
        edit(owner, note["id"], content="two")
        assert revisions() == (2, 0)
        edit(owner, note["id"], 2, status="inactive")
        assert revisions() == (3, 0)
        change_project(owner_id=owner.id, project_id=agent.project_id, actor=owner.hand, description="d")
        assert revisions() == (4, 0)
        standard = create_standard(owner_id=owner.id, title="Tone", content="Plain.", actor=owner.hand)
        assert revisions() == (4, 0)
        assigned: dict[str, Any] = {"owner_id": owner.id, "project_id": owner.project.pk, "actor": owner.hand}
        assign_standards(expected_revision=0, standard_ids=[standard.pk], **assigned)
        assert revisions() == (4, 1)
        for revision, change in ((1, {"content": "x"}), (2, {"status": "inactive"})):
            revise_standard(
                owner_id=owner.id, standard_id=standard.pk, expected_revision=revision, actor=owner.hand, **change
            )
        assert revisions() == (4, 3)
        revise_standard(
            owner_id=owner.id, standard_id=standard.pk, expected_revision=3, actor=owner.hand, content="unseen"
        )
        assert revisions() == (4, 3)


def test_cursors_of_an_older_signing_key_stay_good(wire: Wire, agent: Agent, server: LiveServer) -> None:
    from django.conf import settings

    from tests.live import live_server

    for number in range(3):
        write(wire, agent, str(number))
    cursor = read(wire, agent, limit=1)["next_cursor"]
    rotated: dict[str, Any] = {
        "MEMFORD_SECRET_KEY": "n" * 50,
        "MEMFORD_SECRET_KEY_FALLBACKS": f"o{'o' * 50},{settings.SECRET_KEY}",
    }
    with live_server(**rotated) as other, Wire(other.url, agent.key) as second:
        assert len(read(second, agent, cursor=cursor)["notes"]) == 2
    with live_server(MEMFORD_SECRET_KEY="n" * 50) as other, Wire(other.url, agent.key) as second:
        error = second.call("memory_read", {"project_id": agent.project_id, "cursor": cursor}).error
        assert error["code"] == "invalid_cursor"
