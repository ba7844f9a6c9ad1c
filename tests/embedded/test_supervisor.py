"""The supervisor and its children: brought back when they die, ended in order and in time (S1)."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from memford.embedded.supervisor import Service, Supervisor
from tests.embedded.instances import bare_environment, none_alive
from tests.live import wait_until

POLITE = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", flush=True)
signal.sigwait([signal.SIGTERM])
"""
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
"""
PARENT = """
import sys, time
from pathlib import Path
from memford.embedded.supervisor import Service, Supervisor
children = Supervisor(print)
for name in ("one", "two"):
    children.start(Service(name, [sys.executable, "-c", sys.argv[2]], {}, Path(sys.argv[1]) / name, 0, []))
print(*children.pids.values(), flush=True)
with children.signals():
    children.watch()
    children.stop()
"""


def service(tmp_path: Path, name: str, code: str, *, stage: int = 0, patience: float = 3) -> Service:
    """Return a service that runs a line of Python."""
    return Service(
        name=name,
        argv=[sys.executable, "-c", code],
        env={},
        log=tmp_path / f"{name}.log",
        stop_stage=stage,
        stop_signals=[(signal.SIGTERM, patience)],
    )


def start(supervisor: Supervisor, child: Service) -> int:
    """Start a service, wait until it listens to signals its own way, and return its pid."""
    supervisor.start(child)
    wait_until(lambda: "ready" in child.log.read_text(), what="the child's start")
    return supervisor.pids[child.name]


def test_a_child_leads_its_own_session_and_its_log_is_private(tmp_path: Path) -> None:
    supervisor = Supervisor(print)
    child = service(tmp_path, "child", STUBBORN, patience=0)
    pid = start(supervisor, child)
    assert os.getsid(pid) == pid
    assert child.log.stat().st_mode & 0o777 == 0o600
    supervisor.stop()


def test_a_child_that_does_not_listen_is_killed_when_its_time_is_over(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(said.append)
    pid = start(supervisor, service(tmp_path, "deaf", STUBBORN, patience=0.3))
    began = time.monotonic()
    supervisor.stop()
    assert 0.3 <= time.monotonic() - began < 2
    assert none_alive({"deaf": pid})
    assert any("deaf does not end" in line for line in said)


def test_stages_end_one_after_the_other(tmp_path: Path) -> None:
    supervisor = Supervisor(print)
    store = start(supervisor, service(tmp_path, "store", POLITE, stage=1))
    # The first stage asks, while it ends, whether the second is still there.
    web = service(tmp_path, "web", f"{POLITE}\nos.kill({store}, 0)\nprint('the store was there')")
    start(supervisor, web)
    supervisor.stop()
    assert "the store was there" in web.log.read_text()
    assert none_alive({"store": store})


def test_a_service_that_keeps_failing_is_tried_ever_more_slowly(tmp_path: Path) -> None:
    failing = service(tmp_path, "failing", "raise SystemExit(1)")
    delays = []
    for _ in range(8):
        failing.spawn()
        wait_until(lambda: not failing.is_alive, what="the failure")
        delays.append(failing.plan_restart())
    assert delays[0] <= 0.2
    assert delays == sorted(delays)
    assert delays[-1] == 5


def test_a_dead_child_is_replaced_until_a_signal_ends_all(tmp_path: Path) -> None:
    with parent(tmp_path) as process:
        first = read_pids(process)
        os.kill(first[0], signal.SIGKILL)
        wait_until(lambda: len(children_of(process.pid)) == 2 and first[0] not in children_of(process.pid))
        both = children_of(process.pid)
        assert first[1] in both
        process.send_signal(signal.SIGINT)
        process.wait(10)
        assert none_alive({str(pid): pid for pid in [*first, *both]})


def test_children_of_a_killed_parent_die(tmp_path: Path) -> None:
    with parent(tmp_path) as process:
        pids = {str(pid): pid for pid in read_pids(process)}
        process.kill()
        process.wait(10)
        wait_until(lambda: none_alive(pids), limit_seconds=5, what="the children's end")


def parent(tmp_path: Path) -> "subprocess.Popen[str]":
    """Start a process that supervises two children."""
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), POLITE], env=bare_environment(), stdout=subprocess.PIPE, text=True
    )


def read_pids(process: "subprocess.Popen[str]") -> list[int]:
    """Return the process ids of the two children."""
    assert process.stdout is not None
    return [int(word) for word in process.stdout.readline().split()]


def children_of(pid: int) -> list[int]:
    """Return the processes that the kernel knows as children of ``pid``."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
