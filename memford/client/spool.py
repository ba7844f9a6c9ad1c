"""Writes that stand on disk until they are known to be saved (C2).

One JSON file for each write, readable by nobody else, in the user's state folder. Whoever works on one holds its lock,
which the system takes away from a process that dies; so what a killed process leaves can be taken up at once.

    pending/   writes that are not known to be saved
    refused/   texts that the server will never take, so that they are not lost
    damaged/   files that cannot be read as what was written, and what a write left that was killed while keeping it
    writers/   who the server says each connection is
    locks/     who works on what
"""

import errno
import hashlib
import json
import os
import re
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from memford.client.errors import ClientError

FORMAT: Final = 1
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
FILE_MAX_BYTES: Final = 1024 * 1024
"""No entry comes near it: 32,000 code points are at most 192,000 bytes of JSON."""
PATIENCE_SECONDS: Final = 60.0
"""How long one waits for another process that works on the same write."""
CHECKPOINT: Final = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class NotKept(ClientError):
    """The disk does not take the write, so it was not sent either."""

    code = "not_kept"


class Busy(ClientError):
    """Another process works on this."""

    code = "busy"


class Damaged(ValueError):
    """A file of the spool that is not what was written; the text says how."""


class Newer(Damaged):
    """A file that a newer version wrote: not this one's to judge."""


@dataclass(frozen=True)
class Entry:
    """One write, with all that is needed to send it again and to find it (C2)."""

    checkpoint_id: str
    server: str
    """The server's public URL."""
    connection: str
    """The name of the credential that it is sent by, never the credential."""
    project_id: str | None
    """``None`` until the server said which one the connection reaches: before that, nothing is sent."""
    content: str
    source: str | None
    created_at: str
    note_id: str | None = None
    """Known once a receipt came."""
    writer_id: str | None = None
    """The connection's id at the server, once any receipt of this connection's has told it."""

    @classmethod
    def new(
        cls,
        *,
        server: str,
        connection: str,
        project_id: str | None,
        content: str,
        source: str | None,
        checkpoint_id: str | None = None,
    ) -> Self:
        """Return a write that is to be sent now."""
        return cls(checkpoint_id or str(uuid.uuid4()), server, connection, project_id, content, source, _now())

    @property
    def name(self) -> str:
        """The file's name: one for a checkpoint and connection, so that the same write again is the same file."""
        about = f"{self.server}\0{self.connection}"
        return f"{self.checkpoint_id}-{hashlib.sha256(about.encode()).hexdigest()[:12]}"

    def says_the_same_as(self, other: Self) -> bool:
        """Whether both would store the same text in the same project."""
        mine, theirs = self.project_id, other.project_id
        same_project = mine is None or theirs is None or mine == theirs
        return same_project and (self.content, self.source) == (other.content, other.source)

    def to_bytes(self) -> bytes:
        """Return the file: readable by people, and with a digest that shows whether it was changed."""
        data = {"format": FORMAT, **asdict(self)}
        data["sha256"] = _digest(data)
        return json.dumps(data, ensure_ascii=False, indent=1).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """Read a file.

        Raises:
            Damaged: It is not what ``to_bytes`` wrote, to the last character of the text.
        """
        try:
            data = json.loads(raw.decode())
        except (ValueError, RecursionError):
            raise Damaged("is cut off, or no JSON") from None
        if not isinstance(data, dict):
            raise Damaged("holds no write")
        if isinstance(data.get("format"), int) and data["format"] > FORMAT:
            raise Newer("was written by a newer memford")
        digest = data.pop("sha256", None)
        try:
            changed = digest != _digest(data)
        except (ValueError, RecursionError):
            changed = True
        if changed:
            raise Damaged("was changed after it was written")
        data.pop("format", None)
        return cls._checked(data)

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> Self:
        known = {field.name for field in fields(cls)}
        needed = ("checkpoint_id", "server", "connection", "content", "created_at")
        if set(data) != known or not all(isinstance(data[name], str) for name in needed):
            raise Damaged("holds no write")
        if not all(data[name] is None or isinstance(data[name], str) for name in known):
            raise Damaged("holds no write")
        if not CHECKPOINT.fullmatch(data["checkpoint_id"]):
            raise Damaged("has no checkpoint")
        return cls(**data)


