"""Sending again what is pending, and looking for what another connection wrote (C2)."""

from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import anyio

from memford.client.errors import ClientError, Forbidden, Impatient, SignedOut, Unreachable
from memford.client.memory import AsyncMemory
from memford.client.saving import (
    ATTEMPTS,
    PAUSE_SECONDS,
    WRITE_MAX_SECONDS,
    Door,
    Outcome,
    Saved,
    State,
    failed,
    search,
    settle,
)
from memford.client.shapes import Note
from memford.client.spool import PATIENCE_SECONDS, Busy, Entry, Spool

FLUSH_MAX_SECONDS: Final = 300.0
BUSY_PATIENCE_SECONDS: Final = 5.0
"""How long a flush waits for another process that is sending a write itself."""
CLOCKS_APART_MAX: Final = timedelta(minutes=5)
"""How far the clocks of server and client may differ where a note is recognised by its text."""


async def flush(
    spool: Spool,
    door_of: Callable[[Entry], Door],
    *,
    resend: bool = False,
    max_seconds: float = FLUSH_MAX_SECONDS,
) -> list[Outcome]:
    """Settle all that is pending, oldest first, and return what became of each.

    ``door_of`` says how a write gets to its server now, or raises a :class:`ClientError`. What was written by the same
    connection is sent with its own checkpoint. What another one wrote is looked for, and only sent by this one, as a
    write of its own, where ``resend`` is asked for.

    Raises:
        Busy: Another process has been flushing for too long.
    """
    deadline = anyio.current_time() + max_seconds
    with spool.flushing(patience=min(PATIENCE_SECONDS, max_seconds)):
        outcomes: list[Outcome] = []
        groups: dict[tuple[str, str], tuple[Door, list[Entry]]] = {}
        for entry in spool.stock().entries:
            try:
                door = door_of(entry)
            except ClientError as error:
                outcomes.append(_given_up(spool, entry, error))
                continue
            groups.setdefault((door.server, door.connection), (door, []))[1].append(entry)
        for door, entries in groups.values():
            outcomes += await _Round(spool, door, entries, resend=resend).run(deadline)
        spool.tidy()
        return outcomes


class _Round:
    """What is pending for one server and connection."""

    def __init__(self, spool: Spool, door: Door, entries: Sequence[Entry], *, resend: bool) -> None:
        self._spool = spool
        self._door = door
        self._resend = resend
        self._foreign = deque(entry for entry in entries if entry.connection != door.connection)
        self._own = deque(entry for entry in entries if entry.connection == door.connection)
        self._outcomes: list[Outcome] = []
        self._failures_in_a_row = 0
        self._failures_of: Counter[str] = Counter()

    async def run(self, deadline: float) -> list[Outcome]:
        error: ClientError = Unreachable("There was no time left for it.")
        with anyio.move_on_after(deadline - anyio.current_time()):
            while self._foreign or self._own:
                reached = False
                try:
                    async with self._door.open() as memory:
                        reached = True
                        await self._look_for_foreign(memory)
                        await self._send_own(memory)
                except Unreachable as unreachable:
                    error = unreachable
                    if self._is_hopeless(reached, unreachable):
                        break
                    await anyio.sleep(PAUSE_SECONDS)
                except ClientError as other:
                    error = other
                    break
        for entry in [*self._foreign, *self._own]:
            self._outcomes.append(_given_up(self._spool, entry, error))
        return self._outcomes

    def _is_hopeless(self, reached: bool, error: Unreachable) -> bool:
        """Count a failure; one write that breaks the connection each time does not keep the others from theirs."""
        self._failures_in_a_row += 1
        if not reached or self._foreign or not self._own:
            return self._failures_in_a_row >= ATTEMPTS
        entry = self._own[0]
        self._failures_of[entry.name] += 1
        if self._failures_of[entry.name] >= ATTEMPTS:
            self._own.popleft()
            self._outcomes.append(_given_up(self._spool, entry, error))
        return self._failures_in_a_row >= 2 * ATTEMPTS

    async def _send_own(self, memory: AsyncMemory) -> None:
        busy_until = anyio.current_time() + BUSY_PATIENCE_SECONDS
        while self._own:
            entry = self._own[0]
            try:
                outcome = await self._send(memory, entry)
            except Busy as busy:
                if anyio.current_time() < busy_until:
                    # Others first; by then, who works on this one may be done with it.
                    self._own.rotate(-1)
                    await anyio.sleep(0.1)
                    continue
                outcome = _given_up(self._spool, entry, busy)
            except (Unreachable, SignedOut, Forbidden):
                raise
            except ClientError as error:
                outcome = _given_up(self._spool, entry, error)
            if outcome is not None:
                self._outcomes.append(outcome)
            self._own.popleft()
            self._failures_in_a_row = 0

    async def _send(self, memory: AsyncMemory, entry: Entry) -> Outcome | None:
        with self._spool.hold(entry) as held:
            if held is None:
                return None
            with anyio.move_on_after(WRITE_MAX_SECONDS):
                return await settle(memory, self._spool, held)
            return failed(held, Unreachable(f"It took more than {WRITE_MAX_SECONDS:.0f} seconds."))

    async def _look_for_foreign(self, memory: AsyncMemory) -> None:
        if not self._foreign:
            return
        project_id = (await memory.project()).id
        here = [entry for entry in self._foreign if entry.project_id == project_id]
        try:
            found = await recognise(memory, self._spool, project_id, here)
        except Impatient as impatient:
            # The connection's own writes need no reading of all pages.
            self._outcomes += [_given_up(self._spool, entry, impatient) for entry in self._foreign]
            self._foreign.clear()
            return
        while self._foreign:
            entry = self._foreign.popleft()
            try:
                outcome = self._resolve(entry, project_id, found.get(entry.name))
            except ClientError as error:
                outcome = _given_up(self._spool, entry, error)
            if outcome is not None:
                self._outcomes.append(outcome)

    def _resolve(self, entry: Entry, project_id: str, note: Note | None) -> Outcome | None:
        """Settle a write of another connection, or make it one of this connection's to be sent."""
        with self._spool.hold(entry) as held:
            if held is None:
                return None
            if note is not None:
                held.remove()
                changed = (note.content, note.source) != (entry.content, entry.source)
                saved = Saved(note.id, project_id, note.received_at, changed_since=changed)
                return Outcome(entry, State.SAVED, saved=saved)
            if not self._resend or entry.project_id not in {None, project_id}:
                return Outcome(entry, State.UNRESOLVED, error=_not_found(entry, project_id), path=held.path)
            with self._spool.rebind(held, connection=self._door.connection) as mine:
                self._own.append(mine.entry)
                return None


