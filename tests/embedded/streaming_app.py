"""A small application with endless streams, polite and rude, for the tests of the worker."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from memford.gunicorn_worker import on_exit_signal

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer ``/polite`` and ``/rude`` by a stream, ``/slow`` after half a second, the rest with the request."""
    if scope["type"] == "lifespan":
        return await lifespan(receive, send)
    if scope["path"] in {"/polite", "/rude"}:
        return await stream(send, polite=scope["path"] == "/polite")
    if scope["path"] == "/slow":
        await asyncio.sleep(0.5)
    body = repr((scope["scheme"], scope["client"][0])).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    return await send({"type": "http.response.body", "body": body})


async def lifespan(receive: Receive, send: Send) -> None:
    """Take part in start and end, and say so."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    sys.stdout.write("closed in order\n")
    sys.stdout.flush()
    await send({"type": "lifespan.shutdown.complete"})


async def stream(send: Send, *, polite: bool) -> None:
    """Send one line and then nothing until told to end; a rude stream does not listen."""
    over = asyncio.Event()
    if polite:
        on_exit_signal.append(over.set)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    await send({"type": "http.response.body", "body": b": hello\n\n", "more_body": True})
    await over.wait()
    await send({"type": "http.response.body", "body": b": good-bye\n\n"})
