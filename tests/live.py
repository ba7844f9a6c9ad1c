"""A real server for tests: gunicorn with our worker on a free port, as an operator runs it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parent.parent
START_LIMIT_SECONDS = 30


def wait_until(condition: Any, *, limit_seconds: float = 15, what: str = "the condition") -> None:
    """Wait for a condition, looking often, and fail loudly at the limit."""
    end = time.monotonic() + limit_seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {limit_seconds} s")
        time.sleep(0.02)


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class LiveServer:
    """A running server and the process that is its arbiter."""

    url: str
    process: subprocess.Popen[bytes]

    @property
    def mcp_url(self) -> str:
        """The agents' endpoint."""
        return f"{self.url}/mcp"

    def worker_pids(self) -> list[int]:
        """Return the workers' process ids, as the kernel knows the arbiter's children."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def answers(self) -> bool:
        """Whether HTTP is answered now."""
        try:
            return httpx2.get(f"{self.url}/healthz", timeout=2).status_code == 200
        except httpx2.HTTPError:
            return False


@contextmanager
def live_server(workers: int = 1, **environment: str) -> Iterator[LiveServer]:
    """Run a server until the block ends; ``environment`` is added to the test's own, and may name the port."""
    port = int(environment.get("MEMFORD_PORT") or free_port())
    url = f"http://localhost:{port}"
    variables = {
        **os.environ,
        "MEMFORD_PUBLIC_URL": url,
        "MEMFORD_HOST": "localhost",
        "MEMFORD_PORT": str(port),
        "MEMFORD_WORKERS": str(workers),
        **environment,
    }
    command = [sys.executable, "-m", "gunicorn", "-c", str(ROOT / "deploy" / "gunicorn.conf.py")]
    process = subprocess.Popen(command, cwd=ROOT, env=variables)
    server = LiveServer(url, process)
    try:
        wait_until(server.answers, limit_seconds=START_LIMIT_SECONDS, what="the server's start")
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(15)
