"""What all requests of one worker share."""

from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel.server import Server

from mcp_gateway.transport.feed import ChangeFeed
from mcp_gateway.transport.threads import DatabaseThreads


@dataclass(frozen=True, slots=True)
class Gateway:
    """The server that every exchange runs on, the feed behind open streams, and the threads to the database."""

    server: Server[Any]
    feed: ChangeFeed
    threads: DatabaseThreads
