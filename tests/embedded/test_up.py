"""``memford up`` and ``memford bootstrap`` as an operator meets them (S1, S2)."""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import psycopg
import pytest

from memford.embedded.processes import Identity, spawn, unprivileged_identity
from memford.embedded.state import running_environment
from tests.embedded.instances import (
    BACK_LIMIT_SECONDS,
    CODE_SERVICES,
    STOP_LIMIT_SECONDS,
    STORE_SERVICES,
    Up,
    none_alive,
    open_connections,
    run_memford,
    running_up,
)
from tests.live import free_port, wait_until


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One instance that most tests here share; each leaves it running."""
    with running_up(tmp_path_factory.mktemp("up") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def key(up: Up) -> str:
    """A key made before anything was killed."""
    answer = up.bootstrap("--owner", "first@example.com", "--project", "Before the storm")
    return str(answer["key"])


def test_it_says_where_it_is_and_how_the_first_owner_gets_in(up: Up) -> None:
    assert up.url in up.output
    link = re.search(rf"{re.escape(up.url)}/\S+", up.output)
    assert link is not None
    assert httpx2.get(link.group(), timeout=15).status_code in {200, 302, 303}
    assert f"bootstrap --data-dir {up.data_dir.path} --owner" in up.output


def test_its_mail_is_shown_where_it_runs(up: Up) -> None:
    with httpx2.Client(base_url=up.url) as client:
        page = client.get("/accounts/signup/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None
        fields = {"email": "new@example.com", "password1": "a lamp turns in 8 seconds", "csrfmiddlewaretoken": token[1]}
        assert client.post("/accounts/signup/", data=fields).status_code == 302
    wait_until(lambda: "To: new@example.com" in up.output, limit_seconds=10, what="the mail")
    assert re.search(r"Subject: Your Memford code: \S+", up.output)


def test_an_invitation_is_one_command(up: Up) -> None:
    done = run_memford("invite", "--data-dir", str(up.data_dir.path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{up.url}/invitation/mfi_")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_it_answers_on_each_loopback_address(up: Up, host: str) -> None:
    if host == "[::1]" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    assert up.answers(host)


def test_what_it_keeps_is_for_its_owner_alone(up: Up) -> None:
    root = up.data_dir.path
    assert root.stat().st_mode & 0o777 == 0o700
    open_to_others = [path for path in root.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o077]
    assert not open_to_others


def test_no_secret_stands_on_a_command_line_or_in_a_log(up: Up, key: str) -> None:
    secrets = [*json.loads(up.data_dir.secrets_file.read_text()).values(), key]
    lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in up.pids.values()]
    logs = [path.read_text(errors="replace") for path in up.data_dir.logs.iterdir()]
    assert not [secret for secret in secrets for text in [*lines, *logs, up.output] if secret in text]


def test_a_second_one_on_the_same_directory_says_who_is_running(up: Up) -> None:
    done = run_memford("up", "--port", str(free_port()), "--data-dir", str(up.data_dir.path))
    assert done.returncode == 1
    assert str(up.process.pid) in done.stderr
    assert up.url in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_busy_port_is_refused_before_anything_starts(up: Up, tmp_path: Path) -> None:
    done = run_memford("up", "--port", str(up.port), "--data-dir", str(tmp_path / "other"))
    assert done.returncode == 1
    assert f"Port {up.port} is in use" in done.stderr
    assert not (tmp_path / "other" / "postgres").exists()


@pytest.mark.parametrize("only", ["DATABASE_URL", "REDIS_URL"])
def test_one_store_of_ones_own_without_the_other_is_refused(tmp_path: Path, only: str) -> None:
    done = run_memford("up", "--data-dir", str(tmp_path / "data"), **{only: "redis://127.0.0.1:1/0"})
    assert done.returncode == 1
    assert "Set both" in done.stderr


def test_bootstrap_finds_the_same_project_makes_new_keys_and_revokes_its_oldest_beyond_five(up: Up) -> None:
    wish = ("--owner", "many@example.com", "--project", "Harbour")
    first = up.bootstrap(*wish)
    assert list(first) == ["owner", "project_id", "key", "mcp_url"]
    assert first["owner"] == "many@example.com"
    assert first["mcp_url"] == f"{up.url}/mcp"
    assert up.accepts(first["key"])
    with ThreadPoolExecutor() as threads:
        later = [made.result() for made in [threads.submit(up.bootstrap, *wish) for _ in range(5)]]
    assert {answer["project_id"] for answer in later} == {first["project_id"]}
    assert not up.accepts(first["key"])
    assert len({answer["key"] for answer in later if up.accepts(answer["key"])}) == 5


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--owner", "no address", "--project", "P"), 1),
        (("--owner", "a@example.com", "--project", "  "), 1),
        (("--owner", "a@example.com", "--project", "P", "--access", "all"), 2),
        (("--owner", "a@example.com"), 2),
    ],
)
def test_bootstrap_refuses_clearly(up: Up, arguments: tuple[str, ...], code: int) -> None:
    done = run_memford("bootstrap", "--data-dir", str(up.data_dir.path), *arguments, "--json")
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr
    assert "Traceback" not in done.stderr
    if code == 1:
        assert len(done.stderr.splitlines()) == 1


def test_bootstrap_never_prints_the_password(up: Up) -> None:
    password = "not-to-be-seen-93412"
    arguments = ("--owner", "quiet@example.com", "--password", password, "--project", "P")
    done = run_memford("bootstrap", "--data-dir", str(up.data_dir.path), *arguments)
    assert done.returncode == 0, done.stderr
    assert password not in done.stdout + done.stderr
    assert "mfk_" in done.stdout


def test_bootstrap_without_a_running_instance_says_what_to_do(tmp_path: Path) -> None:
    done = run_memford("bootstrap", "--data-dir", str(tmp_path), "--owner", "a@example.com", "--project", "P")
    assert done.returncode == 1
    assert "memford up" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("part", ["postgres", "valkey", "web", "worker", "beat"])
def test_a_part_killed_the_hard_way_comes_back(up: Up, key: str, part: str) -> None:
    before = up.pids
    up.await_new(part, up.kill(part))
    wait_until(lambda: up.answers() and up.accepts(key), limit_seconds=BACK_LIMIT_SECONDS, what="a served call")
    assert {name: pid for name, pid in up.pids.items() if name != part} == {
        name: pid for name, pid in before.items() if name != part
    }


def test_a_supervisor_killed_the_hard_way_takes_its_children_along_and_loses_nothing(up: Up, key: str) -> None:
    pids = {**up.pids, "supervisor": up.process.pid}
    os.kill(up.process.pid, signal.SIGKILL)
    up.process.wait(10)
    with running_up(up.data_dir.path, port=up.port) as again:
        assert none_alive(pids)
        assert again.accepts(key)
        with open_connections(again.port):
            pids = again.pids
            seconds = again.stop(signal.SIGINT)
        assert seconds < STOP_LIMIT_SECONDS
        assert again.process.returncode == 0
        assert none_alive(pids)
        assert not again.data_dir.run_file.exists()
        assert "killing it" not in again.output


def test_ones_own_stores_are_used_and_no_embedded_one_starts(tmp_path: Path) -> None:
    stores = {name: os.environ[name] for name in ("DATABASE_URL", "MEMFORD_SYSTEM_DATABASE_URL", "REDIS_URL")}
    with running_up(tmp_path / "data", **stores) as up:
        assert set(up.pids) == CODE_SERVICES
        assert not (up.data_dir.path / "postgres").exists()
        arguments = ("--owner", "own@example.com", "--project", "Own stores", "--json")
        done = run_memford("bootstrap", "--data-dir", str(up.data_dir.path), *arguments, **stores)
        assert done.returncode == 0, done.stderr
        assert up.accepts(json.loads(done.stdout.splitlines()[-1])["key"])
        seconds = up.stop(signal.SIGTERM)
        assert seconds < STOP_LIMIT_SECONDS
    with psycopg.connect(stores["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_it_runs_as_an_ordinary_user(tmp_path: Path) -> None:
    if unprivileged_identity() is not Identity.NAMESPACE:
        pytest.skip("this machine refuses user namespaces")
    script = "import os, sys; from memford.cli import main; assert os.geteuid() != 0; main()"

    def as_ordinary_user(argv: list[str], **options: object) -> object:
        return spawn([sys.executable, "-c", script, *argv[3:]], identity=Identity.NAMESPACE, **options)  # type: ignore[arg-type]

    with running_up(tmp_path / "data", spawn=as_ordinary_user) as up:
        assert set(up.pids) == STORE_SERVICES | CODE_SERVICES
        assert running_environment(up.data_dir.path)["DATABASE_URL"].startswith("postgresql://memford_app:")
        pids = up.pids
        assert up.stop() < STOP_LIMIT_SECONDS
        assert none_alive(pids)
