"""The load generator: a process of its own that keeps some connections busy, each call behind the last.

It reads a :class:`Job` as JSON on stdin and prints a :class:`Reading` on stdout. Requests are bytes made before,
an answer is looked at as far as it takes to know its length and that it is a success, and the first that is
not ends the run. It is callbacks on asyncio's transports, so that it is not what is measured.
"""

import asyncio
import gc
import json
import sys
import time
import uuid
from dataclasses import asdict, dataclass, field
from functools import partial

from tests.bench.machine import busy_seconds, cpu_seconds, family_cpu_seconds

PLACE_FOR_UUID = "00000000-0000-0000-0000-000000000000"
PATIENCE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Step:
    """One request; a fresh UUID takes the place of :data:`PLACE_FOR_UUID`. A success contains ``expect``."""

    request: str
    expect: str

    def once(self) -> str:
        """Return the request with a UUID of its own."""
        return self.request.replace(PLACE_FOR_UUID, str(uuid.uuid4()))


@dataclass(frozen=True, slots=True)
class Job:
    """What to send: client number ``i`` goes round script ``i``, or as many as there are.

    Reported beside it is the use of the worker's process, of PostgreSQL with its children, and of a core.
    """

    port: int
    scripts: list[list[Step]]
    clients: int
    seconds: float
    warmup_seconds: float
    worker_pid: int = 0
    postgres_pid: int = 0
    core: int = 0


@dataclass(slots=True)
class Reading:
    """What was measured between the end of the warm-up and the end; busy values are shares of one core."""

    calls: int
    seconds: float
    latencies_ms: list[list[float]]
    worker_busy: float = 0.0
    postgres_busy: float = 0.0
    core_busy: float = 0.0
    generator_busy: float = 0.0


class Run:
    """The state that all clients share."""

    def __init__(self, job: Job) -> None:
        loop = asyncio.get_running_loop()
        self.job = job
        self.failure: str | None = None
        self.done: asyncio.Future[None] = loop.create_future()
        self.latencies: list[list[float]] = [[] for _ in range(max(len(script) for script in job.scripts))]
        self.busy_clients = job.clients
        self.begin = time.perf_counter() + job.warmup_seconds
        self.end = self.begin + job.seconds

    def fail(self, why: str) -> None:
        """End the run; its numbers are worth nothing."""
        self.failure = self.failure or why
        self.finish()

    def leave(self) -> None:
        """Take note that a client has its last answer; with the last client the run ends."""
        self.busy_clients -= 1
        if not self.busy_clients:
            self.finish()

    def finish(self) -> None:
        """End the run."""
        if not self.done.done():
            self.done.set_result(None)


class Client(asyncio.Protocol):
    """One keep-alive connection in a closed loop."""

    def __init__(self, run: Run, script: list[Step]) -> None:
        self._run = run
        self._script = [_Prepared.of(step) for step in script]
        self._at = -1
        self._step = self._script[0]
        self._buffer = bytearray()
        self._size = 0
        self._started = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to call."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take a connection that the server closed for a failure."""
        self._run.fail(f"the server closed a connection ({exc})")

    def _send(self) -> None:
        self._at = (self._at + 1) % len(self._script)
        self._step = self._script[self._at]
        request = self._step.bytes()
        self._buffer.clear()
        self._size = 0
        assert self._transport is not None
        self._started = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Take a part of an answer; once it is whole, note its time and send the next request."""
        self._buffer += data
        if not self._size and not self._read_head():
            return
        if len(self._buffer) < self._size:
            return
        now = time.perf_counter()
        if self._step.expect not in self._buffer:
            self._run.fail(f"an answer is no success: {self._buffer[:2_000].decode(errors='replace')}")
            return
        if self._run.begin <= now < self._run.end:
            self._run.latencies[self._at].append((now - self._started) * 1_000)
        if now < self._run.end:
            self._send()
        else:
            self._run.leave()

    def _read_head(self) -> bool:
        """Find out how long the answer is; return whether that is known yet."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._buffer[:end]).lower()
        _, found, rest = head.partition(b"\r\ncontent-length:")
        if not head.startswith(b"http/1.1 200 ") or not found:
            self._run.fail(f"an answer is no success: {self._buffer[:2_000].decode(errors='replace')}")
            return False
        self._size = end + 4 + int(rest.partition(b"\r\n")[0])
        return True


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A step as bytes."""

    before: bytes
    after: bytes
    takes_uuid: bool
    expect: bytes

    @classmethod
    def of(cls, step: Step) -> "_Prepared":
        """Cut a request where its UUID goes."""
        before, found, after = step.request.encode().partition(PLACE_FOR_UUID.encode())
        return cls(before, after, bool(found), step.expect.encode())

    def bytes(self) -> bytes:
        """Return the request to send now."""
        return self.before + str(uuid.uuid4()).encode() + self.after if self.takes_uuid else self.before


@dataclass(slots=True)
class _Use:
    """How much processor time was used so far."""

    at: float = field(default_factory=time.perf_counter)
    worker: float = 0.0
    postgres: float = 0.0
    core: float = 0.0
    own: float = field(default_factory=time.process_time)

    @classmethod
    def now(cls, job: Job) -> "_Use":
        """Read the clocks."""
        return cls(
            worker=cpu_seconds(job.worker_pid),
            postgres=family_cpu_seconds(job.postgres_pid),
            core=busy_seconds(job.core),
        )


async def run(job: Job) -> Reading:
    """Do a job.

    Raises:
        RuntimeError: An answer was no success, or none came.
    """
    loop = asyncio.get_running_loop()
    shared = Run(job)
    uses: list[_Use] = []
    loop.call_later(job.warmup_seconds, lambda: uses.append(_Use.now(job)))
    loop.call_later(job.warmup_seconds + job.seconds, lambda: uses.append(_Use.now(job)))
    transports: list[asyncio.Transport] = []
    for number in range(job.clients):
        script = job.scripts[number % len(job.scripts)]
        transport, _ = await loop.create_connection(partial(Client, shared, script), "127.0.0.1", job.port)
        transports.append(transport)
    limit = job.warmup_seconds + job.seconds + PATIENCE_SECONDS
    try:
        await asyncio.wait_for(shared.done, limit)
    except TimeoutError:
        raise RuntimeError(f"no answer came within {PATIENCE_SECONDS} s") from None
    failure = shared.failure
    for transport in transports:
        transport.abort()
    if failure:
        raise RuntimeError(failure)
    uses.append(_Use.now(job))
    return _reading(job, shared, uses[0], uses[1])


def _reading(job: Job, shared: Run, first: _Use, last: _Use) -> Reading:
    """Put what was measured together."""
    elapsed = last.at - first.at
    return Reading(
        calls=sum(len(each) for each in shared.latencies),
        seconds=job.seconds,
        latencies_ms=shared.latencies,
        worker_busy=(last.worker - first.worker) / elapsed,
        postgres_busy=(last.postgres - first.postgres) / elapsed,
        core_busy=(last.core - first.core) / elapsed,
        generator_busy=(last.own - first.own) / elapsed,
    )


def main() -> None:
    """Read a job, do it, print the reading."""
    given = json.loads(sys.stdin.buffer.read())
    scripts = [[Step(**step) for step in script] for script in given.pop("scripts")]
    job = Job(scripts=scripts, **given)
    gc.freeze()
    gc.disable()
    try:
        reading = asyncio.run(run(job))
    except (RuntimeError, OSError) as error:
        sys.exit(f"{error}")
    sys.stdout.write(json.dumps(asdict(reading)))


if __name__ == "__main__":
    main()