@dataclass(frozen=True)
class Stray:
    """A file among the pending writes that is none: where it is now, and what is wrong with it."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Stock:
    """What the spool holds."""

    entries: list[Entry]
    """Oldest first."""
    strays: list[Stray]


class Held:
    """A write whose lock this process holds: nobody else sends, changes or removes it meanwhile."""

    def __init__(self, spool: "Spool", entry: Entry, *, is_new: bool = False) -> None:
        self._spool = spool
        self.entry = entry
        self.is_new = is_new
        """Whether it was never sent before."""

    @property
    def path(self) -> Path:
        """Where it stands."""
        return self._spool.path_of(self.entry)

    def learn(self, *, project_id: str | None = None, note_id: str | None = None, writer_id: str | None = None) -> None:
        """Add what the server told; it is on disk when this returns.

        Raises:
            NotKept: The disk does not take it; what stood there before still stands.
        """
        told = {"project_id": project_id, "note_id": note_id, "writer_id": writer_id}
        news = {name: value for name, value in told.items() if value is not None}
        learnt = replace(self.entry, **news)
        if learnt != self.entry:
            self._spool.put(learnt)
            self.entry = learnt

    def remove(self) -> None:
        """Take it off the disk, because it is saved."""
        # Should the power fail before this reaches the disk, the write is only found saved once more.
        self.path.unlink(missing_ok=True)

    def refuse(self) -> Path:
        """Set it aside, because the server will never take it; return where it is."""
        return self._spool.set_aside(self.path, "refused")


class Spool:
    """All writes of this user that are not known to be saved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @classmethod
    def of_user(cls) -> Self:
        """Return the one in ``MEMFORD_STATE_DIR``, else in the user's state folder."""
        if given := os.environ.get("MEMFORD_STATE_DIR"):
            return cls(Path(given))
        from platformdirs import user_state_path

        return cls(user_state_path("memford", appauthor=False))

    def path_of(self, entry: Entry) -> Path:
        """Where an entry stands."""
        return self._pending / f"{entry.name}.json"

    @property
    def _pending(self) -> Path:
        return self.folder / "pending"

    def __contains__(self, entry: Entry) -> bool:
        return self.path_of(entry).exists()

    # Holding, keeping and removing

    @contextmanager
    def keep(self, entry: Entry) -> Iterator[Held]:
        """Put a new write on disk, lock and all, before the block begins; the same write again is taken up again.

        Raises:
            NotKept: The disk does not take it.
            Busy: Another process has been working on the same one for too long.
            ClientError: ``checkpoint_conflict``: its checkpoint is pending with another text.
        """
        with self._locked(entry.name, PATIENCE_SECONDS):
            earlier = self._read(self.path_of(entry))
            if earlier is None:
                entry = replace(entry, writer_id=self.writer_of(entry))
                self.put(entry)
            elif earlier.says_the_same_as(entry):
                entry = earlier
            else:
                raise ClientError(
                    f"The checkpoint {entry.checkpoint_id} is pending with another text or source. "
                    "Use a new UUID for a new note; `memford flush` sends what is pending.",
                    code="checkpoint_conflict",
                )
            yield Held(self, entry, is_new=earlier is None)

    @contextmanager
    def hold(self, entry: Entry, *, patience: float = 0.0) -> Iterator[Held | None]:
        """Lock a write that stands on disk; ``None`` where somebody else has dealt with it meanwhile.

        Raises:
            Busy: Another process works on it.
        """
        with self._locked(entry.name, patience):
            now = self._read(self.path_of(entry))
            yield None if now is None else Held(self, now)

    @contextmanager
    def rebind(self, held: Held, *, connection: str) -> Iterator[Held]:
        """Make a write another connection's, as if that had written it, before it is sent by that one.

        Killed in between, both stand: then the older one is looked for again, and repeating the newer one is harmless.

        Raises:
            Busy: Another process works on the same write of that connection.
        """
        other = replace(held.entry, connection=connection, note_id=None, writer_id=None, created_at=_now())
        with self._locked(other.name, 0.0):
            if other not in self:
                self.put(other)
            held.remove()
            yield Held(self, self._read(self.path_of(other)) or other)

    @contextmanager
    def flushing(self, *, patience: float) -> Iterator[None]:
        """Be the only process that flushes.

        Raises:
            Busy: Another one has been flushing for too long.
        """
        with self._locked("flush", patience):
            yield

    def put(self, entry: Entry) -> None:
        """Put an entry on disk, in place of what stood there: all of it or nothing, whenever the power fails.

        Raises:
            NotKept: The disk does not take it.
        """
        self._write(self.path_of(entry), entry.to_bytes())

    # Who the connections are

    def writer_of(self, entry: Entry) -> str | None:
        """Return the id at the server of the connection that an entry was written by, where it is known."""
        if entry.writer_id is not None:
            return entry.writer_id
        server, connection, writer_id = _writer(self._book(entry))
        return writer_id if (server, connection) == self._who(entry) else None

    def known_writers(self, server: str) -> set[str]:
        """Return the ids of all connections to a server that were ever given a receipt here."""
        try:
            told = [_writer(path) for path in (self.folder / "writers").glob("*.json")]
        except OSError:
            return set()
        return {writer_id for where, _, writer_id in told if where == server and writer_id is not None}

    def remember_writer(self, entry: Entry, writer_id: str) -> None:
        """Note who the server says a connection is, for the writes of it whose receipt never came."""
        if self.writer_of(replace(entry, writer_id=None)) == writer_id:
            return
        server, connection = self._who(entry)
        known = {"server": server, "connection": connection, "writer_id": writer_id}
        # Only a help for later: a full disk must not make a saved note look unsaved.
        with suppress(NotKept):
            self._write(self._book(entry), json.dumps(known).encode())

    def _who(self, entry: Entry) -> tuple[str, str]:
        return entry.server, entry.connection

    def _book(self, entry: Entry) -> Path:
        name = hashlib.sha256("\0".join(self._who(entry)).encode()).hexdigest()[:24]
        return self.folder / "writers" / f"{name}.json"

    # Looking

    def stock(self) -> Stock:
        """Return what is pending, and set aside whatever among it is damaged: it never stands in another's way."""
        entries: list[Entry] = []
        strays: list[Stray] = []
        for path in self._files():
            try:
                if path.suffix == ".json":
                    entry = Entry.from_bytes(_read_file(path))
                    if path != self.path_of(entry):
                        raise Damaged("has another write's name")
                    entries.append(entry)
                elif path.suffix == ".tmp":
                    strays += self._dead(path)
            except FileNotFoundError:
                continue
            except Newer as newer:
                strays.append(Stray(path, str(newer)))
            except Damaged as damaged:
                strays += self._out_of_the_way(path, str(damaged))
            except OSError as error:
                strays.append(Stray(path, f"cannot be read: {error.strerror or error}"))
        entries.sort(key=lambda entry: (entry.created_at, entry.name))
        return Stock(entries, strays)

    def aside(self, kind: str) -> list[Path]:
        """Return what was set aside as ``refused`` or ``damaged``."""
        with suppress(OSError):
            return sorted(path for path in (self.folder / kind).iterdir() if path.is_file())
        return []

    def tidy(self) -> None:
        """Remove the locks that killed processes left behind."""
        with suppress(OSError):
            for path in list((self.folder / "locks").iterdir()):
                name = path.name.removesuffix(".lock")
                if name != "flush" and not (self._pending / f"{name}.json").exists():
                    with suppress(Busy), self._locked(name, 0.0):
                        pass

    def set_aside(self, path: Path, kind: str) -> Path:
        """Move a file out of the pending ones, under a name that is free; return where it is.

        Raises:
            NotKept: The disk does not take it; the file is where it was.
        """
        folder = self.folder / kind
        _make_folder(folder)
        place = folder / path.name
        try:
            for number in range(1, 1000):
                if not os.path.lexists(place):
                    break
                place = folder / f"{path.stem}-{number}{path.suffix}"
            path.rename(place)
        except OSError as error:
            raise NotKept(f"{path} cannot be moved to {folder}: {error.strerror or error}.") from error
        _sync_folder(folder)
        _sync_folder(path.parent)
        return place

    def _files(self) -> list[Path]:
        try:
            return sorted(self._pending.iterdir())
        except FileNotFoundError:
            return []

    def _read(self, path: Path) -> Entry | None:
        """Read an entry whose lock is held; one that is damaged is set aside as if it were not there."""
        try:
            return Entry.from_bytes(_read_file(path))
        except FileNotFoundError:
            return None
        except Newer as newer:
            raise ClientError(f"{path} {newer}.", code="newer") from None
        except Damaged:
            self.set_aside(path, "damaged")
            return None
        except OSError as error:
            raise NotKept(f"{path} cannot be read: {error.strerror or error}.") from error

    def _dead(self, path: Path) -> list[Stray]:
        """Set aside what a write left that died while it was being kept: nobody was told that it is kept."""
        name = path.name.removesuffix(".json.tmp")
        try:
            with self._locked(name, 0.0):
                if (self._pending / f"{name}.json").exists():
                    # It died later, while adding what the server had told.
                    path.unlink(missing_ok=True)
                    return []
                place = self.set_aside(path, "damaged")
        except (Busy, NotKept):
            return []
        return [Stray(place, "is of a write that was killed before it was kept; it was never sent")]

    def _out_of_the_way(self, path: Path, reason: str) -> list[Stray]:
        try:
            with self._locked(path.name.removesuffix(".json"), 0.0):
                return [Stray(self.set_aside(path, "damaged"), reason)]
        except Busy:
            return []
        except NotKept:
            return [Stray(path, reason)]

    # The disk

    @contextmanager
    def _locked(self, name: str, patience: float) -> Iterator[None]:
        from filelock import FileLock, Timeout

        folder = self.folder / "locks"
        _make_folder(folder)
        path = folder / f"{name}.lock"
        lock = FileLock(path, mode=FILE_MODE)
        try:
            lock.acquire(timeout=patience, poll_interval=0.02)
        except Timeout:
            raise Busy(f"Another process works on {name}.") from None
        except OSError as error:
            raise NotKept(f"{path} cannot be locked: {error.strerror or error}.") from error
        try:
            yield
        finally:
            # Removed while it is held: whoever waits for it notices that the file is gone, and makes a new one.
            with suppress(OSError):
                path.unlink()
            lock.release()

    def _write(self, path: Path, raw: bytes) -> None:
        """Write a file so that it is there as a whole or not at all, and stays there when the power fails."""
        _make_folder(path.parent)
        half = path.with_suffix(path.suffix + ".tmp")
        try:
            with suppress(FileNotFoundError):
                half.unlink()
            handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), FILE_MODE)
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
                file.flush()
                _sync(file.fileno())
            half.replace(path)
        except OSError as error:
            with suppress(OSError):
                half.unlink()
            raise NotKept(f"{path.parent} does not take the text: {error.strerror or error}.") from error
        _sync_folder(path.parent)


