"""A process that holds many streams takes all the open files that the system gives it."""

import resource
import subprocess
import sys

from tests.live import ROOT, live_server

LOW = 256


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    code = (
        "import resource; from memford.open_files import raise_open_files_limit;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({LOW}, {2 * LOW}));"
        "print(*raise_open_files_limit())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.split() == [str(2 * LOW), str(2 * LOW)]


def test_the_workers_of_a_server_inherit_it() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 4 * LOW), hard))
    try:
        with live_server() as server:
            limit, _ = resource.prlimit(server.worker_pids()[0], resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert limit == hard
