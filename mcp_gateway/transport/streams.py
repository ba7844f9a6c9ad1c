"""Open event streams of one worker: a slot for the newest hint, and the reason why a stream ends (R2-R4)."""

import asyncio
from typing import Final
from uuid import UUID

from mcp_gateway.transport.session_services import Revisions


class Stream:
    """One open stream. Hints that come before the last was sent give way to it: one hint says it all (R2)."""

    __slots__ = ("_pending", "_wake", "connection_id", "ended", "known", "project_id")

    def __init__(self, project_id: UUID, connection_id: UUID, known: Revisions) -> None:
        self.project_id: Final = project_id
        self.connection_id: Final = connection_id
        self.known = known
        self.ended = False
        self._pending: Revisions | None = None
        self._wake: asyncio.Future[None] | None = None

    def hint(self, revisions: Revisions) -> None:
        """Let the stream tell of a change."""
        self._pending = revisions
        self._rouse()

    def end(self) -> None:
        """Let the stream end in good order."""
        self.ended = True
        self._rouse()

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def next_hint(self, timeout_seconds: float) -> Revisions | None:
        """Wait for the next hint; ``None`` when the time is over or the stream ended."""
        if self._pending is None and not self.ended:
            loop = asyncio.get_running_loop()
            self._wake = loop.create_future()
            timer = loop.call_later(max(timeout_seconds, 0), self._rouse)
            try:
                await self._wake
            finally:
                timer.cancel()
                self._wake = None
        pending, self._pending = self._pending, None
        return pending


class SessionStream(Stream):
    """The GET stream of an MCP session, at its epoch."""

    __slots__ = ("epoch", "session_id")

    def __init__(self, project_id: UUID, connection_id: UUID, known: Revisions, session_id: str, epoch: int) -> None:
        super().__init__(project_id, connection_id, known)
        self.session_id: Final = session_id
        self.epoch: Final = epoch


class ListenStream(Stream):
    """The answer to ``subscriptions/listen``, which no session stands behind."""

    __slots__ = ()


class StreamRegistry:
    """The open streams of this worker, found by project, by connection and by session."""

    def __init__(self) -> None:
        self.by_project: dict[UUID, set[Stream]] = {}
        self.by_connection: dict[UUID, set[Stream]] = {}
        self.by_session: dict[str, SessionStream] = {}

    def __len__(self) -> int:
        return sum(len(streams) for streams in self.by_project.values())

    def add(self, stream: Stream) -> None:
        """Take a stream in; an older one of the same session ends (R3)."""
        if isinstance(stream, SessionStream):
            other = self.by_session.get(stream.session_id)
            if other is not None and other.epoch > stream.epoch:
                # Two attached at once, and the database put this one first.
                stream.end()
                return
            if other is not None:
                other.end()
                self.remove(other)
            self.by_session[stream.session_id] = stream
        self.by_project.setdefault(stream.project_id, set()).add(stream)
        self.by_connection.setdefault(stream.connection_id, set()).add(stream)

    def remove(self, stream: Stream) -> None:
        """Let a stream go; one that was let go before stays away."""
        _discard(self.by_project, stream.project_id, stream)
        _discard(self.by_connection, stream.connection_id, stream)
        if isinstance(stream, SessionStream) and self.by_session.get(stream.session_id) is stream:
            del self.by_session[stream.session_id]

    def end_all(self) -> None:
        """End every stream, when the worker is told to stop."""
        for streams in list(self.by_project.values()):
            for stream in streams:
                stream.end()


def _discard(index: dict[UUID, set[Stream]], key: UUID, stream: Stream) -> None:
    streams = index.get(key)
    if streams is not None:
        streams.discard(stream)
        if not streams:
            del index[key]
