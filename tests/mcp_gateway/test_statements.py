"""How many statements a call costs, whatever the project holds."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from mcp_gateway.connections.authentication import authenticate
from mcp_gateway.tools import TOOLS
from mcp_gateway.tools.read import first_page
from mcp_gateway.transport.feed_selectors import attend, claim_hints, look
from mcp_gateway.transport.session_services import Revisions, attach_stream, begin_session
from projects.services import assign_standards, create_standard, write_note
from tests.cast import Agent, Person


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """Count what both roles send."""
    with ExitStack() as stack:
        captures = [stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in ("default", "system")]
        yield lambda: sum(len(capture) for capture in captures)


@pytest.fixture
def busy(owner: Person) -> Agent:
    """An agent of a project with notes and standards, whose key was used just now."""
    agent = owner.new_agent()
    for number in range(120):
        write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content=f"note {number}")
    standards = [
        create_standard(owner_id=owner.id, title=f"S{number}", content="x", actor=owner.hand) for number in range(10)
    ]
    assign_standards(
        owner_id=owner.id,
        project_id=owner.project.pk,
        expected_revision=0,
        standard_ids=[standard.pk for standard in standards],
        actor=owner.hand,
    )
    authenticate(agent.key)
    return agent


def test_authentication_is_one_statement_and_a_second_at_most_once_a_minute(agent: Agent) -> None:
    with counted() as count:
        authenticate(agent.key)
        assert count() == 2
        authenticate(agent.key)
        assert count() == 3


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_list_projects", {}),
        ("memory_read", {"project_id": "{id}"}),
        ("memory_read", {"project_id": "{id}", "limit": 1}),
        ("memory_write", {"project_id": "{id}", "content": "x"}),
        ("memory_write", {"project_id": "{id}", "content": "x", "checkpoint_id": "{checkpoint}"}),
    ],
)
def test_each_tool_is_one_statement(busy: Agent, tool: str, arguments: dict[str, Any]) -> None:
    given = {
        name: value.format(id=busy.project_id, checkpoint=uuid.uuid4()) if isinstance(value, str) else value
        for name, value in arguments.items()
    }
    parsed = TOOLS[tool].parse(given)
    with counted() as count:
        TOOLS[tool].run(busy.principal, parsed)
        assert count() == 1


def test_a_later_page_and_the_resource_are_one_statement_too(busy: Agent) -> None:
    read = TOOLS["memory_read"]
    with counted() as count:
        page = first_page(busy.principal)
        assert count() == 1
        read.run(busy.principal, read.parse({"project_id": busy.project_id, "cursor": page["next_cursor"]}))
        assert count() == 2


def test_a_repeated_write_costs_two_more_to_find_its_receipt(busy: Agent) -> None:
    write = TOOLS["memory_write"]
    parsed = write.parse({"project_id": busy.project_id, "content": "x", "checkpoint_id": str(uuid.uuid4())})
    write.run(busy.principal, parsed)
    with counted() as count:
        write.run(busy.principal, parsed)
        assert count() == 3


def test_another_project_costs_no_statement_at_all(busy: Agent) -> None:
    read = TOOLS["memory_read"]
    with counted() as count:
        with pytest.raises(Exception, match="No project"):
            read.run(busy.principal, read.parse({"project_id": str(uuid.uuid4())}))
        assert count() == 0


def test_the_change_feed_asks_once_for_all_that_it_watches(owner: Person) -> None:
    agents = [owner.new_agent(project=owner.new_project(f"Watched {number}")) for number in range(10)]
    worker = uuid.uuid4()
    epochs = {}
    for agent in agents * 3:
        session = begin_session(agent.principal, revision="2025-11-25", client_info=None)
        attachment = attach_stream(agent.principal, session, worker)
        assert attachment is not None
        epochs[session] = attachment.epoch
    watched = {agent.principal.project_id: Revisions(-1, 0) for agent in agents}
    with counted() as count:
        news = look(worker, watched, [agent.principal.connection_id for agent in agents])
        assert count() == 1
        assert len(news.changed) == len(agents)
        assert len(claim_hints(epochs)) == len(epochs)
        assert count() == 2
        assert len(attend(worker, list(epochs))) == len(epochs)
        assert count() == 3
