"""The scopes of a request's messages, checked before any of them runs (G3, G7, T11)."""

from collections.abc import Sequence

from mcp_gateway.call import Call
from mcp_gateway.tools import required_scope
from mcp_gateway.transport.answers import Answer, insufficient_scope
from mcp_gateway.transport.messages import Message, Request
from mcp_gateway.transport.request import HttpRequest


def missing_scope(call: Call, http: HttpRequest, messages: Sequence[Message]) -> Answer | None:
    """Refuse where one of the messages needs a scope that the connection lacks."""
    needed = {required_scope(message.method, message.params) for message in messages if isinstance(message, Request)}
    return insufficient_scope(http.path) if needed - call.principal.scopes else None
