"""Event streams: the first byte at once, hints that are never lost, takeover, and an end in good order (R2-R5)."""

import time
from collections.abc import Callable, Iterator

import pytest

from mcp_gateway.connections.services import revoke_connection
from projects.services import delete_project, revise_note, write_note
from tests.cast import Agent, Person, new_person
from tests.events import EventReader, begin_session, subscribe
from tests.live import LiveServer, live_server, wait_until
from tests.wire import Wire


def write(owner: Person, content: str = "news") -> None:
    """Change the project as its owner, from another process than the server's."""
    write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content=content)


@pytest.fixture
def session(wire: Wire, agent: Agent) -> str:
    """A session that read its memory and is subscribed to it."""
    session = begin_session(wire)
    read(wire, agent, session)
    subscribe(wire, session, agent.project_id)
    return session


def read(wire: Wire, agent: Agent, session: str) -> None:
    """Read the first page in a session."""
    wire.call("memory_read", {"project_id": agent.project_id}, Mcp_Session_Id=session)


@pytest.fixture(scope="module")
def quick(database_access: None) -> Iterator[LiveServer]:
    """A server whose streams live and comment in tenths of seconds."""
    with live_server(
        MEMFORD_STREAM_LIFE_SECONDS="2", MEMFORD_STREAM_COMMENT_INTERVAL_SECONDS="0.2", MEMFORD_CHANGE_WAKEUP="off"
    ) as running:
        yield running


def test_a_stream_speaks_at_once_and_says_when_to_come_again(wire: Wire, session: str) -> None:
    with EventReader(wire, session) as stream:
        wait_until(lambda: stream.events, limit_seconds=2, what="the first byte")
        assert stream.status == 200
        assert stream.headers["content-type"] == "text/event-stream"
        assert stream.headers["x-accel-buffering"] == "no"
        retry = stream.events[0].retry
        assert retry is not None
        assert 1_000 <= retry <= 3_000
        assert stream.events[0].at - stream.opened_at < 1


def test_streams_say_different_times_to_come_again(wire: Wire, session: str) -> None:
    seen = set()
    for _ in range(4):
        with EventReader(wire, session) as stream:
            wait_until(lambda stream=stream: stream.events, what="the first byte")
            seen.add(stream.events[0].retry)
    assert len(seen) > 1


def test_a_change_gives_a_hint_without_content(wire: Wire, agent: Agent, owner: Person, session: str) -> None:
    with EventReader(wire, session) as stream:
        write(owner, "a secret")
        (hint,) = stream.wait_for_hints(1)
        assert hint.data == {
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": f"memory://projects/{agent.project_id}/notes"},
        }
        assert hint.id == "1-0"
        note = owner.project.notes.get()
        revise_note(
            owner_id=owner.id,
            project_id=owner.project.pk,
            note_id=note.pk,
            expected_revision=1,
            actor=owner.hand,
            status="inactive",
        )
        assert stream.wait_for_hints(2)[1].id == "2-0"


def test_a_change_by_an_agent_of_the_same_worker_is_told_at_once(wire: Wire, agent: Agent, session: str) -> None:
    with EventReader(wire, session) as stream:
        wait_until(lambda: stream.events, what="the first byte")
        before = time.monotonic()
        wire.call("memory_write", {"project_id": agent.project_id, "content": "x"})
        assert stream.wait_for_hints(1)[0].at - before < 0.9, "sooner than the next tick"


def test_a_busy_project_keeps_nobody_from_the_tick(
    server: LiveServer, wire: Wire, agent: Agent, owner: Person, session: str
) -> None:
    busy = new_person().new_agent()
    with EventReader(wire, session) as stream, Wire(server.url, busy.key) as busy_wire:
        busy_session = begin_session(busy_wire)
        subscribe(busy_wire, busy_session, busy.project_id)
        with EventReader(busy_wire, busy_session):
            wait_until(lambda: stream.events, what="the first byte")

            def is_told_amid_changes(what: Callable[[], bool]) -> bool:
                busy_wire.call("memory_write", {"project_id": busy.project_id, "content": "x"})
                return what()

            write(owner)
            wait_until(lambda: is_told_amid_changes(lambda: bool(stream.hints)), limit_seconds=3, what="the hint")
            revoke_connection(owner_id=owner.id, connection_id=agent.connection.pk, actor=owner.hand)
            wait_until(lambda: is_told_amid_changes(lambda: stream.ended), limit_seconds=3, what="the stream's end")


