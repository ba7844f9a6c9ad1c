"""The data directory: private, locked, and never half written (S1, S2)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memford.embedded.errors import EmbeddedError
from memford.embedded.state import DataDir, Running, Secrets, default_data_dir, running_environment
from tests.embedded.instances import bare_environment

HOLD = """
import sys
from pathlib import Path
from memford.embedded.state import DataDir
with DataDir(Path(sys.argv[1])).lock("http://localhost:8765"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def data_dir(tmp_path: Path) -> DataDir:
    """A new data directory."""
    directory = DataDir(tmp_path / "data")
    directory.create()
    return directory


def holder(data_dir: DataDir) -> "subprocess.Popen[str]":
    """Start a process that holds the directory's lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(data_dir.path)],
        env=bare_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_new_directory_and_a_loose_one_are_for_the_owner_alone(tmp_path: Path) -> None:
    loose = tmp_path / "loose"
    loose.mkdir(mode=0o755)
    loose.chmod(0o755)
    for path in (tmp_path / "deep" / "new", loose):
        DataDir(path).create()
        assert path.stat().st_mode & 0o777 == 0o700


def test_secrets_are_made_once_and_are_for_the_owner_alone(data_dir: DataDir) -> None:
    first = data_dir.load_secrets()
    assert data_dir.secrets_file.stat().st_mode & 0o777 == 0o600
    assert DataDir(data_dir.path).load_secrets() == first
    assert len(set(json.loads(data_dir.secrets_file.read_text()).values())) == 5


def test_secrets_do_not_show_in_a_repr(data_dir: DataDir) -> None:
    secrets = data_dir.load_secrets()
    running = Running(1, "http://localhost:1", {}, {"REDIS_URL": secrets.valkey_password})
    assert secrets.secret_key not in repr(secrets)
    assert secrets.valkey_password not in repr(running)


@pytest.mark.parametrize("damage", ["", "{", '{"secret_key": "only"}', "[]"])
def test_damaged_secrets_are_never_replaced(data_dir: DataDir, damage: str) -> None:
    data_dir.secrets_file.write_text(damage)
    with pytest.raises(EmbeddedError, match="damaged"):
        data_dir.load_secrets()
    assert data_dir.secrets_file.read_text() == damage


def test_lost_secrets_of_an_existing_database_are_never_replaced(data_dir: DataDir) -> None:
    (data_dir.path / "postgres").mkdir()
    with pytest.raises(EmbeddedError, match="Restore the file"):
        data_dir.load_secrets()


def test_a_held_directory_is_refused_with_the_holders_pid_and_url(data_dir: DataDir) -> None:
    with holder(data_dir) as process:
        with pytest.raises(EmbeddedError, match=rf"{process.pid}.*http://localhost:8765"), data_dir.lock("x"):
            pass
        process.communicate("")


def test_the_lock_is_free_again_when_its_holder_is_killed(data_dir: DataDir) -> None:
    with holder(data_dir) as process:
        assert data_dir.is_running()
        process.kill()
        process.wait(10)
        assert not data_dir.is_running()
    with data_dir.lock("x"):
        assert data_dir.is_running()


def test_what_a_killed_instance_left_does_not_count_as_running(data_dir: DataDir) -> None:
    data_dir.write_running(Running(os.getpid(), "http://localhost:1", {}, {"DATABASE_URL": "postgresql://gone"}))
    assert data_dir.ended_badly()
    with pytest.raises(EmbeddedError, match="start it with `memford up` first"):
        running_environment(data_dir.path)


def test_an_instance_that_still_starts_is_told_from_a_running_one(data_dir: DataDir) -> None:
    data_dir.write_running(Running(1, "http://localhost:1", {}, {"DATABASE_URL": "postgresql://of-an-earlier-run"}))
    with data_dir.lock("x"):
        with pytest.raises(EmbeddedError, match="still starting"):
            running_environment(data_dir.path)
        data_dir.write_running(Running(os.getpid(), "x", {"web": 1}, {"DATABASE_URL": "postgresql://now"}))
        assert running_environment(data_dir.path) == {"DATABASE_URL": "postgresql://now"}
        assert data_dir.run_file.stat().st_mode & 0o777 == 0o600


def test_the_default_directory_can_be_named_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMFORD_DATA_DIR", raising=False)
    assert default_data_dir() == Path(".memford")
    monkeypatch.setenv("MEMFORD_DATA_DIR", "/srv/memford")
    assert default_data_dir() == Path("/srv/memford")


def test_fresh_secrets_are_never_alike() -> None:
    assert Secrets.make() != Secrets.make()
