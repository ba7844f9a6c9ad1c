"""Calls at a steady rate, whatever the server does, in a process of its own.

It reads a :class:`SteadyJob` as JSON on stdin and prints the :class:`Call` s on stdout. A call is due at its time
and counted from then, so that a server that stops answering is seen; a busy connection makes the next call take
another one.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import Final

from tests.bench.load import Step

PATIENCE_SECONDS: Final = 20.0
LENGTH: Final = b"\r\ncontent-length:"


@dataclass(frozen=True, slots=True)
class SteadyJob:
    """What to call: step after step, round and round, ``per_second`` for ``seconds``."""

    port: int
    steps: list[Step]
    per_second: float
    seconds: float


@dataclass(slots=True)
class Call:
    """One call: which step, when it was due and when answered (monotonic), and what went wrong."""

    step: int
    due: float
    answered: float = 0.0
    failure: str = ""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.answered - self.due


type Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Caller:
    """Makes the calls over as many connections as are needed at once."""

    def __init__(self, job: SteadyJob) -> None:
        self._job = job
        self._free: list[Connection] = []

    async def run(self) -> list[Call]:
        """Call at the given rate, and return when all are answered."""
        begin = time.monotonic()
        tasks: list[asyncio.Task[Call]] = []
        for number in range(round(self._job.per_second * self._job.seconds)):
            due = begin + number / self._job.per_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            tasks.append(asyncio.create_task(self._call(Call(number % len(self._job.steps), due))))
        return list(await asyncio.gather(*tasks))

    async def _call(self, call: Call) -> Call:
        step = self._job.steps[call.step]
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                connection = await self._connection()
                answer = await _exchange(connection, step.once().encode())
        except (OSError, EOFError, TimeoutError) as error:
            call.failure = type(error).__name__
        else:
            self._free.append(connection)
            if step.expect.encode() not in answer:
                call.failure = answer[:500].decode(errors="replace")
        call.answered = time.monotonic()
        return call

    async def _connection(self) -> Connection:
        while self._free:
            connection = self._free.pop()
            if not connection[0].at_eof():
                return connection
        return await asyncio.open_connection("127.0.0.1", self._job.port)


async def _exchange(connection: Connection, request: bytes) -> bytes:
    reader, writer = connection
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(LENGTH)[2].partition(b"\r\n")[0]
    return head + await reader.readexactly(int(length or b"0"))


def main() -> None:
    """Read a job, do it, print the calls."""
    given = json.loads(sys.stdin.buffer.read())
    steps = [Step(**step) for step in given.pop("steps")]
    calls = asyncio.run(Caller(SteadyJob(steps=steps, **given)).run())
    sys.stdout.write(json.dumps([asdict(call) for call in calls]))


if __name__ == "__main__":
    main()
