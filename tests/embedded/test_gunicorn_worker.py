"""The web worker ends in time, whatever is open, and believes no forwarded header (S1, G6, R4)."""

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

import httpx2
import pytest

from tests.embedded.instances import ROOT, bare_environment, none_alive, open_connections
from tests.live import free_port, wait_until

QUICK_SECONDS = 5


@dataclass
class Web:
    """A gunicorn that serves the streaming application."""

    port: int
    process: "subprocess.Popen[bytes]"
    log: Path

    def answers(self) -> bool:
        """Whether it answers now."""
        try:
            return httpx2.get(f"http://localhost:{self.port}/", timeout=2).status_code == 200
        except httpx2.HTTPError:
            return False

    def worker_pids(self) -> dict[str, int]:
        """The workers' process ids."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return {child: int(child) for child in children}

    def ask(self, path: str) -> socket.socket:
        """Send a request and leave its answer to be read."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return connection

    def stop(self) -> float:
        """Tell it to end, and return the seconds it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(15)
        return time.monotonic() - began


@contextmanager
def running_web(folder: Path, *, grace_seconds: int) -> Iterator[Web]:
    """Run one worker with the real configuration and the streaming application until the block ends."""
    port, log = free_port(), folder / "web.log"
    application = "tests.embedded.streaming_app:application"
    argv = [sys.executable, "-m", "gunicorn", "-c", "deploy/gunicorn.conf.py", application]
    environment = bare_environment(MEMFORD_PORT=str(port), MEMFORD_GRACEFUL_TIMEOUT_SECONDS=str(grace_seconds))
    with log.open("wb") as output:
        process = subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=output, stderr=output)
    web = Web(port, process, log)
    try:
        wait_until(web.answers, limit_seconds=30, what="the start")
        yield web
    finally:
        if process.poll() is None:
            web.stop()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """A server whose grace time is so long that waiting it out would show."""
    with running_web(tmp_path, grace_seconds=12) as running:
        yield running


@pytest.fixture(scope="module")
def lasting_web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A server that tests share which leave it running."""
    with running_web(tmp_path_factory.mktemp("web"), grace_seconds=3) as running:
        yield running


def read_all(connection: socket.socket) -> bytes:
    """Read until the other side closes."""
    parts = []
    while part := connection.recv(65_536):
        parts.append(part)
    connection.close()
    return b"".join(parts)


def test_streams_are_told_to_end_and_idle_connections_do_not_hold_the_end_up(web: Web) -> None:
    streams = [web.ask("/polite") for _ in range(3)]
    for stream in streams:
        assert b": hello" in stream.recv(4096)
    with open_connections(web.port):
        assert web.stop() < QUICK_SECONDS
    assert all(b": good-bye\n\n\r\n0\r\n\r\n" in read_all(stream) for stream in streams)
    assert "closed in order" in web.log.read_text()


def test_a_call_in_flight_gets_its_answer(web: Web) -> None:
    slow = web.ask("/slow")
    # The call is in flight once another one, sent after it, was answered.
    assert web.answers()
    assert web.stop() < QUICK_SECONDS
    assert read_all(slow).startswith(b"HTTP/1.1 200")


def test_a_stream_that_does_not_listen_is_cut_within_the_grace_time(tmp_path: Path) -> None:
    # By itself it would never end, so a busy machine may take its time.
    with running_web(tmp_path, grace_seconds=3) as web, web.ask("/rude") as stream:
        assert b": hello" in stream.recv(4096)
        assert web.stop() < 3 * QUICK_SECONDS
        assert "closed in order" in web.log.read_text()


def test_workers_of_a_killed_master_end_and_free_the_port(web: Web) -> None:
    workers = web.worker_pids()
    with open_connections(web.port):
        os.kill(web.process.pid, signal.SIGKILL)
        web.process.wait(10)
        wait_until(lambda: none_alive(workers), limit_seconds=QUICK_SECONDS, what="the workers' end")
    with socket.create_server(("127.0.0.1", web.port)):
        pass


def test_a_killed_worker_is_replaced(lasting_web: Web) -> None:
    (old,) = lasting_web.worker_pids().values()
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: lasting_web.answers() and old not in lasting_web.worker_pids().values(), what="a new worker")


def test_forwarded_headers_change_nothing(lasting_web: Web) -> None:
    forged = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Ssl": "on"}
    answer = httpx2.get(f"http://127.0.0.1:{lasting_web.port}/", headers=forged, timeout=10)
    assert answer.text == "('http', '127.0.0.1')"
    assert answer.headers["server"] == "gunicorn/asgi"


def test_an_oversized_head_is_refused_without_harm(lasting_web: Web) -> None:
    url = f"http://127.0.0.1:{lasting_web.port}/"
    assert httpx2.get(url + "x" * 9_000, timeout=10).status_code == 414
    assert httpx2.get(url, headers={"X-Long": "x" * 20_000}, timeout=10).status_code == 431
    assert lasting_web.answers()
