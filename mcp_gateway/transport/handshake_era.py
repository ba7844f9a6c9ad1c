"""Messages of the revisions that begin with ``initialize``: sessions, batches, subscriptions (G2, G3, G9, R2)."""

from typing import Any, Final

from mcp_types import INTERNAL_ERROR, INVALID_REQUEST

from mcp_gateway.call import Call
from mcp_gateway.transport import revisions
from mcp_gateway.transport.answers import Answer, rpc_error
from mcp_gateway.transport.exchange import DatabaseUnavailable, exchange
from mcp_gateway.transport.gateway import Gateway
from mcp_gateway.transport.messages import BadMessage, Message, Request, read_batch, read_message
from mcp_gateway.transport.request import HttpRequest
from mcp_gateway.transport.scope_check import missing_scope
from mcp_gateway.transport.session_services import begin_session
from mcp_gateway.transport.sessions import REVISION_HEADER, SESSION_HEADER, unknown_session, unsupported_revision

NEEDS_SESSION: Final = frozenset({"resources/subscribe", "resources/unsubscribe"})


async def answer_handshake_era(gateway: Gateway, call: Call, http: HttpRequest, value: Any) -> Answer:
    """Serve one message, or a batch where the revision has them."""
    if isinstance(value, dict) and value.get("method") == "initialize":
        return await _initialize(gateway, call, http, read_message(value))
    if http.header(SESSION_HEADER) is not None and call.session is None:
        return unknown_session()
    header = http.header(REVISION_HEADER)
    if header is not None and header not in revisions.HANDSHAKE:
        return unsupported_revision(header)
    # A session's own revision governs; without one it is the header's, and without that the oldest (G2).
    revision = call.session.revision if call.session is not None else header or revisions.WITH_BATCHES
    if isinstance(value, list):
        return await _answer_batch(gateway, call, http, value, revision)
    message = read_message(value)
    if not isinstance(message, Request):
        return Answer(202)
    _check_session(call, [message])
    if refused := missing_scope(call, http, [message]):
        return refused
    return Answer(200, await exchange(gateway.server, call, message, revision=revision))


def _check_session(call: Call, messages: list[Message]) -> None:
    """Refuse to subscribe without a session: there would be nothing to remember it in (G9)."""
    if call.session is not None:
        return
    for message in messages:
        if isinstance(message, Request) and message.method in NEEDS_SESSION:
            raise BadMessage(INVALID_REQUEST, f"{message.method} needs the Mcp-Session-Id of a session.", message.id)


async def _initialize(gateway: Gateway, call: Call, http: HttpRequest, message: Message) -> Answer:
    """Begin a new session, whatever session or revision the headers name (G2, G9)."""
    if not isinstance(message, Request):
        return Answer(202)
    if refused := missing_scope(call, http, [message]):
        return refused
    reply = await exchange(gateway.server, call, message, revision=revisions.NEWEST_HANDSHAKE)
    if "error" in reply:
        return Answer(200, reply)
    session_id = await call.threads.run(
        begin_session,
        call.principal,
        revision=reply["result"]["protocolVersion"],
        client_info=(message.params or {}).get("clientInfo"),
    )
    return Answer(200, reply, {"Mcp-Session-Id": session_id})


async def _answer_batch(gateway: Gateway, call: Call, http: HttpRequest, values: list[Any], revision: str) -> Answer:
    """Serve a batch in its order; it is refused as a whole or served as a whole (G3)."""
    if revision != revisions.WITH_BATCHES:
        raise BadMessage(INVALID_REQUEST, f"{revision} has no batches. Send one message at a time.")
    messages = read_batch(values)
    _check_session(call, messages)
    if refused := missing_scope(call, http, messages):
        return refused
    requests = [message for message in messages if isinstance(message, Request)]
    replies = [await _batched(gateway, call, request, revision) for request in requests]
    return Answer(200, replies) if replies else Answer(202)


async def _batched(gateway: Gateway, call: Call, message: Request, revision: str) -> dict[str, Any]:
    try:
        return await exchange(gateway.server, call, message, revision=revision)
    except DatabaseUnavailable:
        # Others of the batch may have been served, so the answer speaks for this one message.
        return rpc_error(INTERNAL_ERROR, "The database cannot be reached now. Repeat this call.", id=message.id)
