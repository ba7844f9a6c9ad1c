"""The data directory: its lock, its secrets, and what is running on it now (S1, S2)."""

import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from memford.embedded.errors import EmbeddedError

LOCK_PATIENCE_SECONDS = 0.5
PRIVATE_DIRECTORY_MODE = 0o700
TRAVERSABLE_DIRECTORY_MODE = 0o711
PRIVATE_FILE_MODE = 0o600


@dataclass(frozen=True, repr=False)
class Secrets:
    """What an instance made up for itself once; everything in it is safe inside a URL."""

    secret_key: str
    database_admin_password: str
    database_system_password: str
    database_app_password: str
    valkey_password: str

    @classmethod
    def make(cls) -> Self:
        """Return fresh secrets of 256 bits and more."""
        return cls(secrets.token_urlsafe(64), *(secrets.token_urlsafe(32) for _ in range(4)))


@dataclass(frozen=True, repr=False)
class Running:
    """What ``run.json`` says of a running ``memford up``."""

    pid: int
    url: str
    processes: dict[str, int]
    environment: dict[str, str]


def default_data_dir() -> Path:
    """Return ``$MEMFORD_DATA_DIR``, else ``.memford`` in the current directory."""
    return Path(os.environ.get("MEMFORD_DATA_DIR") or ".memford")


class DataDir:
    """One data directory, for its owner alone."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.logs = self.path / "logs"
        self.lock_file = self.path / "lock"
        self.secrets_file = self.path / "secrets.json"
        self.run_file = self.path / "run.json"

    def create(self) -> None:
        """Make the directory (0700) with its folder of logs; tighten it where others could look in.

        Raises:
            EmbeddedError: The directory cannot be made or belongs to another user.
        """
        try:
            self.path.mkdir(mode=PRIVATE_DIRECTORY_MODE, parents=True, exist_ok=True)
            self._tighten()
            self.logs.mkdir(mode=PRIVATE_DIRECTORY_MODE, exist_ok=True)
            self.logs.chmod(PRIVATE_DIRECTORY_MODE)
        except OSError as error:
            raise EmbeddedError(
                f"Cannot use {self.path} as data directory: {error.strerror}. Choose another with --data-dir."
            ) from error

    def _tighten(self) -> None:
        """Take away what group and others may do, except passing through where PostgreSQL needs that."""
        mode = self.path.stat().st_mode & 0o777
        if mode not in {PRIVATE_DIRECTORY_MODE, TRAVERSABLE_DIRECTORY_MODE}:
            self.path.chmod(PRIVATE_DIRECTORY_MODE)

    def log(self, name: str) -> Path:
        """Return the log file of a child process."""
        return self.logs / f"{name}.log"

    @contextmanager
    def lock(self, url: str) -> Iterator[None]:
        """Hold the directory for this process; it is free again when the process ends, however it ends.

        Raises:
            EmbeddedError: Another ``memford up`` holds it; the message says which (pid and URL).
        """
        descriptor = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, PRIVATE_FILE_MODE)
        try:
            if not _take_lock(descriptor):
                raise EmbeddedError(self._who_is_running())
            write_private(self.path / "lock.json", {"pid": os.getpid(), "url": url})
            yield
        finally:
            os.close(descriptor)

    def _who_is_running(self) -> str:
        """Say who holds the lock."""
        holder = _read_json(self.path / "lock.json") or {}
        who = f"process {holder.get('pid', '?')}, {holder.get('url', 'URL unknown')}"
        return f"Memford is already running on {self.path} ({who}). Stop it first, or choose another --data-dir."

    def is_running(self) -> bool:
        """Return whether some process holds the directory's lock."""
        try:
            descriptor = os.open(self.lock_file, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def load_secrets(self) -> Secrets:
        """Return the directory's secrets; make them when the directory is new.

        Raises:
            EmbeddedError: The file is damaged, or gone although a database made with it is there.
        """
        stored = _read_json(self.secrets_file)
        if stored is not None and {field.name for field in fields(Secrets)} <= stored.keys():
            return Secrets(**{field.name: str(stored[field.name]) for field in fields(Secrets)})
        if self.secrets_file.exists() or (self.path / "postgres").exists():
            raise EmbeddedError(
                f"{self.secrets_file} is missing or damaged, and the database beside it opens only with it. "
                "Restore the file from a backup, or move the data directory away to begin anew."
            )
        made = Secrets.make()
        write_private(self.secrets_file, asdict(made))
        return made

    def write_running(self, running: Running) -> None:
        """Record what is running."""
        write_private(self.run_file, asdict(running))

    def clear_running(self) -> None:
        """Forget what was running."""
        self.run_file.unlink(missing_ok=True)

    def ended_badly(self) -> bool:
        """Return whether the last ``memford up`` did not get to clean up; ask while holding the lock."""
        return self.run_file.exists()

    def running(self) -> Running:
        """Return what is running on this directory.

        Raises:
            EmbeddedError: Nothing is; a ``run.json`` left by a killed process counts for nothing.
        """
        if not self.is_running():
            raise EmbeddedError(f"Memford is not running on {self.path}: start it with `memford up` first.")
        stored = _read_json(self.run_file)
        try:
            running = Running(**(stored or {}))
        except TypeError:
            running = None
        if running is None or running.pid != (_read_json(self.path / "lock.json") or {}).get("pid"):
            raise EmbeddedError(f"Memford is still starting on {self.path}: try again in a moment.")
        return running


def running_environment(data_dir: Path) -> dict[str, str]:
    """Return the environment (``DATABASE_URL`` and the rest) of the ``memford up`` running on ``data_dir``.

    Raises:
        EmbeddedError: Nothing is running there.
    """
    return DataDir(data_dir).running().environment


def write_private(path: Path, content: dict[str, Any]) -> None:
    """Write JSON that survives a crash at any moment, either whole or not at all, with mode 0600."""
    write_private_text(path, json.dumps(content, indent=1) + "\n")


def write_private_text(path: Path, text: str) -> None:
    """Write a 0600 file by way of a temporary one beside it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make a rename inside ``path`` survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_json(path: Path) -> dict[str, Any] | None:
    """Return the object in a JSON file, or None where there is none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _take_lock(descriptor: int) -> bool:
    """Take the exclusive lock; try for a moment, since a reader may be looking at it just now."""
    deadline = time.monotonic() + LOCK_PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True
