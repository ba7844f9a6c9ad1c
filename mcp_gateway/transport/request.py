"""One HTTP request at the endpoint: its headers read without folding, and its body within bounds."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from memford.core.limits import limits

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class BodyTooLarge(Exception):
    """The body is longer than ``request_body_max_bytes``; nothing of it was used."""


class ClientGone(Exception):
    """The client hung up before its request was whole."""


@dataclass(slots=True)
class HttpRequest:
    """The parts of a request that the checks look at."""

    method: str
    path: str
    headers: dict[str, list[str]]

    @classmethod
    def of(cls, scope: Scope) -> "HttpRequest":
        """Read an ASGI scope; header names arrive in lower case."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1").strip())
        return cls(scope["method"], scope["path"], headers)

    def header(self, name: str) -> str | None:
        """Return a header's value; several lines count as one list, as HTTP says."""
        values = self.headers.get(name)
        return None if values is None else ", ".join(values)

    def lines(self) -> Iterable[tuple[str, str]]:
        """Return each header line by itself, so that doubled ones can be seen."""
        return ((name, value) for name, values in self.headers.items() for value in values)

    def accepts(self, *media_types: str) -> bool:
        """Say whether ``Accept`` names one of these types; a missing ``Accept`` takes anything (G4)."""
        accept = self.header("accept")
        if not accept:
            return True
        for member in accept.split(","):
            media_type, *parameters = (part.strip().lower() for part in member.split(";"))
            if media_type in media_types and "q=0" not in parameters:
                return True
        return False

    @property
    def accepts_json(self) -> bool:
        """Whether a plain JSON answer is welcome."""
        return self.accepts("application/json", "application/*", "*/*")

    @property
    def accepts_events(self) -> bool:
        """Whether an event stream is welcome."""
        return self.accepts("text/event-stream", "text/*", "*/*")


async def read_body(request: HttpRequest, receive: Receive) -> bytes:
    """Return the whole body.

    Raises:
        BodyTooLarge: It has more than ``request_body_max_bytes``, announced or sent in chunks. What follows is
            drained up to ``request_drain_max_bytes``, so that a client still sending hears the answer.
        ClientGone: The client hung up.
    """
    most = limits().request_body_max_bytes
    announced = request.header("content-length")
    too_large = announced is not None and announced.isdecimal() and int(announced) > most
    if too_large and "100-continue" in (request.header("expect") or "").lower():
        # The client waits for leave before it sends; it gets the answer instead.
        raise BodyTooLarge
    chunks: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        chunk = event.get("body", b"")
        size += len(chunk)
        if size > most or too_large:
            too_large = True
            chunks.clear()
            if size > limits().request_drain_max_bytes:
                raise BodyTooLarge
        else:
            chunks.append(chunk)
        if not event.get("more_body", False):
            break
    if too_large:
        raise BodyTooLarge
    return b"".join(chunks)
