"""The agents' endpoint, ``/mcp``: host and origin, size, credential, limits, and then the message (G1, G8)."""

import secrets
from typing import Final

import structlog
from django.db import InterfaceError, OperationalError

from mcp_gateway.call import Call
from mcp_gateway.connections.authentication import Caller, InvalidCredential, authenticate
from mcp_gateway.server import build_server
from mcp_gateway.transport import origins
from mcp_gateway.transport.answers import Answer, refusal, send_answer, unauthorized, unavailable
from mcp_gateway.transport.event_answers import EventAnswer
from mcp_gateway.transport.exchange import DatabaseUnavailable
from mcp_gateway.transport.feed import ChangeFeed
from mcp_gateway.transport.gateway import Gateway
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
from mcp_gateway.transport.sessions import SESSION_HEADER, answer_session_method
from mcp_gateway.transport.threads import DatabaseThreads
from mcp_gateway.transport.wakeup import WakeUp
from memford.core.limits import limits

logger = structlog.get_logger(__name__)

ENDPOINT_PATHS: Final = frozenset({"/mcp", "/mcp/"})
"""Both forms answer directly; neither redirects to the other (G1)."""


class McpEndpoint:
    """The ASGI application behind ``/mcp``."""

    def __init__(self) -> None:
        feed = ChangeFeed()
        self._gateway = Gateway(build_server(), feed, DatabaseThreads())
        self._wake_up = WakeUp(feed)

    def start(self) -> None:
        """Begin to hear of changes, when the server has started."""
        self._wake_up.start()

    def end_streams(self) -> None:
        """End every open stream in good order, as soon as the worker is told to exit."""
        self._gateway.feed.streams.end_all()

    async def stop(self) -> None:
        """Let go of everything, when the server stops."""
        await self._wake_up.stop()
        await self._gateway.feed.stop()
        self._gateway.threads.close()

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
        if isinstance(answer, EventAnswer):
            await answer.serve(send)
        else:
            await send_answer(send, answer, as_event=_wants_event(request, answer))

    async def _answer(self, request: HttpRequest, receive: Receive) -> Answer | EventAnswer:
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
        structlog.contextvars.bind_contextvars(connection_id=str(caller.principal.connection_id))
        call = Call(caller.principal, caller.session, self._gateway.threads, caller.expires_at)
        # The call limits of part 1 take their place here, behind the credential and before parsing (G8).
        if request.method != "POST":
            return await answer_session_method(self._gateway.feed, call, request)
        return await answer_post(self._gateway, call, request, body)

    async def _authenticate(self, request: HttpRequest) -> Caller | Answer:
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
            return await self._gateway.threads.run(authenticate, credential, request.header(SESSION_HEADER))
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
