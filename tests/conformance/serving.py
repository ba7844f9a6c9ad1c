"""The servers under test: the product as it is, and its transport with the suite's fixtures; both on real stores."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests import services
from tests.live import ROOT, START_LIMIT_SECONDS, LiveServer, free_port, live_server, wait_until

PRODUCT: Final = "product"
FIXTURES: Final = "fixtures"
FIXTURES_APPLICATION: Final = "tests.conformance.fixtures.app:application"


@contextmanager
def running_stores() -> Iterator[None]:
    """Run stores as the tests do, migrated, and make this process ready to use them."""
    os.environ.update(services._start())
    try:
        import django

        django.setup()
        from django.db import connections

        from memford.embedded.migrations import migrate_once

        migrate_once()
        try:
            yield
        finally:
            connections.close_all()
    finally:
        services._started.close()


@contextmanager
def serving(run: str) -> Iterator[LiveServer]:
    """Run the server of a run."""
    with live_server() if run == PRODUCT else _fixtures_server() as server:
        yield server


@contextmanager
def _fixtures_server() -> Iterator[LiveServer]:
    """Run gunicorn with Memford's configuration and the application with the fixtures."""
    port = free_port()
    url = f"http://localhost:{port}"
    environment = {**os.environ, "MEMFORD_PUBLIC_URL": url, "MEMFORD_HOST": "localhost", "MEMFORD_PORT": str(port)}
    command = [sys.executable, "-m", "gunicorn", "-c", str(ROOT / "deploy" / "gunicorn.conf.py"), FIXTURES_APPLICATION]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    server = LiveServer(url, process)
    try:
        wait_until(server.answers, limit_seconds=START_LIMIT_SECONDS, what="the fixtures' start")
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(15)
