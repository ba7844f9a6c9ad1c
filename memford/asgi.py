"""The door for HTTP: ``/mcp`` goes to the agents' endpoint, all else to Django; both share one lifespan."""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memford.settings")

from django.core.asgi import get_asgi_application

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_workspace: Any = get_asgi_application()

# Django must be set up before anything that holds a model is imported.
from mcp_gateway.transport.endpoint import ENDPOINT_PATHS, McpEndpoint  # noqa: E402
from memford.body_limit import bounded  # noqa: E402
from memford.gunicorn_worker import on_exit_signal  # noqa: E402

_endpoint = McpEndpoint()
# Told at once, so that nobody waits for a stream that is to live another minute.
on_exit_signal.append(_endpoint.end_streams)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one HTTP request, or the server's start and end of life."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
    elif scope["type"] != "http":
        # Nothing here speaks WebSocket; closing before accepting answers the handshake with 403.
        await send({"type": "websocket.close", "code": 1000})
    elif scope["path"] in ENDPOINT_PATHS:
        await _endpoint(scope, receive, send)
    else:
        await bounded(_workspace, scope, receive, send)


async def _live(receive: Receive, send: Send) -> None:
    """Answer the lifespan events, which Django's handler does not know."""
    while True:
        event = (await receive())["type"]
        if event == "lifespan.startup":
            _endpoint.start()
            await send({"type": "lifespan.startup.complete"})
        else:
            await _endpoint.stop()
            await send({"type": "lifespan.shutdown.complete"})
            return