def test_changes_within_one_tick_give_one_hint(quick: LiveServer, agent: Agent, owner: Person) -> None:
    with Wire(quick.url, agent.key) as wire:
        session = begin_session(wire)
        read(wire, agent, session)
        subscribe(wire, session, agent.project_id)
        with EventReader(wire, session) as stream:
            wait_until(lambda: stream.events, what="the first byte")
            for _ in range(10):
                write(owner)
            wait_until(lambda: stream.hints and stream.hints[-1].id == "10-0", what="the last revision")
            assert len(stream.hints) <= 2


def test_no_hint_without_a_subscription_nor_after_it_ended(
    wire: Wire, agent: Agent, owner: Person, other_owner: Person
) -> None:
    silent, told = begin_session(wire), begin_session(wire)
    for session in (silent, told):
        read(wire, agent, session)
    subscribe(wire, told, agent.project_id)
    with EventReader(wire, silent) as quiet, EventReader(wire, told) as loud:
        write(other_owner)
        write(owner)
        loud.wait_for_hints(1)
        subscribe(wire, told, agent.project_id, "resources/unsubscribe")
        write(owner)
        subscribe(wire, silent, agent.project_id)
        quiet.wait_for_hints(1)
        assert len(loud.hints) == 1


class TestAttachment:
    """Every attachment hints at once if the project is newer than what the session read (R3)."""

    def test_nothing_new_gives_no_hint(self, wire: Wire, session: str) -> None:
        with EventReader(wire, session) as stream:
            wait_until(lambda: stream.events, what="the first byte")
            assert stream.hints == []

    def test_a_change_since_the_read_is_told(self, wire: Wire, owner: Person, session: str) -> None:
        write(owner)
        for _ in range(2):
            with EventReader(wire, session) as stream:
                (hint,) = stream.wait_for_hints(1, limit_seconds=1)
                assert hint.id == "1-0"

    def test_having_read_nothing_is_told_too(self, wire: Wire, agent: Agent) -> None:
        session = begin_session(wire)
        subscribe(wire, session, agent.project_id)
        with EventReader(wire, session) as stream:
            stream.wait_for_hints(1, limit_seconds=1)

    def test_what_the_last_event_told_counts_as_seen(self, wire: Wire, owner: Person, session: str) -> None:
        write(owner)
        with EventReader(wire, session, last_event_id="1-0") as stream:
            wait_until(lambda: stream.events, what="the first byte")
            assert stream.hints == []
            write(owner)
            stream.wait_for_hints(1)

    @pytest.mark.parametrize("last", ["", "1", "1-", "-1", "2-0", "99-99", "x-y", "1-0-0", "9" * 40 + "-0", "-1-0"])
    def test_any_other_last_event_is_ignored(self, wire: Wire, owner: Person, session: str, last: str) -> None:
        write(owner)
        with EventReader(wire, session, last_event_id=last) as stream:
            stream.wait_for_hints(1, limit_seconds=1)

    def test_subscribing_on_an_open_stream_tells_what_was_missed(self, wire: Wire, agent: Agent, owner: Person) -> None:
        session = begin_session(wire)
        read(wire, agent, session)
        with EventReader(wire, session) as stream:
            write(owner)
            wait_until(lambda: stream.events, what="the first byte")
            subscribe(wire, session, agent.project_id)
            stream.wait_for_hints(1)


class TestEnds:
    """A stream ends well-formed: by its life, a newer one, DELETE, or what ends its connection."""

    def test_a_newer_get_takes_over(self, wire: Wire, owner: Person, session: str) -> None:
        with EventReader(wire, session) as old, EventReader(wire, session) as new:
            old.wait_for_end()
            assert old.well_formed
            write(owner)
            new.wait_for_hints(1)
            assert old.hints == []
            assert not new.ended

    def test_it_ends_by_itself_and_comments_meanwhile(self, quick: LiveServer, agent: Agent) -> None:
        with Wire(quick.url, agent.key) as wire:
            session = begin_session(wire)
            with EventReader(wire, session) as stream:
                stream.wait_for_end(4)
                assert stream.well_formed
                assert 1.7 < time.monotonic() - stream.opened_at < 3
                assert len([event for event in stream.events if event.comment]) >= 4

    def test_delete_ends_the_stream(self, wire: Wire, session: str) -> None:
        with EventReader(wire, session) as stream:
            assert wire.send(b"", method="DELETE", Mcp_Session_Id=session).status_code == 204
            stream.wait_for_end(3)
            assert stream.well_formed

    def test_revoking_ends_it_within_the_change_check(
        self, wire: Wire, agent: Agent, owner: Person, session: str
    ) -> None:
        uri = f"memory://projects/{agent.project_id}/notes"
        with (
            EventReader(wire, session) as stream,
            EventReader(wire, listen={"resourceSubscriptions": [uri]}) as listening,
        ):
            listening.wait_for_hints(1)
            revoke_connection(owner_id=owner.id, connection_id=agent.connection.pk, actor=owner.hand)
            for ending in (stream, listening):
                ending.wait_for_end(3)
                assert ending.well_formed
            assert listening.events[-1].data["result"]["resultType"] == "complete"

    def test_deleting_the_project_ends_it(self, wire: Wire, owner: Person, session: str) -> None:
        with EventReader(wire, session) as stream:
            wait_until(lambda: stream.events, what="the first byte")
            delete_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand)
            stream.wait_for_end(3)


