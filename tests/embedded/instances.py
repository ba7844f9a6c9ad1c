"""Real instances for tests: ``memford up`` and ``memford bootstrap`` as processes of their own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from memford.embedded.processes import is_alive
from memford.embedded.state import DataDir
from tests.live import free_port, wait_until

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "memford.cli"]
START_LIMIT_SECONDS = 60
STOP_LIMIT_SECONDS = 5
BACK_LIMIT_SECONDS = 15
STORE_SERVICES = {"postgres", "valkey"}
CODE_SERVICES = {"web", "worker", "beat"}


def bare_environment(**more: str) -> dict[str, str]:
    """Return this process's environment without the tests' own stores and settings."""
    ours = ("MEMFORD_", "DATABASE_URL", "REDIS_URL", "DJANGO_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


@dataclass
class Up:
    """A running ``memford up``."""

    data_dir: DataDir
    port: int
    process: "subprocess.Popen[bytes]"
    said: Path
    environment: Mapping[str, str] = field(repr=False)

    @property
    def url(self) -> str:
        """Its public URL."""
        return f"http://localhost:{self.port}"

    @property
    def pids(self) -> dict[str, int]:
        """The process id of each of its parts."""
        return self.data_dir.running().processes

    @property
    def output(self) -> str:
        """What it said so far."""
        return self.said.read_text()

    def answers(self, host: str = "localhost") -> bool:
        """Whether the web server answers now."""
        try:
            return httpx2.get(f"http://{host}:{self.port}/healthz", timeout=2).status_code == 200
        except httpx2.HTTPError:
            return False

    def is_up(self) -> bool:
        """Whether it has said that it is running; fails at once where it ended."""
        if self.process.poll() is not None:
            raise AssertionError(f"memford up ended with {self.process.returncode}:\n{self.output}")
        return "Stop with" in self.output

    def kill(self, part: str) -> int:
        """Kill one part the hard way and return the pid it had."""
        pid = self.pids[part]
        os.kill(pid, signal.SIGKILL)
        return pid

    def await_new(self, part: str, old_pid: int) -> None:
        """Wait until a part runs again as another process."""
        wait_until(lambda: self.pids[part] != old_pid, limit_seconds=BACK_LIMIT_SECONDS, what=f"a new {part}")

    def stop(self, number: signal.Signals = signal.SIGINT) -> float:
        """Stop it as Ctrl-C does, and return the seconds it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(30)
        return time.monotonic() - began

    def bootstrap(self, *arguments: str) -> dict[str, Any]:
        """Run ``memford bootstrap --json`` against it and return what the last line says."""
        done = run_memford("bootstrap", "--data-dir", str(self.data_dir.path), *arguments, "--json")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer

    def accepts(self, key: str) -> bool:
        """Whether an agent with this key is let in; not now, while its store is away."""
        answer = httpx2.post(
            f"{self.url}/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "ping"},
            headers={"Authorization": f"Bearer {key}"},
            timeout=15,
        )
        assert answer.status_code in {200, 401, 503}, answer.text
        return answer.status_code == 200


def start_up(data_dir: Path, *, port: int = 0, spawn: Callable[..., Any] | None = None, **more: str) -> Up:
    """Start ``memford up`` without waiting; ``more`` is added to a bare environment."""
    port = port or free_port()
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    said = data_dir.with_suffix(".said")
    said.unlink(missing_ok=True)
    argv = [*COMMAND, "up", "--port", str(port), "--data-dir", str(data_dir), "--workers", "1"]
    environment = bare_environment(**more)
    if spawn is not None:
        process = spawn(argv, env=environment, log=said)
    else:
        with said.open("wb") as output:
            process = subprocess.Popen(argv, env=environment, stdout=output, stderr=output, start_new_session=True)
    return Up(DataDir(data_dir), port, process, said, environment)


@contextmanager
def running_up(data_dir: Path, **arguments: Any) -> Iterator[Up]:
    """Run ``memford up`` until the block ends."""
    up = start_up(data_dir, **arguments)
    try:
        wait_until(up.is_up, limit_seconds=START_LIMIT_SECONDS, what="the start")
        yield up
    finally:
        if up.process.poll() is None:
            up.stop()


def run_memford(*arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run one of the other commands to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], env=bare_environment(**more), capture_output=True, text=True, timeout=90, check=False
    )


def none_alive(pids: Mapping[str, int]) -> bool:
    """Whether all these processes are gone; one that only waits to be reaped counts as gone."""
    return not any(is_alive(pid) and not _is_zombie(pid) for pid in pids.values())


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended and its parent has not asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@contextmanager
def open_connections(port: int) -> Iterator[list[socket.socket]]:
    """Keep three connections open: one after a call, one within a request's head, and one that never spoke."""
    sockets = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(3)]
    try:
        sockets[0].sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        assert sockets[0].recv(4096).startswith(b"HTTP/1.1 200")
        sockets[1].sendall(b"GET /healthz HTTP/1.1\r\nHo")
        yield sockets
    finally:
        for each in sockets:
            each.close()
