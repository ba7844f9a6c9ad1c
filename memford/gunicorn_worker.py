"""Gunicorn's ASGI worker, taught to end quickly: streams and idle connections at once, calls in their time.

The library's worker notices its exit signal up to a second late and then waits out the whole grace time for
any open connection, idle ones too. Written against gunicorn 27.0.1, which is pinned.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gunicorn.arbiter import Arbiter
from gunicorn.asgi.lifespan import LifespanManager, LifespanStartupFailed
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

HEARTBEAT_INTERVAL_SECONDS = 1.0
PERMISSION_INTERVAL_SECONDS = 0.02
# The arbiter kills a worker when the grace time is over; this much of it is left for closing down.
CLOSING_RESERVE_SECONDS = 1.0

on_exit_signal: list[Callable[[], None]] = []
"""Called in the event loop's thread when the worker is told to end; open streams end themselves from here."""


class Protocol(ASGIProtocol):
    """One connection, known to its worker while it is open."""

    worker: "Worker"
    _task: "asyncio.Task[None] | None"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count a new connection."""
        super().connection_made(transport)
        self.worker.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a closed connection."""
        super().connection_lost(exc)
        self.worker.connections.discard(self)

    def close_if_idle(self) -> None:
        """Close the connection if no request is being served on it."""
        if self._awaiting_request and not self._finishing_calls:
            self._keepalive_timeout()

    def abandon(self) -> None:
        """Give up the call being served."""
        if self._task is not None:
            self._task.cancel()


class Worker(ASGIWorker):
    """A web worker that ends within the grace time, whatever is open."""

    alive: bool
    loop: asyncio.AbstractEventLoop

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connections: set[Protocol] = set()
        self._told_to_end = asyncio.Event()

    def handle_exit_signal(self) -> None:
        """Take no new connection, end streams and close idle connections, all at once (SIGTERM)."""
        super().handle_exit_signal()
        self._told_to_end.set()
        for server in self.servers:
            server.close()
        for callback in on_exit_signal.copy():
            try:
                callback()
            except Exception:  # one stream's trouble must not keep the others open
                self.log.exception("A stream could not be told to end")
        self._close_idle()

    def handle_quit_signal(self) -> None:
        """End without grace (SIGINT, SIGQUIT)."""
        super().handle_quit_signal()
        self._told_to_end.set()

    async def _serve(self) -> None:
        """Serve until told to end or left by the parent."""
        await self._await_permission()
        if not self.alive:
            return
        if not await self._start_lifespan():
            raise SystemExit(Arbiter.WORKER_BOOT_ERROR)
        tls = self._get_ssl_context()
        for listener in self.sockets:
            server = await self.loop.create_server(lambda: Protocol(self), sock=listener.sock, ssl=tls)
            self.servers.append(server)
        while self.alive and self.ppid == os.getppid():
            self.notify()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told_to_end.wait(), HEARTBEAT_INTERVAL_SECONDS)
        if self.alive:
            self.handle_exit_signal()
        await self._shutdown()

    async def _await_permission(self) -> None:
        """Wait for the file named in ``MEMFORD_SERVE_WHEN``: made once the database is migrated."""
        permission = os.environ.get("MEMFORD_SERVE_WHEN")
        while permission and self.alive and not _exists(permission):
            self.notify()
            await asyncio.sleep(PERMISSION_INTERVAL_SECONDS)

    async def _start_lifespan(self) -> bool:
        """Run the application's startup; return whether it may serve."""
        if self.cfg.asgi_lifespan == "off":
            return True
        self.lifespan = LifespanManager(self.asgi, self.log, self.state)
        try:
            await self.lifespan.startup()
        except (RuntimeError, LifespanStartupFailed) as error:
            self.lifespan = None
            self.log.error("The application could not start: %s", error)
            return False
        return True

    async def _shutdown(self) -> None:
        """Finish calls in flight within the grace time, then let the application close what it holds."""
        for server in self.servers:
            server.close()
        if self._quick_shutdown:
            return
        await self._finish_calls(max(self.cfg.graceful_timeout - CLOSING_RESERVE_SECONDS, 0.5))
        if self.lifespan is not None and not self._quick_shutdown:
            try:
                await asyncio.wait_for(self.lifespan.shutdown(), CLOSING_RESERVE_SECONDS)
            except (RuntimeError, TimeoutError) as error:
                self.log.error("The application did not close in order: %s", error)

    async def _finish_calls(self, seconds: float) -> None:
        """Wait until no connection is open, at most ``seconds``; give up what is left."""
        deadline = self.loop.time() + seconds
        while self.connections and self.loop.time() < deadline and not self._quick_shutdown:
            self.notify()
            self._close_idle()
            await asyncio.sleep(0.02)
        for connection in list(self.connections):
            connection.abandon()

    def _close_idle(self) -> None:
        """Close connections that wait for a next request."""
        for connection in list(self.connections):
            connection.close_if_idle()


def _exists(path: str) -> bool:
    """Look for a file; a glance at a local disk needs no thread."""
    return Path(path).exists()
