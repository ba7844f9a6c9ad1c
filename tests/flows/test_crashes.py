"""Killing web workers and the database in the middle of writes: nothing acknowledged is lost, nothing doubled (T7, G7).

Agents write with checkpoints and repeat each unanswered write with the same one until it is acknowledged.
"""

import itertools
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import pytest

from memford.core.activity import Tag
from tests.flows.facts import EXACT_TEXT
from tests.flows.house import House, open_house
from tests.live import wait_until
from tests.wire import ToolAnswer, Wire

AGENTS: Final = 3
CLIENTS_PER_AGENT: Final = 2
WORKER_KILLS: Final = 10
DATABASE_KILLS: Final = 3
PROGRESS: Final = 12
"""How many more acknowledged writes show that service is back."""
PATIENCE_SECONDS: Final = 30
"""How long one write may be repeated before the test fails."""
PAUSE_SECONDS: Final = 0.02
BACK_WITHIN_SECONDS: Final = 3.0


@pytest.fixture(scope="module")
def house(database_access: None) -> Iterator[House]:
    """An instance to break, the same for all tests here: what one leaves must stay true for the next."""
    with open_house(AGENTS) as opened:
        yield opened


@dataclass(frozen=True)
class Acknowledged:
    """A write that its agent was given a receipt for."""

    key: str
    checkpoint_id: str
    content: str
    receipt: str
    note_id: str
    at: float


@dataclass
class Writer:
    """An agent's process: it writes one note after the other and gives none up."""

    house: House
    key: str
    name: str
    acknowledged: list[Acknowledged] = field(default_factory=list)
    unanswered: int = 0
    refusals: list[httpx2.Response] = field(default_factory=list)

    def write_until(self, stop: threading.Event) -> None:
        """Write note after note; the last one is finished too."""
        with Wire(self.house.server.url, self.key) as wire:
            for number in itertools.count():
                content = f"{EXACT_TEXT}{self.name}, note {number}, {uuid.uuid4()}\r\n "
                self.acknowledged.append(self._write(wire, content, str(uuid.uuid4())))
                if stop.is_set():
                    return

    def _write(self, wire: Wire, content: str, checkpoint_id: str) -> Acknowledged:
        arguments = {"project_id": self.house.project_id, "content": content, "checkpoint_id": checkpoint_id}
        call = {"name": "memory_write", "arguments": arguments}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                response = wire.request("tools/call", call)
            except httpx2.TransportError:
                self.unanswered += 1
            else:
                if response.status_code == 200:
                    answer = ToolAnswer(response.json())
                    assert answer.ok["note"]["content"] == content
                    receipt: str = answer.result["content"][0]["text"]
                    note_id = answer.ok["note"]["id"]
                    return Acknowledged(self.key, checkpoint_id, content, receipt, note_id, time.monotonic())
                self.refusals.append(response)
            time.sleep(PAUSE_SECONDS)
        raise AssertionError(f"{self.name} was not answered within {PATIENCE_SECONDS} s")


