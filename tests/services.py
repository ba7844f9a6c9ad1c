"""Pytest plugin: a real PostgreSQL and Valkey for the whole run, started before Django's settings load.

Named in ``addopts``. The process that starts the run starts the stores; xdist's workers inherit its environment.
There is no second, rolled back database (``conftest.py``): every test makes its own owners, so that threads and
processes see what a test writes.
"""

import atexit
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from memford.embedded.state import DataDir
from memford.embedded.stores import start_stores
from memford.embedded.supervisor import Supervisor

_MARK = "MEMFORD_TEST_SERVICES"
_started = ExitStack()
# Another plugin's failure at the end of the run would leave the stores running.
atexit.register(_started.close)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(args: list[str]) -> None:
    """Start the stores ahead of pytest-django, which reads the settings in the same hook."""
    if _MARK in os.environ or {"--help", "-h", "--version", "-V"} & set(args):
        return
    os.environ.update(_start())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Close the database connections of this process, so that none is found open when it ends."""
    if "django.db" in sys.modules:
        from django.db import connections

        connections.close_all()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """End the stores where this process started them."""
    _started.close()


def _start() -> dict[str, str]:
    """Start stores in a temporary directory and return the environment of the tests."""
    folder = Path(tempfile.mkdtemp(prefix="memford-tests-"))
    _started.callback(shutil.rmtree, folder, ignore_errors=True)
    data_dir = DataDir(folder / "data")
    data_dir.create()
    _started.enter_context(data_dir.lock("the tests"))
    secrets = data_dir.load_secrets()
    supervisor = Supervisor(print)
    _started.callback(supervisor.stop)
    try:
        # A power cut may take this data: nobody wants it back.
        stores = start_stores(supervisor, data_dir, secrets, say=print, durable=False)
        stores.await_ready()
    except BaseException:
        _started.close()
        raise
    return {
        **stores.environment,
        _MARK: str(os.getpid()),
        "MEMFORD_SECRET_KEY": secrets.secret_key,
        "MEMFORD_PUBLIC_URL": "http://localhost:8000",
        "MEMFORD_LOG_FORMAT": "console",
        "DJANGO_SETTINGS_MODULE": "memford.settings",
    }
