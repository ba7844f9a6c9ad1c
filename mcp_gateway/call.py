"""What a handler is given of the call it serves: who asks, and the threads that reach the database."""

from dataclasses import dataclass

from mcp_gateway.transport.threads import DatabaseThreads
from memford.core.principal import Principal


@dataclass(frozen=True, slots=True)
class Call:
    """One authenticated request; the kernel passes it to the handler untouched."""

    principal: Principal
    threads: DatabaseThreads
