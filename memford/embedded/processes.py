"""Child processes that die with their parent.

On Linux the kernel ends a child when the thread that spawned it ends (``PR_SET_PDEATHSIG``), so children
are spawned from the main thread. Each child leads a session of its own: Ctrl-C on the terminal reaches
the supervisor alone.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path

from memford.embedded.errors import EmbeddedError

EARLIER_RUN_PATIENCE_SECONDS = 10
NOBODY_ID = 65534
NAMESPACE_ID = 1000
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Identity(Enum):
    """As whom a child runs: PostgreSQL refuses to be root."""

    SELF = "the user who started Memford"
    NAMESPACE = "an ordinary user of a user namespace, which is root outside of it"
    NOBODY = f"user id {NOBODY_ID}"


def unprivileged_identity() -> Identity:
    """Return how to run what must not be root: plainly, in a user namespace, or else as nobody."""
    if os.geteuid() != 0:
        return Identity.SELF
    return Identity.NAMESPACE if _user_namespace_works() else Identity.NOBODY


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    log: Path,
    identity: Identity = Identity.SELF,
    death_signal: signal.Signals = signal.SIGKILL,
    cwd: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a child that appends its output to ``log`` (0600) and gets ``death_signal`` when this one dies.

    Raises:
        OSError: The program cannot be started.
    """
    parent = os.getpid()

    def prepare() -> None:
        _assume(identity)
        # A change of credentials clears the death signal, so it is set after it.
        die_with_parent(death_signal, parent)

    with open(log, "ab", opener=_open_private) as output:
        return subprocess.Popen(
            list(argv),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=prepare,
        )


def die_with_parent(death_signal: signal.Signals, parent: int) -> None:
    """Have the kernel send ``death_signal`` to this process when ``parent`` (its pid) ends; Linux only."""
    if _libc is None:
        return
    if _libc.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        os._exit(1)


def is_alive(pid: int) -> bool:
    """Return whether a process with this id exists, whoever owns it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def pids_working_in(directory: Path) -> list[int]:
    """Return the processes whose current directory is ``directory``; none where there is no ``/proc``."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            inside = link.samefile(directory)
        except OSError:
            continue
        if inside:
            found.append(int(link.parent.name))
    return found


def await_end(what: str, remains: Callable[[], list[int]], say: Callable[[str], None]) -> None:
    """Wait until the processes of an earlier, killed instance are gone, 10 s at most.

    Raises:
        EmbeddedError: They are still there.
    """
    deadline = time.monotonic() + EARLIER_RUN_PATIENCE_SECONDS
    told = False
    while pids := remains():
        if time.monotonic() > deadline:
            raise EmbeddedError(f"The {what} of an earlier run is still there. Start again after: kill -INT {pids[0]}")
        if not told:
            say(f"Waiting for the {what} of an earlier run to end (process {pids[0]})")
            told = True
        time.sleep(0.05)


def output_since(path: Path, offset: int, max_chars: int = 4_000) -> str:
    """Return what a child wrote to its log from ``offset`` (bytes) on; the first of it names the cause."""
    try:
        text = path.read_bytes()[offset:].decode(errors="replace")
    except OSError:
        return ""
    return text if len(text) <= max_chars else f"{text[:max_chars]}\n…"


def _open_private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, 0o600)


def _assume(identity: Identity) -> None:
    """Become ``identity`` in a child that was just forked."""
    match identity:
        case Identity.NAMESPACE:
            _enter_user_namespace()
        case Identity.NOBODY:
            os.setgroups([])
            os.setgid(NOBODY_ID)
            os.setuid(NOBODY_ID)
        case Identity.SELF:
            pass


def _enter_user_namespace() -> None:
    """Become an ordinary user in a new user namespace; outside of it nothing changes."""
    uid, gid = os.geteuid(), os.getegid()
    os.unshare(os.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{NAMESPACE_ID} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{NAMESPACE_ID} {gid} 1", encoding="ascii")


def _user_namespace_works() -> bool:
    """Try it in a child; containers and hardened kernels often refuse."""
    if sys.platform != "linux":
        return False
    child = os.fork()
    if child == 0:
        try:
            _enter_user_namespace()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
