"""The one resource of a connection (R1)."""

import json

import pytest

from tests.cast import Agent, Person
from tests.wire import Wire


def test_the_notes_are_listed_and_have_a_template(wire: Wire, agent: Agent) -> None:
    (resource,) = wire.request("resources/list").json()["result"]["resources"]
    assert resource["uri"] == f"memory://projects/{agent.project_id}/notes"
    assert resource["mimeType"] == "application/json"
    (template,) = wire.request("resources/templates/list").json()["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "memory://projects/{project_id}/notes"


def test_reading_it_gives_the_first_page(wire: Wire, agent: Agent) -> None:
    wire.call("memory_write", {"project_id": agent.project_id, "content": "The lamp turns."})
    uri = f"memory://projects/{agent.project_id}/notes"
    page = wire.call("memory_read", {"project_id": agent.project_id}).ok
    for answer in (wire.request("resources/read", {"uri": uri}), wire.modern("resources/read", {"uri": uri})):
        (contents,) = answer.json()["result"]["contents"]
        assert contents["uri"] == uri
        assert contents["mimeType"] == "application/json"
        assert json.loads(contents["text"]) == page


@pytest.mark.parametrize(
    "form",
    [
        "{uri}/",
        "{uri}?x=1",
        "{uri}#x",
        "{uri_upper}",
        "memory://projects/{other}/notes",
        "file:///etc/passwd",
        "",
        "\0",
    ],
)
def test_any_other_address_is_not_found(wire: Wire, agent: Agent, other_owner: Person, form: str) -> None:
    uri = f"memory://projects/{agent.project_id}/notes"
    asked = form.format(uri=uri, uri_upper=uri.upper(), other=other_owner.project.pk)
    error = wire.request("resources/read", {"uri": asked}).json()["error"]
    assert error["code"] == -32002
    assert error["data"] == {"uri": asked}
    modern = wire.modern("resources/read", {"uri": asked}, Mcp_Name=asked if asked.isprintable() else "x")
    assert modern.json()["error"]["code"] in {-32602, -32020}


def test_an_address_longer_than_any_is_not_given_back(wire: Wire) -> None:
    error = wire.request("resources/read", {"uri": "memory://" + "x" * 10_000}).json()["error"]
    assert error["code"] == -32002
    assert "data" not in error