@dataclass
class Crowd:
    """All agents at work."""

    writers: list[Writer]
    futures: list[Future[None]]

    @property
    def acknowledged(self) -> list[Acknowledged]:
        """Every write acknowledged so far."""
        return [write for writer in self.writers for write in list(writer.acknowledged)]

    @property
    def refusals(self) -> list[httpx2.Response]:
        """Every answer that was no success."""
        return [response for writer in self.writers for response in list(writer.refusals)]

    @property
    def unanswered(self) -> int:
        """How many calls got no answer at all."""
        return sum(writer.unanswered for writer in self.writers)

    def await_progress(self, more: int = PROGRESS) -> None:
        """Wait until every agent's writes go on, each in all its processes."""
        before = [len(writer.acknowledged) for writer in self.writers]
        share = max(1, more // len(self.writers))
        wait_until(
            lambda: (
                any(future.done() for future in self.futures)
                or all(
                    len(writer.acknowledged) >= seen + share for writer, seen in zip(self.writers, before, strict=True)
                )
            ),
            limit_seconds=PATIENCE_SECONDS,
            what="further writes of every agent",
        )
        for future in self.futures:
            # An agent ends early only by its own failure, which is told here.
            if future.done():
                future.result()


@contextmanager
def agents_at_work(house: House) -> Iterator[Crowd]:
    """Keep several agents writing until the block ends, and then let each finish its last write."""
    stop = threading.Event()
    writers = [
        Writer(house, key, f"agent {number}.{part}")
        for number, key in enumerate(house.keys)
        for part in range(CLIENTS_PER_AGENT)
    ]
    with ThreadPoolExecutor(len(writers)) as threads:
        crowd = Crowd(writers, [threads.submit(writer.write_until, stop) for writer in writers])
        try:
            crowd.await_progress()
            yield crowd
        finally:
            stop.set()
    for future in crowd.futures:
        future.result()


@dataclass(frozen=True)
class Count:
    """What the project held before a test."""

    notes: int

    @classmethod
    def of(cls, house: House) -> "Count":
        """Look it up."""
        ((notes,),) = house.rows("SELECT notes_count FROM projects_project WHERE id = %s", house.project_id)
        return cls(notes)


def check_nothing_lost_or_doubled(house: House, before: Count, crowd: Crowd) -> None:
    """Require each acknowledged write exactly once with its exact text, and counters that agree with the notes."""
    written = crowd.acknowledged
    kept = house.rows(
        "SELECT id::text, checkpoint_id::text, content, revision, seq FROM projects_note"
        " WHERE project_id = %s ORDER BY seq",
        house.project_id,
    )
    new = kept[before.notes :]
    # No write was given up, so what is kept is what was acknowledged, and neither less nor more.
    assert sorted((note_id, checkpoint, content) for note_id, checkpoint, content, _, _ in new) == sorted(
        (write.note_id, write.checkpoint_id, write.content) for write in written
    )
    assert {revision for _, _, _, revision, _ in kept} == {1}
    assert [seq for _, _, _, _, seq in kept] == list(range(1, len(kept) + 1))
    (counters,) = house.rows(
        "SELECT memory_revision, notes_count, last_seq FROM projects_project WHERE id = %s", house.project_id
    )
    assert counters == (len(kept),) * 3
    told = house.rows(
        "SELECT object_id::text FROM accounts_activity WHERE project_id = %s AND tag = %s",
        house.project_id,
        str(Tag.NOTE_WRITTEN),
    )
    assert sorted(note_id for (note_id,) in told) == sorted(note_id for note_id, _, _, _, _ in kept)
    check_receipts(house, written)
    check_reading(house, written)


def check_receipts(house: House, written: list[Acknowledged]) -> None:
    """Require the receipt that was given, byte for byte, for each write that is repeated now."""
    for key in house.keys:
        with Wire(house.server.url, key) as wire:
            for write in written:
                if write.key != key:
                    continue
                again = wire.call(
                    "memory_write",
                    {
                        "project_id": house.project_id,
                        "content": write.content,
                        "checkpoint_id": write.checkpoint_id,
                    },
                )
                assert again.result["content"][0]["text"].encode() == write.receipt.encode()


def check_reading(house: House, written: list[Acknowledged]) -> None:
    """Require each write exactly once among what an agent reads from the first page to the end."""
    read: dict[str, str] = {}
    cursor: dict[str, Any] = {}
    with Wire(house.server.url, house.keys[0]) as wire:
        while True:
            page = wire.call("memory_read", {"project_id": house.project_id, **cursor}).ok
            for note in page["notes"]:
                assert note["id"] not in read
                read[note["id"]] = note["content"]
            assert page["memory_revision"] == page["project"]["notes_count"]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
    assert page["memory_revision"] == len(read)
    assert all(read[write.note_id] == write.content for write in written)


def check_unavailable(response: httpx2.Response) -> None:
    """Judge an answer while the database is down: it says when to come again, and nothing of credentials (G7)."""
    assert response.status_code == 503, (response.status_code, response.text)
    assert int(response.headers["Retry-After"]) >= 1
    assert "www-authenticate" not in response.headers
    assert response.json()["error"]


def test_killed_workers_lose_and_double_nothing(house: House) -> None:
    before = Count.of(house)
    with agents_at_work(house) as crowd:
        for _ in range(WORKER_KILLS):
            house.kill_worker()
            crowd.await_progress()
    # The kills struck calls in flight, and no other worker's call was harmed.
    assert crowd.unanswered > 0
    assert crowd.refusals == []
    check_nothing_lost_or_doubled(house, before, crowd)


def test_a_killed_database_loses_and_doubles_nothing(house: House) -> None:
    before, workers = Count.of(house), house.server.worker_pids()
    with agents_at_work(house) as crowd:
        for _ in range(DATABASE_KILLS):
            seen = len(crowd.refusals)
            house.kill_database()
            # Every agent is told to come again; none is left hanging.
            wait_until(
                lambda seen=seen: len(crowd.refusals) >= seen + 2 * len(crowd.writers),
                what="refusals while the database is down",
            )
            down = time.monotonic()
            house.start_database()
            back = time.monotonic()
            crowd.await_progress()
            for writer in crowd.writers:
                first = next(write.at for write in writer.acknowledged if write.at > down)
                assert first - back < BACK_WITHIN_SECONDS
    assert crowd.unanswered == 0
    for response in crowd.refusals:
        check_unavailable(response)
    assert house.server.worker_pids() == workers
    check_nothing_lost_or_doubled(house, before, crowd)


def test_while_the_database_is_down_no_call_is_answered_by_anything_but_come_again(house: House) -> None:
    with (
        Wire(house.server.url, house.keys[0]) as wire,
        Wire(house.server.url, "mfk_unknown") as stranger,
    ):
        assert wire.request("ping").status_code == 200
        assert stranger.request("ping").status_code == 401
        house.kill_database()
        try:
            read = {"name": "memory_read", "arguments": {"project_id": house.project_id}}
            lost = {"name": "memory_read", "arguments": {"project_id": str(uuid.uuid4())}}
            handshake = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "flows", "version": "1"},
            }
            for _ in range(3):
                for response in (
                    wire.request("initialize", handshake),
                    wire.request("tools/list"),
                    wire.request("tools/call", read),
                    wire.request("tools/call", lost),
                    wire.request("resources/read", {"uri": f"memory://projects/{house.project_id}/notes"}),
                    wire.modern("server/discover"),
                    wire.modern("tools/call", read),
                    wire.send(b"", method="GET", Accept="text/event-stream", Mcp_Session_Id="any"),
                    wire.send(b"", method="DELETE", Mcp_Session_Id="any"),
                    stranger.request("ping"),
                ):
                    check_unavailable(response)
            assert httpx2.get(f"{house.server.url}/healthz").status_code == 200
        finally:
            house.start_database()
        # The first call after it is back is served; what an unknown key is told is the truth again.
        assert wire.request("tools/call", read).status_code == 200
        assert stranger.request("ping").status_code == 401


def test_workers_and_database_killed_together_lose_and_double_nothing(house: House) -> None:
    before = Count.of(house)
    with agents_at_work(house) as crowd:
        house.kill_database()
        house.kill_worker()
        house.kill_worker()
        house.start_database()
        crowd.await_progress()
    for response in crowd.refusals:
        check_unavailable(response)
    check_nothing_lost_or_doubled(house, before, crowd)
