"""The main job in one breath: list, write, read."""

from tests.cast import Agent
from tests.wire import Wire


def test_an_agent_lists_writes_and_reads(wire: Wire, agent: Agent) -> None:
    (project,) = wire.call("memory_list_projects").ok["projects"]
    assert project["id"] == agent.project_id
    written = wire.call("memory_write", {"project_id": project["id"], "content": "The lamp turns every 8 s."}).ok
    page = wire.call("memory_read", {"project_id": project["id"]}).ok
    (note,) = page["notes"]
    assert note["id"] == written["note"]["id"]
    assert note["content"] == "The lamp turns every 8 s."
    assert page["next_cursor"] is None
