"""Two instances with two workers each on one database: a session is everybody's, and no hint is lost (G9, R3, R5)."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.cast import Agent
from tests.events import EventReader, begin_session, subscribe
from tests.live import LiveServer, live_server, wait_until
from tests.wire import Wire

Pair = tuple[LiveServer, LiveServer]


@pytest.fixture(scope="module")
def pair(database_access: None) -> Iterator[Pair]:
    """Two instances that know of each other by the database alone."""
    with (
        live_server(workers=2, MEMFORD_CHANGE_WAKEUP="off") as first,
        live_server(workers=2, MEMFORD_CHANGE_WAKEUP="off") as second,
    ):
        yield first, second


def read(wire: Wire, agent: Agent, session: str) -> int:
    """Read the first page in a session and return the memory's revision."""
    page = wire.call("memory_read", {"project_id": agent.project_id}, Mcp_Session_Id=session).ok
    revision: int = page["memory_revision"]
    return revision


def write(wire: Wire, agent: Agent, session: str | None = None) -> None:
    """Write a note."""
    wire.call("memory_write", {"project_id": agent.project_id, "content": "news"}, Mcp_Session_Id=session)


def test_begin_on_one_call_on_the_other_hear_on_the_first(pair: Pair, agent: Agent) -> None:
    with Wire(pair[0].url, agent.key) as first, Wire(pair[1].url, agent.key) as second:
        session = begin_session(first)
        assert read(second, agent, session) == 0
        subscribe(first, session, agent.project_id)
        with EventReader(first, session) as stream:
            write(second, agent, session)
            assert stream.wait_for_hints(1)[0].id == "1-0"


def test_every_worker_serves_every_session(pair: Pair, agent: Agent) -> None:
    with Wire(pair[0].url, agent.key) as first:
        session = begin_session(first)
    for _ in range(6):
        for server in pair:
            # A new connection each time, so that the kernel picks another worker.
            with Wire(server.url, agent.key) as wire:
                assert wire.request("ping", Mcp_Session_Id=session).status_code == 200


def test_a_stream_is_taken_over_from_the_other_instance(pair: Pair, agent: Agent) -> None:
    with Wire(pair[0].url, agent.key) as first, Wire(pair[1].url, agent.key) as second:
        session = begin_session(first)
        read(first, agent, session)
        subscribe(first, session, agent.project_id)
        with EventReader(first, session) as old, EventReader(second, session) as new:
            old.wait_for_end(3)
            assert old.well_formed
            write(first, agent)
            new.wait_for_hints(1)
            assert old.hints == []


def test_subscribing_through_the_other_instance_reaches_the_stream(pair: Pair, agent: Agent) -> None:
    with Wire(pair[0].url, agent.key) as first, Wire(pair[1].url, agent.key) as second:
        session = begin_session(first)
        read(first, agent, session)
        with EventReader(first, session) as stream:
            write(first, agent)
            subscribe(second, session, agent.project_id)
            stream.wait_for_hints(1)
            assert second.send(b"", method="DELETE", Mcp_Session_Id=session).status_code == 204
            stream.wait_for_end(3)


def test_a_client_of_a_killed_instance_finds_everything_on_the_other(agent: Agent) -> None:
    with live_server(workers=2) as doomed, live_server(workers=2) as other, Wire(other.url, agent.key) as second:
        with Wire(doomed.url, agent.key) as first:
            session = begin_session(first)
            read(first, agent, session)
            subscribe(first, session, agent.project_id)
            with EventReader(first, session) as stream:
                wait_until(lambda: stream.events, what="the first byte")
                # The workers first: one whose arbiter is gone would still end its streams in good order.
                for pid in [*doomed.worker_pids(), doomed.process.pid]:
                    os.kill(pid, signal.SIGKILL)
                stream.wait_for_end()
                assert not stream.well_formed
        write(second, agent)
        with EventReader(second, session) as again:
            assert again.wait_for_hints(1, limit_seconds=2)[0].id == "1-0"
        assert read(second, agent, session) == 1


def test_restarting_costs_a_reconnect_and_nothing_else(agent: Agent) -> None:
    with live_server() as server, Wire(server.url, agent.key) as wire:
        session = begin_session(wire)
        read(wire, agent, session)
        subscribe(wire, session, agent.project_id)
        with EventReader(wire, session) as stream:
            wait_until(lambda: stream.events, what="the first byte")
            (worker,) = server.worker_pids()
            os.kill(worker, signal.SIGTERM)
            stream.wait_for_end()
            assert stream.well_formed
            wait_until(lambda: server.worker_pids() and worker not in server.worker_pids(), what="a new worker")
        wait_until(server.answers, what="the new worker's answer")
        with Wire(server.url, agent.key) as again:
            write(again, agent, session)
            with EventReader(again, session) as stream:
                stream.wait_for_hints(1, limit_seconds=2)


def test_the_wake_up_through_redis_reaches_another_instance_sooner_than_its_tick(agent: Agent) -> None:
    slow = {"MEMFORD_CHANGE_CHECK_INTERVAL_SECONDS": "30"}
    with (
        live_server(1, **slow) as first,
        live_server(1, **slow) as second,
        Wire(first.url, agent.key) as wire,
        Wire(second.url, agent.key) as writer,
    ):
        session = begin_session(wire)
        read(wire, agent, session)
        subscribe(wire, session, agent.project_id)
        with EventReader(wire, session) as stream:
            wait_until(lambda: stream.events, what="the first byte")
            before = time.monotonic()
            write(writer, agent)
            assert stream.wait_for_hints(1, limit_seconds=10)[0].at - before < 2