def _writer(book: Path) -> tuple[str | None, str | None, str | None]:
    """Read server, connection and the connection's id; what cannot be read is not known."""
    try:
        known = json.loads(book.read_bytes())
        server, connection, writer_id = (str(known[name]) for name in ("server", "connection", "writer_id"))
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None, None, None
    return server, connection, writer_id


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _read_file(path: Path) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Damaged("is a link") from None
        if path.is_dir():
            raise Damaged("is a folder") from None
        raise
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Damaged("is no file")
        raw = file.read(FILE_MAX_BYTES + 1)
    if len(raw) > FILE_MAX_BYTES:
        raise Damaged("is larger than any write")
    return raw


def _make_folder(folder: Path) -> None:
    """Make a folder, and those above it, for this user alone; they are on disk when this returns.

    Raises:
        NotKept: It cannot be made, or belongs to somebody else.
    """
    try:
        if not folder.is_dir():
            if not folder.parent.is_dir():
                _make_folder(folder.parent)
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
            _sync_folder(folder.parent)
        if os.name == "posix":
            found = folder.stat()
            if found.st_uid != os.geteuid():
                raise NotKept(f"{folder} belongs to another user. Name a folder of your own in MEMFORD_STATE_DIR.")
            if stat.S_IMODE(found.st_mode) & 0o077:
                folder.chmod(FOLDER_MODE)
    except OSError as error:
        raise NotKept(f"{folder} cannot be used to keep texts: {error.strerror or error}.") from error


def _sync(handle: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        # There, fsync leaves it in the drive's own memory.
        with suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def _sync_folder(folder: Path) -> None:
    """Put a folder's names on disk; what cannot do that (Windows, some network drives) does without."""
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