async def recognise(memory: AsyncMemory, spool: Spool, project_id: str, entries: Sequence[Entry]) -> dict[str, Note]:
    """Find which writes of other connections are among the notes, by name of the write.

    A note that a receipt named is known by its id. Otherwise its content, source and writer must be the write's, and it
    must not be older than the write. The writer's id is known where that connection was ever given a receipt here;
    where it is not, the kind of connection must be the same and the writer none that is known to be another's.
    No note stands for two writes.
    """
    if not entries:
        return {}
    texts = {(entry.content, entry.source) for entry in entries}
    ids = {entry.note_id for entry in entries}

    async def look(notes: AsyncIterator[Note]) -> list[Note]:
        return [note async for note in notes if note.id in ids or (note.content, note.source) in texts]

    notes = sorted(await search(memory, project_id, look), key=lambda note: note.received_at)
    found: dict[str, Note] = {}
    taken: set[str] = set()
    # Those with a receipt come first, so that none of the others takes their note.
    for entry in sorted(entries, key=lambda entry: (entry.note_id is None, entry.created_at)):
        for note in notes:
            if note.id not in taken and _is_of(note, entry, spool):
                found[entry.name] = note
                taken.add(note.id)
                break
    return found


def _is_of(note: Note, entry: Entry, spool: Spool) -> bool:
    if entry.note_id is not None:
        return note.id == entry.note_id
    if (note.content, note.source) != (entry.content, entry.source):
        return False
    if datetime.fromisoformat(note.received_at) < datetime.fromisoformat(entry.created_at) - CLOCKS_APART_MAX:
        return False
    writer_id = spool.writer_of(entry)
    if writer_id is not None:
        return note.writer.id == writer_id
    kind, _, _ = entry.connection.partition(":")
    return note.writer.kind == kind and note.writer.id not in spool.known_writers(entry.server)


def _not_found(entry: Entry, project_id: str) -> ClientError:
    written = f"It was written by another connection ({entry.connection})"
    if entry.project_id not in {None, project_id}:
        return ClientError(
            f"{written}, and this connection does not reach its project {entry.project_id}. "
            "Flush with a connection of that project.",
            code="unresolved",
        )
    known = "" if entry.note_id is None else f" The server did store it then, as {entry.note_id}; it may be changed."
    return ClientError(
        f"{written}, and is not found among the notes.{known} "
        "Flush with that connection, or use `memford flush --resend` to write it by this one.",
        code="unresolved",
    )


def _given_up(spool: Spool, entry: Entry, error: ClientError) -> Outcome:
    """Return what becomes of a write that was not settled: it is kept, whatever went wrong."""
    state = State.KEPT if isinstance(error, SignedOut | Forbidden) else State.UNVERIFIED
    return Outcome(entry, state, error=error, path=spool.path_of(entry))
