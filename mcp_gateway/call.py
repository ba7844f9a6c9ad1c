"""What a handler is given of its call: who asks, in which session, and the threads that reach the database."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcp.server.context import ServerRequestContext

from mcp_gateway.transport.session_services import Session
from mcp_gateway.transport.threads import DatabaseThreads
from memford.core.principal import Principal


@dataclass(frozen=True, slots=True)
class Call:
    """One authenticated request; the kernel passes it to the handler untouched."""

    principal: Principal
    session: Session | None
    threads: DatabaseThreads
    expires_at: datetime | None = None


Context = ServerRequestContext[Any, Call]


def call_of(ctx: Context) -> Call:
    """Return the call that a handler serves; the exchange always attaches one."""
    if ctx.request is None:
        raise RuntimeError("a handler was called outside an exchange")
    return ctx.request
