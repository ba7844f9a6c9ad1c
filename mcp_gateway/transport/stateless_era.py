"""Messages of 2026-07-28: each stands by itself, and ``subscriptions/listen`` is answered by a stream (G12, R4)."""

from typing import Any

from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_PROTOCOL_VERSION,
    SubscriptionsListenRequestParams,
)
from pydantic import ValidationError

from mcp_gateway.call import Call
from mcp_gateway.resources import notes_uri
from mcp_gateway.transport import revisions
from mcp_gateway.transport.answers import Answer, refusal, rpc_error
from mcp_gateway.transport.event_answers import EventAnswer, ListenAnswer
from mcp_gateway.transport.exchange import exchange
from mcp_gateway.transport.feed_selectors import current_revisions
from mcp_gateway.transport.gateway import Gateway
from mcp_gateway.transport.messages import BadMessage, Notification, Request, Response, read_message
from mcp_gateway.transport.request import HttpRequest
from mcp_gateway.transport.scope_check import missing_scope

LISTEN = "subscriptions/listen"


async def answer_stateless(gateway: Gateway, call: Call, http: HttpRequest, value: Any) -> Answer | EventAnswer:
    """Serve one message; a session id beside it means nothing."""
    message = read_message(value)
    if isinstance(message, Response):
        raise BadMessage(INVALID_REQUEST, "Memford sends no requests, so it takes no responses.")
    if isinstance(message, Notification):
        return Answer(202)
    route = _route(http, value)
    if isinstance(route, InboundLadderRejection):
        return Answer(400, _rejected(route, message.id))
    if refused := missing_scope(call, http, [message]):
        return refused
    if message.method == LISTEN:
        return await _listen(gateway, call, http, message)
    reply = await exchange(
        gateway.server,
        call,
        message,
        revision=revisions.STATELESS,
        client_info=route.client_info,
        client_capabilities=route.client_capabilities,
    )
    error = reply.get("error")
    return Answer(200 if error is None else ERROR_CODE_HTTP_STATUS.get(error["code"], 200), reply)


def _route(http: HttpRequest, value: dict[str, Any]) -> InboundModernRoute | InboundLadderRejection:
    """Hold the headers against the body, by the SDK's own ladder; it cannot see a header sent twice."""
    doubled = find_duplicated_routing_header(http.lines())
    if doubled is not None:
        return InboundLadderRejection(code=HEADER_MISMATCH, message=f"The header {doubled} was sent twice.")
    return classify_inbound_request(value, headers={name: values[0] for name, values in http.headers.items()})


def _rejected(verdict: InboundLadderRejection, id: str | int) -> dict[str, Any]:  # noqa: A002
    data = verdict.data
    if verdict.code == UNSUPPORTED_PROTOCOL_VERSION:
        data = {**data, "supported": list(revisions.SERVED)}
    return rpc_error(verdict.code, verdict.message, id=id, data=data)


async def _listen(gateway: Gateway, call: Call, http: HttpRequest, request: Request) -> Answer | EventAnswer:
    """Open a stream for the connection's own address; any other is neither acknowledged nor delivered (R4).

    Ours instead of the SDK's handler, which delivers any tenant's address.
    """
    if not http.accepts_events:
        return refusal(406, "not_acceptable", f"{LISTEN} is answered by events: send Accept: text/event-stream.")
    try:
        params = SubscriptionsListenRequestParams.model_validate(request.params, by_name=False)
    except ValidationError:
        return Answer(400, rpc_error(INVALID_PARAMS, "Invalid request parameters", id=request.id))
    uris = params.notifications.resource_subscriptions or ()
    current = await call.threads.run(current_revisions, call.principal.project_id)
    honoured = notes_uri(call.principal) in {str(uri) for uri in uris}
    return ListenAnswer(gateway.feed, call, request.id, current, honoured=honoured)
