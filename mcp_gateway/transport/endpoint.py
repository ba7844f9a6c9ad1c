"""The agents' endpoint, ``/mcp``: host and origin, size, credential, limits, and then the message (G1, G8)."""

import secrets
from typing import Final

import structlog
from django.db import InterfaceError, OperationalError

from mcp_gateway.call import Call
from mcp_gateway.connections.authentication import InvalidCredential, authenticate
from mcp_gateway.server import build_server
from mcp_gateway.transport import origins
from mcp_gateway.transport.answers import Answer, refusal, send_answer, unauthorized, unavailable
from mcp_gateway.transport.exchange import DatabaseUnavailable
from mcp_gateway.transport.posting import answer_post
from mcp_gateway.transport.request import (
    BodyTooLarge,
    ClientGone,
    HttpRequest,
    Receive,
    Scope,
    Send,
    read_body,
)
from mcp_gateway.transport.sessions import answer_session_method
from mcp_gateway.transport.threads import DatabaseThreads
from memford.core.limits import limits
from memford.core.principal import Principal

logger = structlog.get_logger(__name__)

ENDPOINT_PATHS: Final = frozenset({"/mcp", "/mcp/"})
"""Both forms answer directly; neither redirects to the other (G1)."""


class McpEndpoint:
    """The ASGI application behind ``/mcp``."""

    def __init__(self) -> None:
        self._threads = DatabaseThreads()
        self._server = build_server()

    def close(self) -> None:
        """End the worker threads, when the server stops."""
        self._threads.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        request = HttpRequest.of(scope)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=secrets.token_hex(8))
        try:
            answer = await self._answer(request, receive)
        except ClientGone:
            return
        except (DatabaseUnavailable, OperationalError, InterfaceError) as error:
            logger.warning("unavailable", error=type(error).__name__)
            answer = unavailable()
        origins.share_with(request, answer)
        await send_answer(send, answer, as_event=_wants_event(request, answer))

    async def _answer(self, request: HttpRequest, receive: Receive) -> Answer:
        refused = origins.check_host(request) or origins.check_origin(request)
        if refused is not None:
            return refused
        if request.method == "OPTIONS":
            return origins.preflight(request)
        if request.method not in {"POST", "GET", "DELETE"}:
            return refusal(
                405,
                "method_not_allowed",
                "Use POST, GET or DELETE.",
                {"Allow": f"{origins.METHODS}, OPTIONS"},
            )
        try:
            body = await read_body(request, receive)
        except BodyTooLarge:
            return _too_large()
        caller = await self._authenticate(request)
        if isinstance(caller, Answer):
            return caller
        structlog.contextvars.bind_contextvars(connection_id=str(caller.connection_id))
        # The call limits of part 1 take their place here, behind the credential and before parsing (G8).
        if request.method != "POST":
            return answer_session_method(request)
        return await answer_post(self._server, Call(caller, self._threads), request, body)

    async def _authenticate(self, request: HttpRequest) -> Principal | Answer:
        """Return who calls, or the challenge: one ``Authorization: Bearer`` header and nothing else (G7)."""
        values = request.headers.get("authorization", [])
        if not values:
            return unauthorized(
                request.path, presented=False, description="Send Authorization: Bearer with a key or token."
            )
        scheme, _, credential = values[0].partition(" ")
        credential = credential.strip()
        if len(values) > 1 or scheme.lower() != "bearer" or not credential or " " in credential or "," in credential:
            return unauthorized(
                request.path,
                presented=True,
                description="Send one Authorization header: Bearer and one credential.",
            )
        try:
            return await self._threads.run(authenticate, credential)
        except InvalidCredential as error:
            return unauthorized(request.path, presented=True, description=error.message)


def _too_large() -> Answer:
    most = limits().request_body_max_bytes
    answer = refusal(413, "request_too_large", f"A request body has at most {most} bytes. Send less at once.")
    answer.headers["Connection"] = "close"
    return answer


def _wants_event(request: HttpRequest, answer: Answer) -> bool:
    """Whether a JSON-RPC answer goes out as one SSE event, to a client that takes nothing else (G4)."""
    return answer.status == 200 and request.accepts_events and not request.accepts_json
