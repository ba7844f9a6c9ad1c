"""The processes on the agents' side of the streams' measures, as the bench holds them."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Final

from tests.bench.servers import BenchError
from tests.bench.steady import PATIENCE_SECONDS, Call, SteadyJob
from tests.bench.stream_clients import Diary, StreamJob
from tests.live import ROOT

ATTACH_LIMIT_SECONDS: Final = 60
LOOK_INTERVAL_SECONDS: Final = 0.1


class Swarm:
    """A process of stream clients."""

    def __init__(self, process: "subprocess.Popen[str]", size: int) -> None:
        self._process = process
        self.size = size

    def _command(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except OSError as error:
            raise BenchError(f"The stream clients are gone ({error}).") from error
        if not answer:
            raise BenchError("The stream clients gave up.")
        return answer

    def attached(self) -> int:
        """Return how many streams are attached now."""
        return int(self._command("status"))

    def wait_until_all_attached(self, limit_seconds: float) -> bool:
        """Wait until every stream is attached at once; return whether that came about within the limit."""
        deadline = time.monotonic() + limit_seconds
        while time.monotonic() < deadline:
            if self.attached() == self.size:
                return True
            time.sleep(LOOK_INTERVAL_SECONDS)
        return False

    def stop(self) -> Diary:
        """Close all streams and return what happened."""
        return Diary(**json.loads(self._command("stop")))


@contextmanager
def running_swarm(job: StreamJob) -> Iterator[Swarm]:
    """Open streams and yield once all are attached; they are closed with the block at the latest."""
    command = [sys.executable, "-m", "tests.bench.stream_clients"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdin is not None
        process.stdin.write(json.dumps(asdict(job)) + "\n")
        process.stdin.flush()
        swarm = Swarm(process, len(job.sessions))
        if not swarm.wait_until_all_attached(job.open_seconds + ATTACH_LIMIT_SECONDS):
            raise BenchError(f"{swarm.attached()} of {swarm.size} streams are attached; {swarm.stop().failures[:5]}")
        yield swarm
    finally:
        process.kill()
        process.wait(15)


class SteadyCalls:
    """A process of calls at a steady rate, begun at once."""

    def __init__(self, job: SteadyJob) -> None:
        self._limit = job.seconds + PATIENCE_SECONDS + 10
        command = [sys.executable, "-m", "tests.bench.steady"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(job)).encode())
        self._process.stdin.close()
        self._process.stdin = None

    def calls(self) -> list[Call]:
        """Wait until all are answered and return them.

        Raises:
            BenchError: The process broke; a call that failed is one of the list.
        """
        try:
            output, _ = self._process.communicate(timeout=self._limit)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(15)
            raise BenchError("The steady calls did not end.") from None
        if self._process.returncode != 0:
            raise BenchError("The steady calls gave up.")
        return [Call(**call) for call in json.loads(output)]
