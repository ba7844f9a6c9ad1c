"""Nobody's agent sees or changes what is another's: the owner, another owner, a stranger, over every tool."""

import json
import uuid
from typing import Any

import pytest

from mcp_gateway.tools import TOOLS
from projects.models import Note
from tests.cast import Agent, Person
from tests.live import LiveServer
from tests.wire import Wire

CALLS: dict[str, dict[str, Any]] = {
    "memory_list_projects": {},
    "memory_read": {"project_id": "{id}"},
    "memory_write": {"project_id": "{id}", "content": "planted"},
}
NOT_FOUND = "Resource not found. Call resources/list for the address that this connection may read."
UNKNOWN = ["", "x", "{upper}", " {id}", "{id} ", "{hex}", str(uuid.UUID(int=0)), "é" * 200, "\ud800", "\0", "{id}\0"]


def filled(arguments: dict[str, Any], project_id: str) -> dict[str, Any]:
    """Put an id into a call's arguments."""
    return {name: value.replace("{id}", project_id) for name, value in arguments.items()}


def test_every_tool_has_its_row() -> None:
    assert set(CALLS) == set(TOOLS)


def test_the_owners_own_agent_succeeds_with_each(wire: Wire, agent: Agent) -> None:
    for tool, arguments in CALLS.items():
        assert wire.call(tool, filled(arguments, agent.project_id)).ok


@pytest.mark.parametrize("tool", [tool for tool, arguments in CALLS.items() if arguments])
def test_foreign_deleted_misspelt_and_another_connections_projects_answer_alike(
    wire: Wire, agent: Agent, owner: Person, other_owner: Person, tool: str
) -> None:
    foreign = str(other_owner.project.pk)
    sibling = str(owner.new_project("Another of the same owner").pk)
    shapes = {"id": agent.project_id, "upper": agent.project_id.upper(), "hex": agent.project_id.replace("-", "")}
    asked = [foreign, sibling, *(form.format(**shapes) for form in UNKNOWN)]
    texts = {wire.call(tool, filled(CALLS[tool], project_id)).result["content"][0]["text"] for project_id in asked}
    assert len(texts) == 1
    assert json.loads(texts.pop())["error"]["code"] == "project_not_available"
    assert not Note.objects.filter(project__in=[foreign, sibling]).exists()


@pytest.mark.parametrize("tool", list(CALLS))
def test_a_stranger_reaches_nothing(server: LiveServer, agent: Agent, tool: str) -> None:
    for key in (None, "mfk_" + "a" * 43, agent.key[:-1], agent.key + "a", agent.key.upper()):
        with Wire(server.url, key) as wire:
            params = {"name": tool, "arguments": filled(CALLS[tool], agent.project_id)}
            assert wire.request("tools/call", params).status_code == 401


def test_what_one_writes_no_other_reads(server: LiveServer, agent: Agent, owner: Person, other_owner: Person) -> None:
    secret = f"only here {uuid.uuid4()}"
    readers = [other_owner.new_agent(), owner.new_agent(project=owner.new_project("Second"))]
    with Wire(server.url, agent.key) as writer:
        writer.call("memory_write", {"project_id": agent.project_id, "content": secret})
    for reader in readers:
        with Wire(server.url, reader.key) as wire:
            for answer in (
                wire.request("tools/call", {"name": "memory_list_projects", "arguments": {}}),
                wire.request("tools/call", {"name": "memory_read", "arguments": {"project_id": reader.project_id}}),
                wire.request("resources/list"),
                wire.request("resources/read", {"uri": f"memory://projects/{reader.project_id}/notes"}),
            ):
                assert secret not in answer.text
                assert agent.project_id not in answer.text
            # Another's address is refused in the very words of one that nobody has.
            for project_id in (agent.project_id, str(uuid.uuid4())):
                uri = f"memory://projects/{project_id}/notes"
                error = wire.request("resources/read", {"uri": uri}).json()["error"]
                assert error["data"].pop("uri") == uri
                assert error == {"code": -32002, "message": NOT_FOUND, "data": {}}


def test_two_agents_of_one_project_share_it_and_are_told_apart(server: LiveServer, owner: Person) -> None:
    first, second = owner.new_agent(name="scribe"), owner.new_agent(name="reader")
    with Wire(server.url, first.key) as wire:
        wire.call("memory_write", {"project_id": first.project_id, "content": "shared", "source": "reader"})
    with Wire(server.url, second.key) as wire:
        (note,) = wire.call("memory_read", {"project_id": second.project_id}).ok["notes"]
    assert note["writer"] == {
        "kind": "key",
        "id": str(first.connection.pk),
        "name": "scribe",
        "account_id": str(owner.id),
    }
