"""The wake-up: a change made here or anywhere lets the feeds look at once instead of at their next tick (R5).

Changes of this process wake its own feed directly. Through Redis they reach the other workers and instances; where
Redis is away, or the wake-up is switched off, the feed's tick finds everything a little later.
"""

import asyncio
from contextlib import suppress
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

from mcp_gateway.transport.feed import ChangeFeed
from memford.core.changes import on_change
from memford.env import env

logger = structlog.get_logger(__name__)

CHANNEL: Final = "memford:changes"
GATHER_SECONDS: Final = 0.01
"""Changes within this time travel in one message."""

RECONNECT_SECONDS: Final = 1.0
REDIS_TIMEOUT_SECONDS: Final = 2.0


class WakeUp:
    """Publishes this process's changes and wakes its feed by those of others."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._changed: set[UUID] = set()
        self._has_changed = asyncio.Event()

    def start(self) -> None:
        """Begin to listen, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        on_change(self._hear)
        if env().change_wakeup == "on":
            self._tasks = [self._loop.create_task(self._publish()), self._loop.create_task(self._subscribe())]

    async def stop(self) -> None:
        """End the tasks."""
        self._loop = None
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task

    def _hear(self, project_id: UUID) -> None:
        """Take word of a change from whichever thread made it."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop has ended: nobody waits for hints any more
                loop.call_soon_threadsafe(self._note, project_id)

    def _note(self, project_id: UUID) -> None:
        if self._feed.watches(project_id):
            self._feed.wake(project_id)
        if self._tasks:
            self._changed.add(project_id)
            self._has_changed.set()

    async def _publish(self) -> None:
        while True:
            await self._has_changed.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._has_changed.clear()
            changed, self._changed = self._changed, set()
            try:
                async with asyncio.timeout(REDIS_TIMEOUT_SECONDS):
                    await self._redis.publish(CHANNEL, " ".join(map(str, changed)))
            except (RedisError, OSError, TimeoutError) as error:
                logger.warning("change_wakeup_not_published", error=type(error).__name__)

    async def _subscribe(self) -> None:
        while True:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as channel:
                    await channel.subscribe(CHANNEL)
                    async for message in channel.listen():
                        self._receive(message["data"])
            except (RedisError, OSError) as error:
                logger.warning("change_wakeup_waits_for_redis", error=type(error).__name__)
            await asyncio.sleep(RECONNECT_SECONDS)

    def _receive(self, data: bytes) -> None:
        with suppress(ValueError):  # whoever publishes something else here is not our concern
            changed = map(UUID, data.decode("ascii").split())
            if watched := [project_id for project_id in changed if self._feed.watches(project_id)]:
                self._feed.wake(*watched)

    @property
    def _redis(self) -> Redis:
        if not hasattr(self, "_client"):
            self._client = Redis.from_url(settings.CELERY_BROKER_URL, socket_connect_timeout=REDIS_TIMEOUT_SECONDS)
        return self._client
