"""The change feed: one task per worker that learns of changes and wakes the streams they concern (R3, R5).

It asks once a tick, in one statement for all watched projects, whatever the number of streams. Nothing is pushed by
the database, so nothing can be lost in a pooler or a failover; a wake-up through Redis only makes a look at the
projects it names come sooner, so that what a change costs here does not grow with the projects watched.
"""

import asyncio
import time
import uuid
from contextlib import suppress
from typing import Final

import structlog
from django.db import Error

from mcp_gateway.transport.feed_selectors import Attended, News, attend, claim_hints, look
from mcp_gateway.transport.session_services import Revisions
from mcp_gateway.transport.streams import SessionStream, Stream, StreamRegistry
from mcp_gateway.transport.threads import DatabaseThreads
from memford.core.limits import limits

logger = structlog.get_logger(__name__)

WAKE_INTERVAL_SECONDS: Final = 0.02
"""Wake-ups within this time make one look."""


class ChangeFeed:
    """Watches the projects of this worker's open streams."""

    def __init__(self) -> None:
        self.worker: Final = uuid.uuid4()
        self.streams: Final = StreamRegistry()
        self._threads = DatabaseThreads(1)
        self._known: dict[uuid.UUID, Revisions] = {}
        self._woken = asyncio.Event()
        self._woken_for: set[uuid.UUID] = set()
        self._next_tick = 0.0
        self._task: asyncio.Task[None] | None = None
        # The last look at all that was answered.
        self._last_look = time.monotonic()
        # After a failure an answer may have been lost, so every session is looked at again.
        self._doubtful = False

    def start(self) -> None:
        """Begin to look, with the first stream."""
        if self._task is None:
            self._last_look = time.monotonic()
            self._next_tick = self._last_look + limits().change_check_interval_seconds
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End all streams and the task."""
        self.streams.end_all()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._threads.close()

    def wake(self, *project_ids: uuid.UUID) -> None:
        """Look soon: at these projects, which changed, and at the sessions that ask for it."""
        self._woken_for.update(project_ids)
        self._woken.set()

    def watches(self, project_id: uuid.UUID) -> bool:
        """Whether a stream here waits for changes of a project."""
        return project_id in self.streams.by_project

    def add(self, stream: Stream) -> None:
        """Watch a stream's project, from the revisions that the stream knows."""
        known = self._known.get(stream.project_id)
        if known is None or not self.watches(stream.project_id):
            self._known[stream.project_id] = stream.known
        elif known.is_newer_than(stream.known):
            # The feed has told of something that the stream read before: let the next look tell it again.
            self._known[stream.project_id] = stream.known
            self.wake(stream.project_id)
        self.streams.add(stream)
        self.start()

    def remove(self, stream: Stream) -> None:
        """Watch a stream no longer, and its project neither where it was the last."""
        self.streams.remove(stream)
        if not self.watches(stream.project_id):
            self._known.pop(stream.project_id, None)

    async def _run(self) -> None:
        while True:
            changed = await self._await_look()
            now = time.monotonic()
            is_tick = now >= self._next_tick
            if is_tick:
                self._next_tick = now + limits().change_check_interval_seconds
            if not self.streams.by_project:
                self._last_look = now
                continue
            try:
                if is_tick or self._doubtful:
                    await self._look_at_all()
                else:
                    await self._look_at(changed)
            except Error as error:
                logger.warning("change_feed_waits_for_database", error=type(error).__name__)
                self._doubtful = True
                self._end_unchecked()

    async def _await_look(self) -> set[uuid.UUID]:
        """Wait until the tick, or until something changed and a moment more; return the projects that changed."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), self._next_tick - time.monotonic())
            await asyncio.sleep(WAKE_INTERVAL_SECONDS)
        self._woken.clear()
        changed, self._woken_for = self._woken_for, set()
        return changed

    async def _look_at_all(self) -> None:
        """Look at every watched project, and at whether the connections behind the streams may listen (G7)."""
        news = await self._threads.run(look, self.worker, dict(self._known), list(self.streams.by_connection))
        await self._tell(news)
        self._last_look = time.monotonic()

    async def _look_at(self, project_ids: set[uuid.UUID]) -> None:
        """Look at the projects that woke the feed."""
        watched = {id_: self._known[id_] for id_ in project_ids if id_ in self._known}
        await self._tell(await self._threads.run(look, self.worker, watched, []))

    def _end_unchecked(self) -> None:
        """End all streams once nobody could say for a stream's whole life that they may listen (G7)."""
        if time.monotonic() - self._last_look > limits().stream_life_seconds:
            self.streams.end_all()

    async def _tell(self, news: News) -> None:
        """End whom the look found ended, and hint whoever is behind; nothing counts as told before it is."""
        for connection_id in news.ended_connections:
            for stream in self.streams.by_connection.get(connection_id, ()):
                stream.end()
        if news.attention or self._doubtful:
            sessions = list(self.streams.by_session) if self._doubtful else []
            for attended in await self._threads.run(attend, self.worker, sessions):
                self._attend(attended)
            self._doubtful = False
        behind = [stream for project_id in news.changed for stream in self._behind(project_id, news)]
        epochs = {stream.session_id: stream.epoch for stream in behind if isinstance(stream, SessionStream)}
        claimed = await self._threads.run(claim_hints, epochs) if epochs else {}
        for stream in behind:
            stream.known = news.changed[stream.project_id]
            if not isinstance(stream, SessionStream) or claimed.get(stream.session_id):
                stream.hint(stream.known)
            elif stream.session_id not in claimed:
                stream.end()
        for project_id, revisions in news.changed.items():
            if self._behind(project_id, news):
                # A stream that knows less came in the meantime: the next look finds the same news for it.
                self.wake(project_id)
            elif project_id in self._known:
                self._known[project_id] = revisions

    def _behind(self, project_id: uuid.UUID, news: News) -> list[Stream]:
        streams = self.streams.by_project.get(project_id, ())
        return [stream for stream in streams if news.changed[project_id].is_newer_than(stream.known)]

    def _attend(self, attended: Attended) -> None:
        """Look again at a session: its stream was taken over, it ended, or it subscribed."""
        stream = self.streams.by_session.get(attended.session_id)
        if stream is None or stream.epoch > attended.epoch:
            return
        if attended.ended or stream.epoch < attended.epoch:
            stream.end()
        elif attended.subscribed and attended.current.is_newer_than(attended.read):
            stream.known = attended.current
            stream.hint(attended.current)
