"""The embedded PostgreSQL and Valkey as processes of their own (S1)."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from redis import AuthenticationError, Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from memford.embedded.binaries import find_binaries
from memford.embedded.errors import EmbeddedError
from memford.embedded.postgres import Postgres
from memford.embedded.processes import Identity, unprivileged_identity
from memford.embedded.state import DataDir, write_private
from memford.embedded.stores import Stores, free_ports, start_stores
from memford.embedded.supervisor import Supervisor
from tests.embedded.instances import bare_environment
from tests.live import wait_until

START_AND_WAIT = """
import sys
from pathlib import Path
from memford.embedded.state import DataDir, write_private
from memford.embedded.stores import start_stores
from memford.embedded.supervisor import Supervisor
data_dir = DataDir(Path(sys.argv[1]))
data_dir.create()
with data_dir.lock("x"):
    supervisor = Supervisor(print)
    start_stores(supervisor, data_dir, data_dir.load_secrets(), say=print).await_ready()
    print(*supervisor.pids.values(), flush=True)
    sys.stdin.read()
"""


@dataclass
class Running:
    """Stores that run, where they live, and who watches them."""

    data_dir: DataDir
    stores: Stores
    supervisor: Supervisor
    said: list[str]


@contextmanager
def running_stores(path: Path) -> Iterator[Running]:
    """Run both stores on a directory until the block ends."""
    data_dir = DataDir(path)
    data_dir.create()
    said: list[str] = []
    supervisor = Supervisor(said.append)
    with data_dir.lock("the test"):
        try:
            stores = start_stores(supervisor, data_dir, data_dir.load_secrets(), say=said.append)
            stores.await_ready()
            yield Running(data_dir, stores, supervisor, said)
        finally:
            supervisor.stop()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Stores that tests share which only look."""
    with running_stores(tmp_path_factory.mktemp("stores") / "data") as stores:
        yield stores


