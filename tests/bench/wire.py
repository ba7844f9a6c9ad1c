"""Requests as bytes, as an agent's client would send them."""

import json
from typing import Any

from tests.bench.load import PLACE_FOR_UUID, Step

SUCCESS = '"isError":false'
RESULT = '"result":{'


def call_tool(port: int, key: str, tool: str, arguments: dict[str, Any]) -> Step:
    """Return a call of a tool."""
    return Step(request(port, key, "tools/call", {"name": tool, "arguments": arguments}), SUCCESS)


def read_memory(port: int, key: str, project_id: str, cursor: str | None = None) -> Step:
    """Return the reading of one page of 100 notes."""
    place = {} if cursor is None else {"cursor": cursor}
    return call_tool(port, key, "memory_read", {"project_id": project_id, "limit": 100, **place})


def write_memory(port: int, key: str, project_id: str, content: str) -> Step:
    """Return the submission of a note with a checkpoint of its own."""
    arguments = {"project_id": project_id, "content": content, "checkpoint_id": PLACE_FOR_UUID}
    return call_tool(port, key, "memory_write", arguments)


def begin(port: int, key: str) -> list[Step]:
    """Return how a session begins: the handshake, then the list of tools."""
    handshake = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    return [
        Step(request(port, key, "initialize", handshake), RESULT),
        Step(request(port, key, "tools/list", {}), RESULT),
    ]


def request(port: int, key: str, method: str, params: dict[str, Any]) -> str:
    """Return an HTTP request that carries one JSON-RPC request."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    body = json.dumps(message, separators=(",", ":"))
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: localhost:{port}",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        f"Authorization: Bearer {key}",
        "MCP-Protocol-Version: 2025-11-25",
        "User-Agent: memford-bench",
        f"Content-Length: {len(body.encode())}",
    ]
    return "\r\n".join([*lines, "", body])
