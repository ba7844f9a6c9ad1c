"""GET and DELETE at the endpoint: a session's stream, and its end (G4, G9)."""

from typing import Final

from mcp_types import INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION

from mcp_gateway.call import Call
from mcp_gateway.transport import revisions
from mcp_gateway.transport.answers import Answer, refusal, rpc_error
from mcp_gateway.transport.event_answers import EventAnswer, SessionAnswer, seen_by
from mcp_gateway.transport.feed import ChangeFeed
from mcp_gateway.transport.request import HttpRequest
from mcp_gateway.transport.session_services import attach_stream, end_session

SESSION_HEADER: Final = "mcp-session-id"
REVISION_HEADER: Final = "mcp-protocol-version"
LAST_EVENT_HEADER: Final = "last-event-id"


async def answer_session_method(feed: ChangeFeed, call: Call, request: HttpRequest) -> Answer | EventAnswer:
    """Answer a GET or DELETE of an authenticated caller."""
    header = request.header(REVISION_HEADER)
    if header == revisions.STATELESS:
        return refusal(405, "method_not_allowed", f"{revisions.STATELESS} has POST alone.", {"Allow": "POST, OPTIONS"})
    if request.method == "GET" and not request.accepts_events:
        return refusal(406, "not_acceptable", "GET opens an event stream: send Accept: text/event-stream.")
    if request.header(SESSION_HEADER) is None:
        return Answer(400, rpc_error(INVALID_REQUEST, f"{request.method} needs the Mcp-Session-Id of a session."))
    if header is not None and header not in revisions.HANDSHAKE:
        return unsupported_revision(header)
    if call.session is None:
        return unknown_session()
    if request.method == "DELETE":
        ended = await call.threads.run(end_session, call.principal, call.session.id)
        if ended:
            feed.wake()
        return Answer(204) if ended else unknown_session()
    attachment = await call.threads.run(attach_stream, call.principal, call.session.id, feed.worker)
    if attachment is None:
        return unknown_session()
    seen = seen_by(request.header(LAST_EVENT_HEADER), attachment)
    return SessionAnswer(feed, call.principal, call.session.id, attachment, seen)


def unknown_session() -> Answer:
    """Say that a session is unknown, ended, expired or another connection's: one answer for all (G9)."""
    return Answer(404, rpc_error(INVALID_REQUEST, "There is no such session. Call initialize to begin a new one."))


def unsupported_revision(revision: str) -> Answer:
    """Refuse a revision that is not served, with the list of those that are (G2, G12)."""
    data = {"supported": list(revisions.SERVED), "requested": revision}
    return Answer(400, rpc_error(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data=data))