def remember(running: Running, word: str) -> None:
    """Write a row, acknowledged."""
    with psycopg.connect(running.stores.postgres.system_url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS memory (word text)")
        connection.execute("INSERT INTO memory VALUES (%s)", [word])


def recall(running: Running) -> list[str]:
    """Return what was written."""
    with psycopg.connect(running.stores.postgres.system_url) as connection:
        return [row[0] for row in connection.execute("SELECT word FROM memory")]


def test_acknowledged_writes_are_safe_and_text_is_utf8(running: Running) -> None:
    wanted = {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "server_encoding": "UTF8",
        "listen_addresses": "127.0.0.1",
        "password_encryption": "scram-sha-256",
    }
    with psycopg.connect(running.stores.postgres.system_url) as connection:
        found = {name: connection.execute("SELECT current_setting(%s)", [name]).fetchone() for name in wanted}
        locale = connection.execute("SELECT datlocprovider, datlocale FROM pg_database WHERE datname = 'memford'")
        assert locale.fetchone() == ("b", "C.UTF-8")
    assert found == {name: (value,) for name, value in wanted.items()}


def test_the_database_opens_with_its_password_only(running: Running) -> None:
    url = running.stores.postgres.app_url
    password = url.split(":")[2].split("@")[0]
    for wrong in (url.replace(password, "guess"), url.replace(f":{password}", "")):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(wrong)


def test_the_role_that_serves_owners_owns_nothing_and_makes_nothing(running: Running) -> None:
    with psycopg.connect(running.stores.postgres.app_url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert row == (False, False, False, False)
        for statement in ("CREATE TABLE mine (x int)", "CREATE SCHEMA mine", "CREATE TEMP TABLE mine (x int)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_logs_hold_no_statement_and_no_value(running: Running) -> None:
    marker = "content-that-must-not-be-logged"
    with psycopg.connect(running.stores.postgres.system_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE once (word text PRIMARY KEY)")
        connection.execute("INSERT INTO once VALUES (%s)", [marker])
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO once VALUES (%s)", [marker])
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute(f"SELECT '{marker}' FROM nowhere")
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            connection.execute("SELECT %s::uuid", [marker])
    log = running.data_dir.log("postgres").read_text()
    assert "ready to accept connections" in log
    assert marker not in log


def test_valkey_wants_its_password_and_keeps_within_its_memory(running: Running) -> None:
    url = running.stores.valkey.url
    with Redis.from_url(url) as client:
        settings = client.config_get("maxmemory*")
        assert settings["maxmemory"] == str(256 * 1024 * 1024)
        assert settings["maxmemory-policy"] == "noeviction"
        assert client.config_get("bind")["bind"] == "127.0.0.1"
    port = int(url.rpartition(":")[2].partition("/")[0])
    with Redis(port=port, retry=Retry(NoBackoff(), retries=0)) as stranger, pytest.raises(AuthenticationError):
        stranger.ping()


def test_a_start_that_was_cut_short_is_done_over(tmp_path: Path) -> None:
    half = tmp_path / "data" / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    (half / "postgresql.conf").write_text("listen_addresses = '*'\n")
    with running_stores(tmp_path / "data") as running:
        remember(running, "whole")
        assert recall(running) == ["whole"]
        assert not half.exists()
        assert not (tmp_path / "data" / "initdb.password").exists()


def test_a_killed_initdb_is_done_over(tmp_path: Path) -> None:
    path = tmp_path / "data"
    process = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT, str(path)],
        env=bare_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    with process:
        wait_until((path / "postgres.new" / "PG_VERSION").exists, what="initdb at work")
        process.kill()
    assert not (path / "postgres").exists()
    with running_stores(path) as running:
        remember(running, "whole")
        assert recall(running) == ["whole"]


def test_a_folder_that_is_no_whole_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    data_dir = DataDir(tmp_path / "data")
    data_dir.load_secrets()
    (data_dir.path / "postgres").mkdir()
    with pytest.raises(EmbeddedError, match="not a whole database"), running_stores(data_dir.path):
        pass
    (data_dir.path / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedError, match="was made by PostgreSQL 17"), running_stores(data_dir.path):
        pass


def test_secrets_of_another_database_are_refused_at_once(tmp_path: Path) -> None:
    with running_stores(tmp_path / "data") as running:
        secrets = running.data_dir.secrets_file
    kept = secrets.read_text()
    write_private(secrets, {name: f"{value}x" for name, value in json.loads(kept).items()})
    with pytest.raises(EmbeddedError, match="not belong together"), running_stores(tmp_path / "data"):
        pass
    secrets.write_text(kept)
    with running_stores(tmp_path / "data") as again:
        remember(again, "back")


def test_all_killed_at_once_lose_nothing_and_a_reused_pid_is_no_obstacle(tmp_path: Path) -> None:
    with running_stores(tmp_path / "data") as running:
        for number in range(20):
            remember(running, str(number))
        for pid in running.supervisor.pids.values():
            os.kill(pid, signal.SIGKILL)
        pid_file = running.stores.postgres.cluster / "postmaster.pid"
        left = pid_file.read_text()
    # The process id of the dead server has gone to somebody else: this very process.
    pid_file.write_text("\n".join([str(os.getpid()), *left.splitlines()[1:], ""]))
    with running_stores(tmp_path / "data") as again:
        assert recall(again) == [str(number) for number in range(20)]


def test_stores_end_with_a_killed_parent_and_start_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "data"
    process = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT, str(path)],
        env=bare_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == 2
        process.kill()
    with running_stores(path) as running:
        assert not set(pids) & set(running.supervisor.pids.values())
        remember(running, "again")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_where_user_namespaces_are_refused_the_server_runs_as_nobody(tmp_path: Path) -> None:
    binaries = find_binaries()
    if any(not folder.stat().st_mode & 0o001 for folder in binaries.postgres.parents):
        pytest.skip("the installed PostgreSQL lies where other users cannot reach it")
    # pytest's own folders are closed to others.
    path = Path(tempfile.mkdtemp(prefix="memford-nobody-"))
    path.chmod(0o711)
    try:
        data_dir = DataDir(path / "data")
        data_dir.create()
        for identity in (Identity.NOBODY, unprivileged_identity(), Identity.NOBODY):
            assert word_count_as(identity, data_dir) == 1
    finally:
        shutil.rmtree(path)


def word_count_as(identity: Identity, data_dir: DataDir) -> int:
    """Run the database as ``identity`` and return how many rows an otherwise fresh start finds."""
    supervisor = Supervisor(print)
    port = free_ports(1)[0]
    postgres = Postgres(data_dir, data_dir.load_secrets(), find_binaries(), port=port, identity=identity)
    try:
        postgres.prepare(print)
        postgres.await_ready(supervisor.start(postgres.service()))
        assert data_dir.path.stat().st_mode & 0o066 == 0
        assert postgres.cluster.stat().st_mode & 0o077 == 0
        with psycopg.connect(postgres.system_url) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS memory (word text PRIMARY KEY)")
            connection.execute("INSERT INTO memory VALUES ('one') ON CONFLICT DO NOTHING")
            return len(connection.execute("SELECT word FROM memory").fetchall())
    finally:
        supervisor.stop()


def test_a_directory_that_nobody_can_reach_is_refused_clearly(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    data_dir = DataDir(closed / "data")
    data_dir.create()
    secrets, binaries = data_dir.load_secrets(), find_binaries()
    postgres = Postgres(data_dir, secrets, binaries, port=1, identity=Identity.NOBODY)
    with pytest.raises(EmbeddedError, match=r"cannot pass through .*as an ordinary user"):
        postgres.prepare(print)
