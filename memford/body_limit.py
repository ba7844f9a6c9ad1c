"""How much may be sent to Django's part: more is refused while it arrives, before anything of it is kept (part 1).

Django writes a request's body to disk before a view sees it, however long it is and whoever sends it. ``/mcp`` counts
for itself.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from django.conf import settings

from memford.core.api.problems import MEDIA_TYPE, problem
from memford.core.limits import limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

BODY_MAX_BYTES: Final = 2_621_440
IMPORT_PATH: Final = "/api/projects/import"
DETAIL: Final = "The body is too large. Send less at once."
# A problem document that reads as an OAuth error too.
_BODY: Final = json.dumps(
    {**problem(413, "request_too_large", DETAIL), "error": "request_too_large", "error_description": DETAIL}
).encode()


class _TooLarge(Exception):
    pass


async def bounded(application: Application, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    """Run an application on a request whose body is no longer than it may be; answer 413 where it is."""
    # Who shows no login session will be refused anyway, and need not send an archive for that.
    shows_session = f"{settings.SESSION_COOKIE_NAME}=".encode() in _header(scope, b"cookie")
    is_import = scope["path"] == IMPORT_PATH and shows_session
    most = limits().archive_max_bytes if is_import else BODY_MAX_BYTES
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise _TooLarge
        return message

    try:
        if _announced(scope) > most:
            raise _TooLarge
        await application(scope, counted, send)
    except _TooLarge:
        await _refuse(send)


def _announced(scope: MutableMapping[str, Any]) -> int:
    """Return the length that the request announces; what is no number announces nothing."""
    given = _header(scope, b"content-length")
    return int(given) if given.isdigit() and len(given) < 20 else 0


def _header(scope: MutableMapping[str, Any], name: bytes) -> bytes:
    value: bytes = next((value for given, value in scope["headers"] if given == name), b"")
    return value


async def _refuse(send: Send) -> None:
    """Answer, and end the connection: the rest is not read."""
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(_BODY)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": _BODY})
