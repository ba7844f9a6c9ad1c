"""A bare client of the endpoint, for what the official clients would never send."""

import itertools
import json
from types import TracebackType
from typing import Any

import httpx2

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
}


class Wire:
    """Sends JSON-RPC messages as they are, and hands the HTTP answers back."""

    def __init__(self, url: str, key: str | None, path: str = "/mcp") -> None:
        self.url = url
        self.path = path
        self.key = key
        # Reading the certificates of the world would take longer than most tests.
        self.client = httpx2.Client(base_url=url, timeout=30, verify=False)
        self._ids = itertools.count(1)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()

    def headers(self, **more: Any) -> dict[str, str]:
        """Return an agent's usual headers; ``None`` leaves one out, and underscores stand for dashes."""
        usual: dict[str, str | None] = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self.key}" if self.key else None,
            "MCP-Protocol-Version": "2025-11-25",
        }
        given = {name.replace("_", "-"): value for name, value in more.items()}
        named = {name.lower(): (name, value) for name, value in usual.items()}
        named |= {name.lower(): (name, value) for name, value in given.items()}
        return {name: value for name, value in named.values() if value is not None}

    def send(self, body: Any, *, method: str = "POST", **headers: Any) -> httpx2.Response:
        """Send a body, bytes as they are and anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.request(method, self.path, content=content, headers=self.headers(**headers))

    def request(self, method: str, params: Any = None, **headers: Any) -> httpx2.Response:
        """Send one request of a handshake revision."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": next(self._ids), "method": method}
        if params is not None:
            message["params"] = params
        return self.send(message, method="POST", **headers)

    def modern(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
        **headers: Any,
    ) -> httpx2.Response:
        """Send one request of 2026-07-28, with the headers that mirror it."""
        params = {**(params or {}), "_meta": META if meta is None else meta}
        mirrored: dict[str, str | None] = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method}
        name = params.get("name") or params.get("uri")
        if isinstance(name, str):
            mirrored["Mcp_Name"] = name
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        return self.send(message, method="POST", **{**mirrored, **headers})

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **headers: Any) -> "ToolAnswer":
        """Call a tool and return its answer."""
        response = self.request("tools/call", {"name": tool, "arguments": arguments or {}}, **headers)
        assert response.status_code == 200, response.text
        return ToolAnswer(response.json())


class ToolAnswer:
    """A tool's result, or its error."""

    def __init__(self, reply: dict[str, Any]) -> None:
        self.reply = reply
        self.result: dict[str, Any] = reply["result"]
        self.text: dict[str, Any] = json.loads(self.result["content"][0]["text"])

    @property
    def ok(self) -> dict[str, Any]:
        """The structured content of a success."""
        assert not self.result.get("isError"), self.text
        structured: dict[str, Any] = self.result["structuredContent"]
        assert structured == self.text
        return structured

    @property
    def error(self) -> dict[str, Any]:
        """The error of a failure."""
        assert self.result["isError"] is True
        assert "structuredContent" not in self.result
        error: dict[str, Any] = self.text["error"]
        return error
