"""One exchange over the SDK's kernel, the same for every revision: a message in, its answer out.

Types, validation and results are the SDK's (``serve_one``); statuses and errors are ours. Every exchange has a
connection object of its own, so nothing is shared that could mix up equal JSON-RPC ids (G10).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import structlog
from django.db import InterfaceError, OperationalError
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError

from mcp_gateway.call import Call
from mcp_gateway.transport import revisions
from mcp_gateway.transport.answers import rpc_error
from mcp_gateway.transport.messages import Request

logger = structlog.get_logger(__name__)

_TRANSPORT: Final = TransportContext(kind="streamable-http", can_send_request=False)


@dataclass(slots=True)
class _Dispatch:
    """The kernel's view of one request: nothing can be sent back but its answer."""

    request_id: str | int
    message_metadata: ServerMessageMetadata
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Drop a notification: a plain answer has no room for one."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop progress, likewise."""


class DatabaseUnavailable(Exception):
    """The database could not answer in the middle of a call."""


async def exchange(
    server: Server[Any],
    call: Call,
    request: Request,
    *,
    revision: str,
    client_info: Any = None,
    client_capabilities: Any = None,
) -> dict[str, Any]:
    """Run one request under ``revision`` and return the JSON-RPC answer, a result or an error.

    Raises:
        DatabaseUnavailable: Nothing is known of the outcome but that the database did not confirm it.
    """
    params = request.params
    if request.method == "initialize":
        params = _with_served_revision(params)
    connection = Connection.from_envelope(revision, client_info, client_capabilities)
    dispatch = _Dispatch(request.id, ServerMessageMetadata(request_context=call))
    try:
        result = await serve_one(server, dispatch, request.method, params, connection=connection, lifespan_state=None)
    except MCPError as error:
        return rpc_error(error.code, error.message, id=request.id, data=error.data)
    except ValidationError:
        return rpc_error(INVALID_PARAMS, "Invalid request parameters", id=request.id)
    except (OperationalError, InterfaceError) as error:
        logger.error("database_unavailable", error=type(error).__name__)
        raise DatabaseUnavailable from None
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except Exception:
        logger.exception("call_failed", method=request.method)
        return rpc_error(
            INTERNAL_ERROR,
            "Internal error. Repeat the call; if it fails again, tell the operator.",
            id=request.id,
        )
    return {"jsonrpc": "2.0", "id": request.id, "result": result}


def _with_served_revision(params: dict[str, Any] | None) -> dict[str, Any] | None:
    """Ask for the newest handshake revision where the client asks for one not served here (G2).

    The kernel itself would also agree to 2024-11-05.
    """
    requested = (params or {}).get("protocolVersion")
    if params is None or not isinstance(requested, str) or requested in revisions.HANDSHAKE:
        return params
    return {**params, "protocolVersion": revisions.NEWEST_HANDSHAKE}
