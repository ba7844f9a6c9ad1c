"""Many clients with an event stream each, in a process of its own: they attach, listen, and come again.

It reads a :class:`StreamJob` as one line of JSON on stdin, and then commands, a line each: ``status`` prints how
many streams are attached, ``stop`` prints the :class:`Diary` and ends. Like the load generator it is callbacks on
asyncio's transports. A client does what a good one does: it keeps its connection where the server does, names the
last event's id, waits as long as ``retry:`` told it, and goes to another address when its own refuses.
"""

import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Final

from memford.open_files import raise_open_files_limit

JOB_MAX_BYTES: Final = 16_000_000
HEAD_END: Final = b"\r\n\r\n"
PATIENCE_SECONDS: Final = 20.0
FIRST_RETRY_SECONDS: Final = (1.0, 3.0)
BACKOFF_SECONDS: Final = (0.25, 0.75)
BACKOFF_MAX_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class StreamJob:
    """Which streams to open: stream ``i`` has credential ``keys[i]`` and session ``sessions[i]``.

    It begins at ``ports[i % len(ports)]``; the first attachments are spread over ``open_seconds``.
    """

    ports: list[int]
    keys: list[str]
    sessions: list[str]
    open_seconds: float


@dataclass(slots=True)
class Diary:
    """What happened, in the clock of :func:`time.monotonic`, which all processes of a machine share.

    ``attached`` holds (stream, when, seconds from asking); ``hints`` (stream, when, memory revision); ``cuts``
    (stream, when) of connections that broke under a stream or its asking; ``failures`` (stream, when, why) of
    attachments that were answered by something else, or by nothing.
    """

    attached: list[tuple[int, float, float]] = field(default_factory=list)
    hints: list[tuple[int, float, int]] = field(default_factory=list)
    cuts: list[tuple[int, float]] = field(default_factory=list)
    failures: list[tuple[int, float, str]] = field(default_factory=list)
    refused: int = 0
    ended: int = 0
    comments: int = 0


class State(Enum):
    """What a client is about."""

    AWAY = "waits until it comes again"
    ASKING = "has asked for its stream"
    ATTACHED = "listens"


class StreamClient(asyncio.Protocol):
    """One client and its stream, over as many connections as it needs."""

    def __init__(self, number: int, job: StreamJob, diary: Diary) -> None:
        self.state = State.AWAY
        self._loop = asyncio.get_running_loop()
        self._number = number
        self._job = job
        self._diary = diary
        self._port_index = number % len(job.ports)
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._text = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._asked_at = 0.0
        self._last_id = ""
        self._retry = random.uniform(*FIRST_RETRY_SECONDS)
        self._refusals = 0

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        """Do something later, in place of what was to be done."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, then)

    def attach(self) -> None:
        """Ask for the stream, over the connection that is there or a new one."""
        if self._transport is None:
            self._connecting = self._loop.create_task(self._connect())
        else:
            self._ask(self._transport)

    async def _connect(self) -> None:
        port = self._job.ports[self._port_index]
        try:
            await self._loop.create_connection(lambda: self, "127.0.0.1", port)
        except OSError:
            self._diary.refused += 1
            self._port_index = (self._port_index + 1) % len(self._job.ports)
            backoff = random.uniform(*BACKOFF_SECONDS) * 2**self._refusals
            self._refusals += 1
            self.after(min(backoff, BACKOFF_MAX_SECONDS), self.attach)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask(transport)

    def _ask(self, transport: asyncio.Transport) -> None:
        self._buffer.clear()
        self._text.clear()
        lines = [
            "GET /mcp HTTP/1.1",
            f"Host: localhost:{self._job.ports[self._port_index]}",
            "Accept: text/event-stream",
            f"Authorization: Bearer {self._job.keys[self._number]}",
            f"Mcp-Session-Id: {self._job.sessions[self._number]}",
            "MCP-Protocol-Version: 2025-11-25",
            "User-Agent: memford-bench",
            *([f"Last-Event-ID: {self._last_id}"] if self._last_id else []),
        ]
        self.state = State.ASKING
        self._asked_at = time.monotonic()
        self.after(PATIENCE_SECONDS, self._give_up)
        transport.write("\r\n".join([*lines, "", ""]).encode())

    def _give_up(self) -> None:
        self._fail(f"no answer within {PATIENCE_SECONDS} s")

    def _fail(self, why: str) -> None:
        self._diary.failures.append((self._number, time.monotonic(), why))
        self._come_again()
        if self._transport is not None:
            self._transport.abort()

    def _come_again(self) -> None:
        self.state = State.AWAY
        self.after(self._retry, self.attach)

    def connection_lost(self, exc: Exception | None) -> None:
        """Come again, unless the client was away anyway and will come."""
        self._transport = None
        if self.state is not State.AWAY:
            self._diary.cuts.append((self._number, time.monotonic()))
            self._come_again()

    def data_received(self, data: bytes) -> None:
        """Take what came: the head of the answer first, then its chunks."""
        self._buffer += data
        if self.state is State.ASKING:
            self._read_head()
        while self.state is State.ATTACHED and self._read_chunk():
            pass

    def _read_head(self) -> None:
        head, found, rest = self._buffer.partition(HEAD_END)
        if not found:
            return
        if not head.startswith(b"HTTP/1.1 200 "):
            self._fail(head.partition(b"\r\n")[0].decode("latin-1"))
            return
        self._buffer = rest
        self.state = State.ATTACHED
        self._refusals = 0
        if self._timer is not None:
            self._timer.cancel()
        now = time.monotonic()
        self._diary.attached.append((self._number, now, now - self._asked_at))

    def _read_chunk(self) -> bool:
        """Read one chunk; return whether it was whole."""
        line = self._buffer.find(b"\r\n")
        if line < 0:
            return False
        size = int(self._buffer[:line], 16)
        if len(self._buffer) < line + size + 4:
            return False
        self._text += self._buffer[line + 2 : line + 2 + size]
        del self._buffer[: line + size + 4]
        if size:
            self._read_events()
        else:
            self._diary.ended += 1
            self._come_again()
        return True

    def _read_events(self) -> None:
        *events, self._text = self._text.split(b"\n\n")
        for event in events:
            if event.startswith(b"id: "):
                self._last_id = event[4:].partition(b"\n")[0].decode()
                self._diary.hints.append((self._number, time.monotonic(), int(self._last_id.partition("-")[0])))
            elif event.startswith(b"retry: "):
                self._retry = int(event[7:]) / 1_000
            else:
                self._diary.comments += 1


async def run() -> None:
    """Read a job, open its streams, and keep them until told to stop."""
    commands = asyncio.StreamReader(limit=JOB_MAX_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    job = StreamJob(**json.loads(await commands.readline()))
    diary = Diary()
    clients = [StreamClient(number, job, diary) for number in range(len(job.sessions))]
    for number, client in enumerate(clients):
        client.after(job.open_seconds * number / len(clients), client.attach)
    gc.freeze()
    gc.disable()
    while (command := await commands.readline()) == b"status\n":
        _say(str(sum(client.state is State.ATTACHED for client in clients)))
    if command == b"stop\n":
        _say(json.dumps(asdict(diary)))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise_open_files_limit()
    asyncio.run(run())
