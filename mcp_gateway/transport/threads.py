"""The one line between async and sync: a call's database work runs in a thread of ours.

The threads are the pool: each keeps its own database connection per role for as long as it lives, so there are
never more than ``MEMFORD_DATABASE_THREADS`` of them, and a call pays for no checkout.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import Error, connections

from memford.core.database import drop_dead_connections
from memford.env import env


class DatabaseThreads:
    """Runs synchronous services and selectors beside the event loop."""

    def __init__(self, count: int | None = None) -> None:
        self._executor = ThreadPoolExecutor(count or env().database_threads, thread_name_prefix="memford-database")

    async def run[ResultT](self, work: Callable[..., ResultT], /, *args: object, **kwargs: object) -> ResultT:
        """Return what ``work`` returns, or raise what it raises."""
        call = partial(_with_live_connections, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        """Let calls in flight finish, then end the threads."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def _with_live_connections[ResultT](work: Callable[..., ResultT], *args: object, **kwargs: object) -> ResultT:
    drop_dead_connections()
    try:
        return work(*args, **kwargs)
    except Error:
        # Whatever state they are in, the next call begins on new ones.
        connections.close_all()
        raise
