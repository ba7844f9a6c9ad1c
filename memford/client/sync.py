"""The same as :mod:`memford.client.memory`, for scripts that do not use ``async``."""

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal

from memford.client.memory import READINGS_MAX, AsyncMemory
from memford.client.shapes import Page, Project, Receipt


class Memory:
    """The memory that one connection reaches: ``with Memory(url, key=…) as memory``; errors as of ``AsyncMemory``."""

    def __init__(self, url: str, *, key: str | None = None, auth: httpx2.Auth | None = None) -> None:
        self._memory = AsyncMemory(url, key=key, auth=auth)
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        self._portal = self._stack.enter_context(start_blocking_portal())
        try:
            self._stack.enter_context(self._portal.wrap_async_context_manager(self._memory))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def portal(self) -> BlockingPortal:
        """The loop in a thread of its own, in which calls are made."""
        if self._portal is None:
            raise RuntimeError("Use `with` first.")
        return self._portal

    def project(self) -> Project:
        """Return the one project that the connection reaches (T1)."""
        return self.portal.call(self._memory.project)

    def read_page(self, project_id: str, *, limit: int = 100, cursor: str | None = None) -> Page:
        """Return one page, from the newest notes to older ones (T2)."""
        return self.portal.call(lambda: self._memory.read_page(project_id, limit=limit, cursor=cursor))

    def read_all(
        self, project_id: str, *, readings: int = READINGS_MAX, on_page: Callable[[int, int], None] | None = None
    ) -> Page:
        """Return everything as one page, its notes oldest first (T5)."""
        return self.portal.call(lambda: self._memory.read_all(project_id, readings=readings, on_page=on_page))

    def write(
        self, project_id: str, content: str, *, source: str | None = None, checkpoint_id: str | None = None
    ) -> Receipt:
        """Store a note and return its receipt; with a checkpoint it may be repeated and is stored once (T6, T7)."""
        return self.portal.call(
            lambda: self._memory.write(project_id, content, source=source, checkpoint_id=checkpoint_id)
        )