class TestListening:
    """``subscriptions/listen`` of 2026-07-28 (R4)."""

    def test_it_is_acknowledged_hinted_and_kept(self, wire: Wire, agent: Agent, owner: Person) -> None:
        uri = f"memory://projects/{agent.project_id}/notes"
        meta = {"io.modelcontextprotocol/subscriptionId": "listening"}
        with EventReader(wire, listen={"resourceSubscriptions": [uri]}) as stream:
            stream.wait_for_hints(1)
            assert stream.events[0].data == {
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": {"resourceSubscriptions": [uri]}, "_meta": meta},
            }
            assert stream.hints[0].data["params"] == {"uri": uri, "_meta": meta}
            write(owner)
            stream.wait_for_hints(2)

    def test_a_foreign_address_is_neither_acknowledged_nor_delivered(
        self, wire: Wire, agent: Agent, owner: Person, other_owner: Person
    ) -> None:
        foreign = f"memory://projects/{other_owner.project.pk}/notes"
        own = f"memory://projects/{agent.project_id}/notes"
        asked = {"resourceSubscriptions": [foreign, own, "file:///x"], "toolsListChanged": True}
        alone = {"resourceSubscriptions": [foreign], "promptsListChanged": True, "resourcesListChanged": True}
        with EventReader(wire, listen=asked) as mixed, EventReader(wire, listen=alone) as empty:
            mixed.wait_for_hints(1)
            assert mixed.events[0].data["params"]["notifications"] == {"resourceSubscriptions": [own]}
            wait_until(lambda: empty.events, what="the acknowledgement")
            assert empty.events[0].data["params"]["notifications"] == {}
            write(other_owner)
            write(owner)
            mixed.wait_for_hints(2)
            assert empty.hints == []
            for stream in (mixed, empty):
                assert foreign not in str([event.data for event in stream.events])

    def test_it_outlives_the_life_of_a_sessions_stream(self, quick: LiveServer, agent: Agent, owner: Person) -> None:
        uri = f"memory://projects/{agent.project_id}/notes"
        with Wire(quick.url, agent.key) as wire, EventReader(wire, listen={"resourceSubscriptions": [uri]}) as stream:
            wait_until(lambda: time.monotonic() - stream.opened_at > 2.5, what="more than a stream's life")
            assert not stream.ended
            write(owner)
            stream.wait_for_hints(2)

    def test_what_is_no_filter_is_refused(self, wire: Wire) -> None:
        for params in ({}, {"notifications": 7}, {"notifications": {"resourceSubscriptions": "x"}}):
            answer = wire.modern("subscriptions/listen", params)
            assert answer.status_code == 400
            assert answer.json()["error"]["code"] == -32602

    def test_it_needs_a_client_that_takes_events(self, wire: Wire) -> None:
        answer = wire.modern("subscriptions/listen", {"notifications": {}}, Accept="application/json")
        assert answer.status_code == 406


def test_sigterm_ends_streams_at_once_with_a_well_formed_end(agent: Agent, owner: Person) -> None:
    uri = f"memory://projects/{agent.project_id}/notes"
    with live_server() as server, Wire(server.url, agent.key) as wire:
        session = begin_session(wire)
        with (
            EventReader(wire, session) as stream,
            EventReader(wire, listen={"resourceSubscriptions": [uri]}) as listening,
        ):
            listening.wait_for_hints(1)
            before = time.monotonic()
            server.process.terminate()
            for ending in (stream, listening):
                ending.wait_for_end(3)
                assert ending.well_formed
            assert listening.events[-1].data["id"] == "listening"
            assert listening.events[-1].data["result"]["_meta"]
            server.process.wait(5)
            assert time.monotonic() - before < 5
