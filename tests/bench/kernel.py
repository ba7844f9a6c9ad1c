"""The SDK's kernel by itself: Memford's own server object behind a minimal ASGI application.

No credential, no checks, no database: what ``initialize`` and ``tools/list`` cost before Memford adds anything.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memford.settings")

import django

django.setup()

import anyio  # noqa: E402
import orjson  # noqa: E402
from mcp.server.connection import Connection  # noqa: E402
from mcp.server.runner import serve_one  # noqa: E402
from mcp.shared.dispatcher import CallOptions  # noqa: E402
from mcp.shared.exceptions import NoBackChannelError  # noqa: E402
from mcp.shared.message import ServerMessageMetadata  # noqa: E402
from mcp.shared.transport_context import TransportContext  # noqa: E402

from mcp_gateway.server import build_server  # noqa: E402
from tests.bench.floor import Receive, Scope, Send, answer, body_of, live  # noqa: E402

REVISION = "2025-11-25"
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)
_server = build_server()


@dataclass(slots=True)
class Dispatch:
    """The kernel's view of a request."""

    request_id: str | int
    message_metadata: ServerMessageMetadata = field(default_factory=ServerMessageMetadata)
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refuse: there is nobody to ask."""
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Drop a notification."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop progress."""


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request."""
    if scope["type"] == "lifespan":
        await live(receive, send)
        return
    if scope["method"] != "POST":
        await answer(send, b"{}")
        return
    message = orjson.loads(await body_of(receive))
    connection = Connection.from_envelope(REVISION, None, None)
    dispatch = Dispatch(message["id"])
    result = await serve_one(
        _server, dispatch, message["method"], message["params"], connection=connection, lifespan_state=None
    )
    await answer(send, orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
