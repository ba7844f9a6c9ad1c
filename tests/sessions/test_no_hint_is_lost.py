"""R3 as a property: however streams are cut between reading, changing and attaching, every change is heard of."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from projects.models import Project
from projects.services import change_project, write_note
from tests.cast import Person, new_person
from tests.events import EventReader, begin_session, subscribe
from tests.live import LiveServer, live_server, wait_until
from tests.wire import Wire

STEPS = st.lists(
    st.sampled_from(["write", "write elsewhere", "rename", "read", "attach", "attach with last", "cut", "subscribe"]),
    min_size=3,
    max_size=12,
)


@pytest.fixture(scope="module")
def pair(database_access: None) -> Iterator[tuple[LiveServer, LiveServer]]:
    """Two instances with a quick tick, so that many stories fit into little time."""
    quick = {"MEMFORD_CHANGE_CHECK_INTERVAL_SECONDS": "0.05"}
    with live_server(1, **quick) as first, live_server(1, **quick) as second:
        yield first, second


def revision(event_id: str | None) -> int:
    """Return the memory's revision that an event's id stands for."""
    return int((event_id or "-1-0").rpartition("-")[0])


class Story:
    """One client's life with its session, and what it should have heard."""

    def __init__(self, pair: tuple[LiveServer, LiveServer], seed: int) -> None:
        self.random = random.Random(seed)
        self.person: Person = new_person()
        self.agent = self.person.new_agent()
        self.wires = [Wire(server.url, self.agent.key) for server in pair]
        self.session = begin_session(self.wires[0])
        self.stream: EventReader | None = None
        self.last: str | None = None
        self.read = 0
        self.do_read()

    def wire(self) -> Wire:
        return self.random.choice(self.wires)

    def do_read(self) -> None:
        page = self.wire().call("memory_read", {"project_id": self.agent.project_id}, Mcp_Session_Id=self.session).ok
        self.read = page["memory_revision"]

    def do_write(self) -> None:
        self.wire().call("memory_write", {"project_id": self.agent.project_id, "content": "x"})

    def do_write_elsewhere(self) -> None:
        person = self.person
        write_note(owner_id=person.id, project_id=person.project.pk, writer=person.hand, content="x")

    def do_rename(self) -> None:
        person = self.person
        change_project(owner_id=person.id, project_id=person.project.pk, actor=person.hand, name="Other")

    def do_attach(self, last: str | None = None) -> None:
        old = self.stream
        self.stream = EventReader(self.wire(), self.session, last_event_id=last).__enter__()
        if old is not None:
            self.heard(old)
            old.cut()

    def do_attach_with_last(self) -> None:
        if self.stream is not None:
            self.heard(self.stream)
        self.do_attach(self.last)

    def do_cut(self) -> None:
        if self.stream is not None:
            self.stream.cut()
            self.heard(self.stream)
            self.stream = None

    def do_subscribe(self) -> None:
        subscribe(self.wire(), self.session, self.agent.project_id)

    def heard(self, stream: EventReader) -> None:
        """Keep the newest event that the client really received."""
        for hint in stream.hints:
            if revision(hint.id) > revision(self.last):
                self.last = hint.id

    def finish(self) -> None:
        """See to an open stream; whatever is newer than what was read must be told, or was told on an earlier one."""
        if self.stream is None or self.stream.ended:
            self.do_attach()
        self.do_subscribe()
        stream = self.stream
        assert stream is not None
        current = Project.objects.get(pk=self.person.project.pk).memory_revision
        if current > self.read:
            wait_until(
                lambda: any(revision(id_) == current for id_ in (self.last, *(hint.id for hint in stream.hints))),
                limit_seconds=5,
                what=f"a hint of revision {current} (read {self.read}, heard {self.last})",
            )

    def close(self) -> None:
        if self.stream is not None:
            self.stream.cut()
        for wire in self.wires:
            wire.client.close()


# Without shrinking: a failing story is short as it is, and each step of one takes real time.
@settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS, seed=st.integers(0, 2**32))
def test_no_hint_is_lost(pair: tuple[LiveServer, LiveServer], steps: list[str], seed: int) -> None:
    story: Any = Story(pair, seed)
    try:
        for step in steps:
            getattr(story, "do_" + step.replace(" ", "_"))()
        story.finish()
    finally:
        story.close()
