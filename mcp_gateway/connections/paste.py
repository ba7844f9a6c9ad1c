"""What is pasted into each client, to connect it by OAuth or with a project key."""

import json
import shlex
from typing import Any, Final
from urllib.parse import urlsplit

NAME: Final = "memford"
SHOWN_FOR_A_KEY: Final = "mfk_…"
KEY_VARIABLE: Final = "MEMFORD_API_KEY"

_FIRST_CALL: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "memory_list_projects", "arguments": {}},
}

_PYTHON: Final = """\
import asyncio
import os

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


async def main():
    headers = {{"Authorization": "Bearer " + os.environ["{variable}"]}}
    async with httpx2.AsyncClient(headers=headers) as http:
        async with Client(streamable_http_client("{url}", http_client=http)) as client:
            listed = await client.call_tool("memory_list_projects", {{}})
            print(listed.structured_content["projects"])


asyncio.run(main())"""


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _bearer(key: str) -> str:
    return f"Authorization: Bearer {key}"


def _bridge(url: str) -> list[str]:
    """Return how ``mcp-remote`` is started, which takes plain http unasked at two names of this computer only."""
    parts = urlsplit(url)
    is_taken = parts.scheme == "https" or parts.hostname in {"localhost", "127.0.0.1"}
    return ["-y", "mcp-remote", url, *([] if is_taken else ["--allow-http"])]


def lines_for(url: str) -> dict[str, str]:
    """Return the lines and files of each client, by name; ``url`` is the agents' endpoint."""
    at = shlex.quote(url)
    remote = {"type": "http", "url": url}
    prompted = {"type": "promptString", "id": "memford-key", "description": "Memford project key", "password": True}
    shown = _bearer(SHOWN_FOR_A_KEY)
    return {
        "claude_code": f"claude mcp add --transport http {NAME} {at}\nclaude mcp login {NAME}",
        "claude_code_key": claude_code_with(url, SHOWN_FOR_A_KEY),
        "codex": f"codex mcp add {NAME} --url {at}\ncodex mcp login {NAME}",
        "codex_key": f"export {KEY_VARIABLE}={SHOWN_FOR_A_KEY}\n"
        f"codex mcp add {NAME} --url {at} --bearer-token-env-var {KEY_VARIABLE}",
        "bridge": _json({"mcpServers": {NAME: {"command": "npx", "args": _bridge(url)}}}),
        "vscode": _json({"servers": {NAME: remote}}),
        "vscode_line": f"code --add-mcp {shlex.quote(json.dumps({'name': NAME, **remote}))}",
        "vscode_key": _json(
            {
                "servers": {NAME: {**remote, "headers": {"Authorization": "Bearer ${input:memford-key}"}}},
                "inputs": [prompted],
            }
        ),
        "cursor": _json({"mcpServers": {NAME: {"url": url}}}),
        "cursor_key": _json(
            {"mcpServers": {NAME: {"url": url, "headers": {"Authorization": f"Bearer ${{env:{KEY_VARIABLE}}}"}}}}
        ),
        "gemini": f"gemini mcp add -s user --transport http {NAME} {at}",
        "gemini_login": f"/mcp auth {NAME}",
        "gemini_key": f'gemini mcp add -s user --transport http -H "{shown}" {NAME} {at}',
        "other": _json({"mcpServers": {NAME: {**remote, "headers": {"Authorization": f"Bearer {SHOWN_FOR_A_KEY}"}}}}),
        "python": _PYTHON.format(url=url, variable=KEY_VARIABLE),
        "curl": curl_with(url, SHOWN_FOR_A_KEY),
    }


def claude_code_with(url: str, key: str) -> str:
    """Return the line that gives Claude Code a key."""
    return f'claude mcp add --transport http {NAME} {shlex.quote(url)} --header "{_bearer(key)}"'


def curl_with(url: str, key: str) -> str:
    """Return a first call by hand: which project does the key reach?"""
    return (
        f'curl -sS {shlex.quote(url)} \\\n  -H "{_bearer(key)}" \\\n'
        f"  -H \"Content-Type: application/json\" \\\n  -d '{json.dumps(_FIRST_CALL)}'"
    )
