"""GET and DELETE at the endpoint: what belongs to an MCP session (G4, G9).

Sessions are not kept yet: ``initialize`` gives no session id, as the protocol allows, and every call is served
by itself. So an id that a client presents is unknown here, and 404 tells it to initialize again.
"""

from typing import Final

from mcp_types import INVALID_REQUEST

from mcp_gateway.transport import revisions
from mcp_gateway.transport.answers import Answer, refusal, rpc_error
from mcp_gateway.transport.request import HttpRequest

SESSION_HEADER: Final = "mcp-session-id"
REVISION_HEADER: Final = "mcp-protocol-version"


def answer_session_method(request: HttpRequest) -> Answer:
    """Answer a GET or DELETE."""
    if request.header(REVISION_HEADER) == revisions.STATELESS:
        return refusal(405, "method_not_allowed", f"{revisions.STATELESS} has POST alone.", {"Allow": "POST, OPTIONS"})
    if request.method == "GET" and not request.accepts_events:
        return refusal(406, "not_acceptable", "GET opens an event stream: send Accept: text/event-stream.")
    if request.header(SESSION_HEADER) is None:
        return Answer(400, rpc_error(INVALID_REQUEST, f"{request.method} needs the Mcp-Session-Id of a session."))
    return unknown_session()


def unknown_session() -> Answer:
    """Say that a session is unknown, ended, or another connection's: one answer for all (G9)."""
    return Answer(404, rpc_error(INVALID_REQUEST, "There is no such session. Call initialize to begin a new one."))
