"""The stores and the servers under measurement, and a run of the load generator against one of them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from memford.embedded.state import DataDir
from memford.embedded.stores import start_stores
from memford.embedded.supervisor import Supervisor
from tests.bench.load import Job, Reading
from tests.bench.machine import on_cores
from tests.live import ROOT, START_LIMIT_SECONDS, LiveServer, free_port, wait_until

MEMFORD = "memford.asgi:application"
FLOOR = "tests.bench.floor:application"
KERNEL = "tests.bench.kernel:application"
LOAD_SPARE_SECONDS = 60


class BenchError(Exception):
    """Something broke, so that there is nothing to tell."""


@dataclass(frozen=True)
class Layout:
    """Which cores the worker has, and which the stores and the load generator; empty means any."""

    worker: frozenset[int]
    others: frozenset[int]

    @classmethod
    def of(cls, cores: list[int]) -> "Layout":
        """Give the worker one core and all else the rest; a machine of one core shares it."""
        if len(cores) < 2:
            return cls(frozenset(), frozenset())
        return cls(frozenset(cores[:1]), frozenset(cores[1:]))


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is gone afterwards; others may pass into it, as PostgreSQL may have to."""
    folder = Path(tempfile.mkdtemp(prefix="memford-bench-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_stores(folder: Path) -> Iterator[tuple[dict[str, str], int]]:
    """Run PostgreSQL, as durable as ``memford up`` has it, and Valkey.

    Yields the servers' environment and PostgreSQL's process id.
    """
    data_dir = DataDir(folder / "data")
    data_dir.create()
    with ExitStack() as stack:
        stack.enter_context(data_dir.lock("the bench"))
        secrets = data_dir.load_secrets()
        supervisor = Supervisor(print)
        stack.callback(supervisor.stop)
        stores = start_stores(supervisor, data_dir, secrets, say=print)
        stores.await_ready()
        environment = {
            **stores.environment,
            "DJANGO_SETTINGS_MODULE": "memford.settings",
            "MEMFORD_SECRET_KEY": secrets.secret_key,
            "MEMFORD_RATE_LIMITS": "off",
        }
        yield environment, supervisor.pids["postgres"]


@dataclass
class Server(LiveServer):
    """A running server of one worker."""

    port: int = 0

    @property
    def worker_pid(self) -> int:
        """The worker's process id."""
        return self.worker_pids()[0]

    def kill(self) -> None:
        """Kill the whole instance at once, the arbiter and its workers: they are a process group of their own."""
        os.killpg(self.process.pid, signal.SIGKILL)


@contextmanager
def running_server(application: str, cores: frozenset[int], **more: str) -> Iterator[Server]:
    """Run gunicorn with Memford's configuration and one worker until the block ends; ``more`` is its environment."""
    port = free_port()
    url = f"http://localhost:{port}"
    environment = {
        **os.environ,
        "MEMFORD_PUBLIC_URL": url,
        "MEMFORD_HOST": "localhost",
        "MEMFORD_PORT": str(port),
        "MEMFORD_WORKERS": "1",
        **more,
    }
    command = [sys.executable, "-m", "gunicorn", "-c", str(ROOT / "deploy" / "gunicorn.conf.py"), application]
    with on_cores(set(cores)):
        process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    server = Server(url, process, port)
    try:
        wait_until(server.answers, limit_seconds=START_LIMIT_SECONDS, what=f"the start of {application}")
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(15)


def run_load(job: Job) -> Reading:
    """Run the load generator in a process of its own.

    Raises:
        BenchError: An answer was not a success.
    """
    command = [sys.executable, "-m", "tests.bench.load"]
    limit = job.warmup_seconds + job.seconds + LOAD_SPARE_SECONDS
    given = json.dumps(asdict(job)).encode()
    done = subprocess.run(command, input=given, capture_output=True, cwd=ROOT, timeout=limit, check=False)
    if done.returncode != 0:
        raise BenchError(f"The load generator gave up: {done.stderr.decode(errors='replace').strip()}")
    return Reading(**json.loads(done.stdout))
