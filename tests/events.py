"""A reader of event streams: it reads in a thread of its own and keeps what came, so that a test can wait for it."""

import json
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import httpx2

from tests.live import wait_until
from tests.wire import META, Wire

UPDATED = "notifications/resources/updated"


@dataclass
class Event:
    """One event, or a comment (without data)."""

    at: float
    id: str | None = None
    data: Any = None
    retry: int | None = None
    comment: bool = False

    @property
    def method(self) -> str | None:
        """The notification's method, where it is one."""
        return self.data.get("method") if isinstance(self.data, dict) else None


@dataclass
class EventReader:
    """An open stream of a wire: a session's GET, or the answer to ``subscriptions/listen``."""

    wire: Wire
    session: str | None = None
    listen: dict[str, Any] | None = None
    last_event_id: str | None = None
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    ended: bool = False
    well_formed: bool = False
    opened_at: float = field(default_factory=time.monotonic)

    def __enter__(self) -> "EventReader":
        timeout = httpx2.Timeout(10, read=120)
        self._client = httpx2.Client(base_url=self.wire.url, timeout=timeout, verify=False)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        wait_until(lambda: self.status is not None or self.ended, what="the stream's answer")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()

    def cut(self) -> None:
        """Break the connection, as a bad network does."""
        stream = getattr(self, "_response", None)
        if stream is not None:
            network = stream.extensions.get("network_stream")
            if network is not None and not self.ended:
                network.get_extra_info("socket").shutdown(2)
        self._thread.join(10)
        self._client.close()

    def _request(self) -> Any:
        if self.listen is not None:
            params = {"notifications": self.listen, "_meta": META}
            message = {"jsonrpc": "2.0", "id": "listening", "method": "subscriptions/listen", "params": params}
            more = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "subscriptions/listen"}
            headers = self.wire.headers(**more)
            return self._client.stream("POST", "/mcp", content=json.dumps(message).encode(), headers=headers)
        headers = self.wire.headers(
            Accept="text/event-stream",
            Content_Type=None,
            Mcp_Session_Id=self.session,
            Last_Event_ID=self.last_event_id,
        )
        return self._client.stream("GET", "/mcp", headers=headers)

    def _read(self) -> None:
        try:
            with self._request() as response:
                self._response = response
                self.headers = dict(response.headers)
                self.status = response.status_code
                block: list[str] = []
                for line in response.iter_lines():
                    if line:
                        block.append(line)
                    elif block:
                        self.events.append(_parse(block))
                        block = []
            self.well_formed = not block
        except (httpx2.HTTPError, OSError):
            pass
        finally:
            self.ended = True

    @property
    def hints(self) -> list[Event]:
        """The hints that came."""
        return [event for event in list(self.events) if event.method == UPDATED]

    def wait_for_hints(self, count: int, limit_seconds: float = 5) -> list[Event]:
        """Wait until so many hints came."""
        wait_until(lambda: len(self.hints) >= count, limit_seconds=limit_seconds, what=f"hint {count}")
        return self.hints

    def wait_for_end(self, limit_seconds: float = 5) -> None:
        """Wait until the server ended the stream."""
        wait_until(lambda: self.ended, limit_seconds=limit_seconds, what="the stream's end")


def _parse(block: list[str]) -> Event:
    event = Event(time.monotonic())
    for line in block:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "":
            event.comment = True
        elif name == "id":
            event.id = value
        elif name == "data":
            event.data = json.loads(value)
        elif name == "retry":
            event.retry = int(value)
    return event


def begin_session(wire: Wire, revision: str = "2025-11-25") -> str:
    """Shake hands and return the session's id."""
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
    answer = wire.request("initialize", params, MCP_Protocol_Version=None)
    assert answer.status_code == 200, answer.text
    return answer.headers["mcp-session-id"]


def subscribe(wire: Wire, session: str, project_id: str, method: str = "resources/subscribe") -> None:
    """Subscribe a session to its project's notes."""
    answer = wire.request(method, {"uri": f"memory://projects/{project_id}/notes"}, Mcp_Session_Id=session)
    assert answer.json().get("result") == {}, answer.text
