"""Answers that are event streams: a session's GET, and ``subscriptions/listen`` of 2026-07-28 (R2-R4).

Both say something at once, so that a client knows that it is connected; both comment while there is nothing to say,
so that no proxy thinks them dead; both end well-formed when the server stops or the connection may listen no longer.
"""

import asyncio
import random
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import Any, Final

from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from mcp_gateway.call import Call
from mcp_gateway.resources import notes_uri
from mcp_gateway.transport.answers import EVENTS, to_json
from mcp_gateway.transport.feed import ChangeFeed
from mcp_gateway.transport.request import Send
from mcp_gateway.transport.session_services import Attachment, Revisions
from mcp_gateway.transport.streams import ListenStream, SessionStream, Stream
from memford.core.limits import limits
from memford.core.principal import Principal

LIFE_SPREAD: Final = 1 / 11
"""A stream lives up to this share shorter than its longest life, so that many do not end together: 50 to 55 s."""

RETRY_MILLISECONDS: Final = (1_000, 3_000)
COMMENT: Final = b": \n\n"


class EventAnswer(ABC):
    """An open answer; the endpoint hands it the connection once the request was admitted."""

    def __init__(self, feed: ChangeFeed, stream: Stream) -> None:
        self.feed = feed
        self.stream = stream
        self.headers: dict[str, str] = {}

    async def serve(self, send: Send) -> None:
        """Write events until the stream ends; the client's leaving cancels this."""
        self.feed.add(self.stream)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self._header_lines()})
            await _write(send, self.opening())
            await self._write_hints(send)
            await send({"type": "http.response.body", "body": self.closing()})
        finally:
            self.feed.remove(self.stream)

    async def _write_hints(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        life = self.life_seconds()
        end = None if life is None else loop.time() + life
        while not self.stream.ended:
            left = limits().stream_comment_interval_seconds
            if end is not None:
                left = min(left, end - loop.time())
                if left <= 0:
                    return
            hint = await self.stream.next_hint(left)
            if hint is not None:
                await _write(send, self.event(hint))
            elif not self.stream.ended:
                await _write(send, COMMENT)

    def _header_lines(self) -> list[tuple[bytes, bytes]]:
        lines = {
            "Content-Type": EVENTS,
            "Cache-Control": "no-store, no-transform",
            # nginx keeps what it is told to buffer; this header tells it not to.
            "X-Accel-Buffering": "no",
            **self.headers,
        }
        return [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in lines.items()]

    @abstractmethod
    def opening(self) -> bytes:
        """Return the first bytes, with a hint where there is news already."""

    @abstractmethod
    def event(self, revisions: Revisions) -> bytes:
        """Return a hint as an event."""

    def closing(self) -> bytes:
        """Return the last bytes of a stream that ends in good order."""
        return b""

    def life_seconds(self) -> float | None:
        """Return how long the stream lives; ``None`` has no fixed end."""
        return None


async def _write(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


class SessionAnswer(EventAnswer):
    """The GET stream of a session (R2, R3): it ends after 50 to 55 s, and the client comes again."""

    def __init__(
        self, feed: ChangeFeed, principal: Principal, session_id: str, attachment: Attachment, seen: Revisions | None
    ) -> None:
        stream = SessionStream(
            principal.project_id, principal.connection_id, attachment.current, session_id, attachment.epoch
        )
        super().__init__(feed, stream)
        self._uri = notes_uri(principal)
        self._news = attachment.current if attachment.subscribed and attachment.current.is_newer_than(seen) else None

    def opening(self) -> bytes:
        """Say when to come again, and hint at once where the project is newer than what was read (R3)."""
        retry = b"retry: %d\n\n" % random.randint(*RETRY_MILLISECONDS)  # noqa: S311
        return retry if self._news is None else retry + self.event(self._news)

    def event(self, revisions: Revisions) -> bytes:
        """Tell of a change; the event's id stands for the revisions (R3)."""
        message = {
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": self._uri},
        }
        return b"id: %s\nevent: message\ndata: %s\n\n" % (event_id(revisions).encode(), to_json(message))

    def life_seconds(self) -> float:
        """Spread the ends, so that streams that began together do not come again together."""
        return limits().stream_life_seconds * (1 - random.random() * LIFE_SPREAD)  # noqa: S311


def event_id(revisions: Revisions) -> str:
    """Print revisions as an event's id."""
    return f"{revisions.memory}-{revisions.standards}"


def seen_by(last_event_id: str | None, attachment: Attachment) -> Revisions | None:
    """Return what the client has seen: what it read, or heard of by its last event.

    A ``Last-Event-ID`` that is not ours, or newer than the project, is ignored (R3).
    """
    memory, dash, standards = (last_event_id or "").partition("-")
    if not dash or not (_is_number(memory) and _is_number(standards)):
        return attachment.read
    heard = Revisions(int(memory), int(standards))
    if heard.is_newer_than(attachment.current):
        return attachment.read
    if attachment.read is None:
        return heard
    return Revisions(max(heard.memory, attachment.read.memory), max(heard.standards, attachment.read.standards))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 19


class ListenAnswer(EventAnswer):
    """The answer to ``subscriptions/listen`` (R4): acknowledged, hinted at once, and open until something ends it."""

    def __init__(
        self, feed: ChangeFeed, call: Call, request_id: str | int, current: Revisions, *, honoured: bool
    ) -> None:
        super().__init__(feed, ListenStream(call.principal.project_id, call.principal.connection_id, current))
        self._expires_at = call.expires_at
        self._id = request_id
        self._meta = {SUBSCRIPTION_ID_META_KEY: request_id}
        self._uri = notes_uri(call.principal)
        self._honoured = honoured

    def opening(self) -> bytes:
        """Acknowledge the connection's own address alone, and let one hint follow."""
        filter_: dict[str, Any] = {"resourceSubscriptions": [self._uri]} if self._honoured else {}
        params = {"notifications": filter_, "_meta": self._meta}
        acknowledged = _message(
            {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
        )
        return acknowledged + self.event(self.stream.known)

    def event(self, revisions: Revisions) -> bytes:
        """Tell of a change of what was subscribed to, and of nothing else."""
        if not self._honoured:
            return COMMENT
        params = {"uri": self._uri, "_meta": self._meta}
        return _message({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params})

    def life_seconds(self) -> float | None:
        """Live until the access token ends; a key has no end but its own, which the feed sees."""
        if self._expires_at is None:
            return None
        return max(0.0, (self._expires_at - datetime.now(UTC)).total_seconds())

    def closing(self) -> bytes:
        """Complete the request, so that the client knows that this end was meant."""
        result = {"resultType": "complete", "_meta": self._meta}
        return _message({"jsonrpc": "2.0", "id": self._id, "result": result})


def _message(message: dict[str, Any]) -> bytes:
    return b"event: message\ndata: " + to_json(message) + b"\n\n"
