"""A POST: its media types are checked, its body read, and its era found (G3, G4, G12)."""

from typing import Any

from mcp_types import PROTOCOL_VERSION_META_KEY

from mcp_gateway.call import Call
from mcp_gateway.transport import revisions
from mcp_gateway.transport.answers import Answer, refusal, rpc_error
from mcp_gateway.transport.event_answers import EventAnswer
from mcp_gateway.transport.gateway import Gateway
from mcp_gateway.transport.handshake_era import answer_handshake_era
from mcp_gateway.transport.messages import BadMessage, parse
from mcp_gateway.transport.request import HttpRequest
from mcp_gateway.transport.sessions import REVISION_HEADER
from mcp_gateway.transport.stateless_era import answer_stateless


async def answer_post(gateway: Gateway, call: Call, http: HttpRequest, body: bytes) -> Answer | EventAnswer:
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
            return await answer_stateless(gateway, call, http, value)
        return await answer_handshake_era(gateway, call, http, value)
    except BadMessage as bad:
        return Answer(400, rpc_error(bad.code, bad.message, id=bad.id))


def _is_stateless(http: HttpRequest, value: Any) -> bool:
    """Whether a message is of 2026-07-28, by its header or by the revision its own ``_meta`` names.

    ``initialize`` is the handshake, whatever its header says (G2), unless its ``_meta`` names the revision that has
    none. An unknown revision in ``_meta`` comes here too, to be refused in the words of the revision that has such
    envelopes (G12).
    """
    named = _revision_in_meta(value)
    if isinstance(value, dict) and value.get("method") == "initialize":
        return bool(named == revisions.STATELESS)
    if http.header(REVISION_HEADER) == revisions.STATELESS:
        return True
    return named is not None and named not in revisions.HANDSHAKE


def _revision_in_meta(value: Any) -> Any:
    params = value.get("params") if isinstance(value, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
