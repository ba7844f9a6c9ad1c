"""Sending a write that the spool keeps, and saying only what is proved (C2).

A write is *saved* when the same id and the exact text were read back, or when the server gave the same receipt for the
same checkpoint once more. Everything else stays on disk.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

import anyio
import httpx2

from memford.client.errors import ClientError, Forbidden, Impatient, Refused, SignedOut, Unreachable
from memford.client.memory import READINGS_MAX, AsyncMemory
from memford.client.shapes import Note, Receipt
from memford.client.spool import Entry, Held, NotKept, Spool

WRITE_MAX_SECONDS: Final = 60.0
"""How long one write may take with everything; after that it is pending."""
ATTEMPTS: Final = 2
PAUSE_SECONDS: Final = 0.5
FIRST_PAGE_NOTES: Final = 10
"""What was just written is among the newest notes; only where it is not, whole pages are read."""
_PAGE_NOTES: Final = 100


class Unverified(ClientError):
    """What came back is not what was sent, so nothing is proved."""

    code = "unverified"


class State(StrEnum):
    """What became of a write."""

    SAVED = "saved"
    UNVERIFIED = "unverified"
    """It may or may not be stored; it is kept."""
    KEPT = "kept"
    """The server does not take it now (signed out, reading only, storage full); it is kept."""
    REFUSED = "refused"
    """The server will never take it; it is set aside."""
    UNRESOLVED = "unresolved"
    """Written by another connection and not found; it is kept, and is only sent again when asked for."""


@dataclass(frozen=True)
class Saved:
    """The proof that a write is stored."""

    note_id: str
    project_id: str
    received_at: str
    changed_since: bool = False
    """Its owner has changed, deactivated or deleted it meanwhile."""


@dataclass(frozen=True)
class Outcome:
    """What became of one write, and where it stands now."""

    entry: Entry
    state: State
    saved: Saved | None = None
    error: ClientError | None = None
    path: Path | None = None


@dataclass(frozen=True)
class Door:
    """The way to a memory: the server, and the connection that one is there."""

    server: str
    connection: str
    auth: Callable[[], httpx2.Auth] = field(repr=False)

    def open(self) -> AsyncMemory:
        """Return the memory behind it, to be entered."""
        return AsyncMemory(self.server, auth=self.auth())


async def save(door: Door, spool: Spool, held: Held) -> Outcome:
    """Send a write that stands on disk, and take it off the disk once it is proved to be saved."""
    error: ClientError = Unreachable(f"It took more than {WRITE_MAX_SECONDS:.0f} seconds.")
    outcome: Outcome | None = None
    with anyio.move_on_after(WRITE_MAX_SECONDS):
        for attempt in range(ATTEMPTS):
            await anyio.sleep(PAUSE_SECONDS if attempt else 0)
            try:
                async with door.open() as memory:
                    outcome = await settle(memory, spool, held)
            except ClientError as failure:
                error = failure
            # What goes wrong after the proof, while the connection is closed, takes nothing away from it.
            if outcome is not None or not isinstance(error, Unreachable):
                break
    return outcome or failed(held, error)


async def settle(memory: AsyncMemory, spool: Spool, held: Held) -> Outcome:
    """Send and prove a write over an open connection; whatever concerns this write alone is an outcome.

    Raises:
        Unreachable, SignedOut, Forbidden: The connection is of no use for any write now.
    """
    try:
        saved = await _prove(memory, spool, held)
    except (Unreachable, SignedOut, Forbidden):
        raise
    except ClientError as error:
        return failed(held, error)
    held.remove()
    return Outcome(held.entry, State.SAVED, saved=saved)


def failed(held: Held, error: ClientError) -> Outcome:
    """Return what becomes of a write that is not proved to be saved: refused for good, or kept on disk."""
    match error:
        case Refused(code="project_not_available") if not held.is_new:
            # It may have been sent before, when the connection reached another project.
            state = State.UNRESOLVED
        case Refused(code="invalid_arguments" | "too_large" | "checkpoint_conflict" | "project_not_available"):
            with suppress(NotKept):
                return Outcome(held.entry, State.REFUSED, error=error, path=held.refuse())
            state = State.REFUSED
        case SignedOut() | Forbidden() | Refused(code="quota_exceeded"):
            state = State.KEPT
        case _:
            state = State.UNVERIFIED
    return Outcome(held.entry, state, error=error, path=held.path)


async def _prove(memory: AsyncMemory, spool: Spool, held: Held) -> Saved:
    if held.entry.project_id is None:
        # On disk before anything is sent: another connection may only look where the text was meant to go.
        held.learn(project_id=(await memory.project()).id)
    entry = held.entry
    receipt = await _send(memory, entry)
    with suppress(NotKept):
        held.learn(note_id=receipt.id, writer_id=receipt.writer.id)
    spool.remember_writer(entry, receipt.writer.id)
    found = await _read_back(memory, receipt)
    is_unchanged = found is not None and (found.content, found.source) == (entry.content, entry.source)
    if not is_unchanged and await _send(memory, entry) != receipt:
        # Where the owner changed it since, the receipt proves it: that tells of the submission for ever (T6, T7).
        raise Unverified("The server gave two different receipts for the same write.")
    return Saved(receipt.id, receipt.project_id, receipt.received_at, changed_since=not is_unchanged)


async def _send(memory: AsyncMemory, entry: Entry) -> Receipt:
    project_id = entry.project_id or ""
    receipt = await memory.write(project_id, entry.content, source=entry.source, checkpoint_id=entry.checkpoint_id)
    if (receipt.content, receipt.source, receipt.project_id) != (entry.content, entry.source, project_id):
        raise Unverified("The server's receipt is for another text than was sent.")
    return receipt


async def _read_back(memory: AsyncMemory, receipt: Receipt) -> Note | None:
    async def look(notes: AsyncIterator[Note]) -> Note | None:
        async for note in notes:
            if note.id == receipt.id:
                return note
        return None

    return await search(memory, receipt.project_id, look)


async def search[T](memory: AsyncMemory, project_id: str, look: Callable[[AsyncIterator[Note]], Awaitable[T]]) -> T:
    """Let ``look`` go through all notes, the newest first, and begin again where the memory changes meanwhile (T5).

    Raises:
        Impatient: It changed in each of several readings.
    """
    for _ in range(READINGS_MAX):
        try:
            return await look(_newest_first(memory, project_id))
        except Refused as refused:
            if refused.code != "memory_changed":
                raise
    raise Impatient(f"The memory changed in each of {READINGS_MAX} readings.")


async def _newest_first(memory: AsyncMemory, project_id: str) -> AsyncIterator[Note]:
    limit, cursor = FIRST_PAGE_NOTES, None
    while True:
        page = await memory.read_page(project_id, limit=limit, cursor=cursor)
        for note in reversed(page.notes):
            yield note
        limit, cursor = _PAGE_NOTES, page.next_cursor
        if cursor is None:
            return
