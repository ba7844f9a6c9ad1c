"""A POST: its message is read, its revision found, its scope checked, and then it is served (G2-G4, G12)."""

from collections.abc import Sequence
from typing import Any, Final

from mcp.server.lowlevel.server import Server
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)

from mcp_gateway.call import Call
from mcp_gateway.tools import required_scope
from mcp_gateway.transport import revisions
from mcp_gateway.transport.answers import Answer, insufficient_scope, refusal, rpc_error
from mcp_gateway.transport.exchange import DatabaseUnavailable, exchange
from mcp_gateway.transport.messages import (
    BadMessage,
    Message,
    Notification,
    Request,
    Response,
    parse,
    read_batch,
    read_message,
)
from mcp_gateway.transport.request import HttpRequest
from mcp_gateway.transport.sessions import REVISION_HEADER, SESSION_HEADER, unknown_session

_ACCEPTED: Final = 202


async def answer_post(server: Server[Any], call: Call, http: HttpRequest, body: bytes) -> Answer:
    """Answer a POST of an authenticated caller.

    Raises:
        DatabaseUnavailable: The database did not confirm the call.
    """
    content_type = (http.header("content-type") or "application/json").partition(";")[0].strip().lower()
    if content_type != "application/json":
        return refusal(415, "unsupported_media_type", "Send JSON with Content-Type: application/json.")
    if not http.accepts_json and not http.accepts_events:
        return refusal(406, "not_acceptable", "Accept application/json or text/event-stream.")
    try:
        value = parse(body)
        if _is_stateless(http, value):
            return await _answer_stateless(server, call, http, value)
        return await _answer_handshake_era(server, call, http, value)
    except BadMessage as bad:
        return Answer(400, rpc_error(bad.code, bad.message, id=bad.id))


def _is_stateless(http: HttpRequest, value: Any) -> bool:
    """Whether a message is of 2026-07-28, by its header or by the revision its own ``_meta`` names.

    ``initialize`` is always the handshake, whatever its header says (G2). An unknown revision in ``_meta``
    comes here too, to be refused in the words of the revision that has such envelopes (G12).
    """
    if isinstance(value, dict) and value.get("method") == "initialize":
        return False
    if http.header(REVISION_HEADER) == revisions.STATELESS:
        return True
    params = value.get("params") if isinstance(value, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(meta, dict) or PROTOCOL_VERSION_META_KEY not in meta:
        return False
    return meta[PROTOCOL_VERSION_META_KEY] not in revisions.HANDSHAKE


async def _answer_stateless(server: Server[Any], call: Call, http: HttpRequest, value: Any) -> Answer:
    """Serve one message of 2026-07-28 (G12); a session id beside it means nothing."""
    message = read_message(value)
    if isinstance(message, Response):
        raise BadMessage(INVALID_REQUEST, "Memford sends no requests, so it takes no responses.")
    if isinstance(message, Notification):
        return Answer(_ACCEPTED)
    doubled = find_duplicated_routing_header(http.lines())
    if doubled is not None:
        return Answer(400, rpc_error(HEADER_MISMATCH, f"The header {doubled} was sent twice.", id=message.id))
    headers = {name: values[0] for name, values in http.headers.items()}
    verdict = classify_inbound_request(value, headers=headers)
    if isinstance(verdict, InboundLadderRejection):
        return Answer(400, _rejected(verdict, message.id))
    if refused := _missing_scope(call, http, [message]):
        return refused
    reply = await exchange(
        server,
        call,
        message,
        revision=revisions.STATELESS,
        client_info=verdict.client_info,
        client_capabilities=verdict.client_capabilities,
    )
    error = reply.get("error")
    return Answer(200 if error is None else ERROR_CODE_HTTP_STATUS.get(error["code"], 200), reply)


def _rejected(verdict: InboundLadderRejection, id: str | int) -> dict[str, Any]:  # noqa: A002
    if verdict.code == UNSUPPORTED_PROTOCOL_VERSION:
        return rpc_error(
            verdict.code, verdict.message, id=id, data={**verdict.data, "supported": list(revisions.SERVED)}
        )
    return rpc_error(verdict.code, verdict.message, id=id, data=verdict.data)


async def _answer_handshake_era(server: Server[Any], call: Call, http: HttpRequest, value: Any) -> Answer:
    """Serve one message, or a batch where the revision has them."""
    is_initialize = isinstance(value, dict) and value.get("method") == "initialize"
    if http.header(SESSION_HEADER) is not None and not is_initialize:
        return unknown_session()
    revision = revisions.NEWEST_HANDSHAKE if is_initialize else http.header(REVISION_HEADER) or revisions.WITH_BATCHES
    if revision not in revisions.HANDSHAKE:
        supported = {"supported": list(revisions.SERVED), "requested": revision}
        return Answer(400, rpc_error(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data=supported))
    if isinstance(value, list):
        return await _answer_batch(server, call, http, value, revision)
    message = read_message(value)
    if not isinstance(message, Request):
        return Answer(_ACCEPTED)
    if refused := _missing_scope(call, http, [message]):
        return refused
    return Answer(200, await exchange(server, call, message, revision=revision))


async def _answer_batch(server: Server[Any], call: Call, http: HttpRequest, values: list[Any], revision: str) -> Answer:
    """Serve a batch in its order; it is refused as a whole or served as a whole (G3)."""
    if revision != revisions.WITH_BATCHES:
        raise BadMessage(INVALID_REQUEST, f"{revision} has no batches. Send one message at a time.")
    messages = read_batch(values)
    if refused := _missing_scope(call, http, messages):
        return refused
    replies = [await _batched(server, call, message, revision) for message in messages if isinstance(message, Request)]
    return Answer(200, replies) if replies else Answer(_ACCEPTED)


async def _batched(server: Server[Any], call: Call, message: Request, revision: str) -> dict[str, Any]:
    try:
        return await exchange(server, call, message, revision=revision)
    except DatabaseUnavailable:
        # Others of the batch may have been served, so the answer speaks for this one message.
        return rpc_error(INTERNAL_ERROR, "The database cannot be reached now. Repeat this call.", id=message.id)


def _missing_scope(call: Call, http: HttpRequest, messages: Sequence[Message]) -> Answer | None:
    """Refuse before any message runs, where one of them needs a scope that the connection lacks (G3, G7)."""
    needed = {required_scope(message.method, message.params) for message in messages if isinstance(message, Request)}
    return insufficient_scope(http.path) if needed - call.principal.scopes else None
