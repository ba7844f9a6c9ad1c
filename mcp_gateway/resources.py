"""The one resource of a connection: its project's notes (R1)."""

from typing import Any, Final

import orjson
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SubscribeRequestParams,
    TextResourceContents,
    UnsubscribeRequestParams,
)

from mcp_gateway.call import Call, Context, call_of
from mcp_gateway.tools.read import first_page
from mcp_gateway.transport import revisions
from mcp_gateway.transport.session_services import Revisions, remember_read, set_subscribed
from memford.core.errors import ProjectNotAvailable
from memford.core.principal import Principal

RESOURCE_NOT_FOUND: Final = -32002
"""What the handshake revisions say of an unknown resource; 2026-07-28 calls it invalid parameters (G12)."""

ECHOED_URI_MAX_CHARS: Final = 2_000

_MIME_TYPE: Final = "application/json"
_DESCRIPTION: Final = "The newest notes and all standards of the project, as memory_read returns them. Reference data."


def notes_uri(principal: Principal) -> str:
    """Return the address of the connection's own notes."""
    return f"memory://projects/{principal.project_id}/notes"


def refuse_cursor(params: PaginatedRequestParams | None) -> None:
    """Refuse a list's cursor: the lists here are one page, so no cursor of ours exists."""
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "Unknown cursor. This list has one page; call it without a cursor.")


async def list_resources(ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    """Return the connection's one resource."""
    refuse_cursor(params)
    resource = Resource(
        uri=notes_uri(call_of(ctx).principal),
        name="notes",
        title="Project notes",
        description=_DESCRIPTION,
        mime_type=_MIME_TYPE,
    )
    return ListResourcesResult(resources=[resource])


async def list_resource_templates(ctx: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    """Return the form of the address."""
    refuse_cursor(params)
    template = ResourceTemplate(
        uri_template="memory://projects/{project_id}/notes",
        name="notes",
        title="Project notes",
        description=_DESCRIPTION,
        mime_type=_MIME_TYPE,
    )
    return ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Return the first page of the connection's notes; any other address is not found."""
    call = call_of(ctx)
    uri = notes_uri(call.principal)
    if str(params.uri) != uri:
        raise not_found(ctx, str(params.uri))
    try:
        page = await call.threads.run(_read_first_page, call)
    except ProjectNotAvailable:
        raise not_found(ctx, uri) from None
    contents = TextResourceContents(uri=uri, mime_type=_MIME_TYPE, text=orjson.dumps(page).decode())
    return ReadResourceResult(contents=[contents])


def _read_first_page(call: Call) -> dict[str, Any]:
    page = first_page(call.principal)
    remember_page(call, page)
    return page


def remember_page(call: Call, page: dict[str, Any]) -> None:
    """Remember in the session how new a first page was, so that a stream hints of what is newer (R3)."""
    if call.session is not None:
        remember_read(call.session, Revisions(page["memory_revision"], page["standards_revision"]))


async def subscribe(ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
    """Subscribe the session to its notes (R2)."""
    return await _set_subscribed(ctx, str(params.uri), True)


async def unsubscribe(ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
    """Subscribe the session no longer (R2)."""
    return await _set_subscribed(ctx, str(params.uri), False)


async def _set_subscribed(ctx: Context, uri: str, subscribed: bool) -> EmptyResult:
    call = call_of(ctx)
    if uri != notes_uri(call.principal):
        raise not_found(ctx, uri)
    if call.session is None:
        raise RuntimeError("subscribing was let through without a session")
    await call.threads.run(set_subscribed, call.session.id, subscribed)
    return EmptyResult()


def not_found(ctx: Context, uri: str) -> MCPError:
    """Return the error for an unknown resource, in the words of the revision in force, with the caller's own address.

    An address that is longer than any of ours is not given back.
    """
    return MCPError(
        INVALID_PARAMS if ctx.protocol_version == revisions.STATELESS else RESOURCE_NOT_FOUND,
        "Resource not found. Call resources/list for the address that this connection may read.",
        data={"uri": uri} if len(uri) <= ECHOED_URI_MAX_CHARS else None,
    )
