"""A whole instance of its own that a test may break: durable PostgreSQL, Valkey, and two web workers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from memford.embedded.state import DataDir
from memford.embedded.stores import Stores, start_stores
from memford.embedded.supervisor import Supervisor
from tests.live import ROOT, LiveServer, live_server, wait_until

PREPARE_LIMIT_SECONDS = 120
OWNER = {"login": "owner@example.com", "password": "a lamp turns in 8 seconds"}

# Migrates, then makes one project with as many keys as asked; the tests' own Django belongs to another database.
_FURNISH = """
import json, sys, django
django.setup()
from memford.embedded.migrations import migrate_once
from mcp_gateway.connections.services import bootstrap
migrate_once()
made = [
    bootstrap(owner_email="owner@example.com", password="a lamp turns in 8 seconds", project_name="Lighthouse", access="read_write")
    for _ in range(int(sys.argv[1]))
]
print(json.dumps({"project_id": str(made[0].project_id), "keys": [each.key for each in made]}))
"""


@dataclass
class House:
    """The instance, and the means to hurt it and to look inside."""

    server: LiveServer
    stores: Stores
    project_id: str
    keys: list[str] = field(repr=False)

    def rows(self, statement: LiteralString, *parameters: object) -> list[tuple[Any, ...]]:
        """Ask the database itself."""
        with psycopg.connect(self.stores.postgres.system_url) as connection:
            return connection.execute(statement, parameters).fetchall()

    def kill_worker(self) -> None:
        """Kill one web worker, and wait until another one stands in its place."""
        victim, *others = self.server.worker_pids()
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: self._is_replaced(victim, len(others) + 1), what="a new worker")

    def _is_replaced(self, victim: int, count: int) -> bool:
        pids = self.server.worker_pids()
        return victim not in pids and len(pids) == count

    def kill_database(self) -> None:
        """Kill PostgreSQL's first process, and wait until the others have noticed and are gone."""
        process = self.stores.postgres_service.process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        self.stores.postgres.prepare(print)

    def start_database(self) -> None:
        """Start PostgreSQL again on what it left, and wait until it answers."""
        self.stores.postgres_service.spawn()
        self.stores.postgres.await_ready(self.stores.postgres_service)


@contextmanager
def open_house(keys: int, workers: int = 2) -> Iterator[House]:
    """Run an instance of its own until the block ends."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="memford-house-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        data_dir = DataDir(folder / "data")
        data_dir.create()
        stack.enter_context(data_dir.lock("a test"))
        secrets = data_dir.load_secrets()
        supervisor = Supervisor(print)
        stack.callback(supervisor.stop)
        stores = start_stores(supervisor, data_dir, secrets, say=print, durable=True)
        stores.await_ready()
        environment = {
            **stores.environment,
            "MEMFORD_SECRET_KEY": secrets.secret_key,
            # Clients here call as fast as they can.
            "MEMFORD_RATE_LIMITS": "off",
        }
        made = _furnish(keys, environment)
        server = stack.enter_context(live_server(workers, **environment))
        wait_until(lambda: len(server.worker_pids()) == workers, what="all workers")
        yield House(server, stores, made["project_id"], made["keys"])


def _furnish(keys: int, environment: Mapping[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", _FURNISH, str(keys)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PREPARE_LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return made
