"""What leaves the endpoint: JSON answers, JSON-RPC errors, challenges, and the single SSE event of G4."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from mcp_gateway.transport.request import Send
from memford.core import scopes
from memford.core.database import RETRY_AFTER_SECONDS
from memford.env import env

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"


@dataclass(slots=True)
class Answer:
    """An HTTP answer; ``body`` is printed as JSON, ``None`` leaves it empty."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def to_json(value: Any) -> bytes:
    """Print JSON in UTF-8; text that is no Unicode (an echoed lone surrogate) is escaped as it came."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def rpc_error(code: int, message: str, *, id: Any = None, data: Any = None) -> dict[str, Any]:  # noqa: A002
    """Return a JSON-RPC error object; ``id`` is null where the request's could not be read."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def refusal(status: int, code: str, description: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Refuse a request before it is read as JSON-RPC, in OAuth's words for errors (RFC 6750)."""
    return Answer(status, {"error": code, "error_description": description}, dict(headers or {}))


def unauthorized(path: str, *, presented: bool, description: str) -> Answer:
    """Challenge for a credential (G7, RFC 6750, RFC 9728); ``presented`` says that there was one, and it is bad."""
    error = f', error="invalid_token", error_description="{description}"' if presented else ""
    code = "invalid_token" if presented else "unauthorized"
    return refusal(401, code, description, {"WWW-Authenticate": f"{_challenge(path)}{error}"})


def insufficient_scope(path: str) -> Answer:
    """Refuse a call whose scope the connection was not given (G7, T11)."""
    description = "This connection may only read. Ask the project's owner for one that may write."
    header = f'{_challenge(path)}, error="insufficient_scope", error_description="{description}"'
    return refusal(403, "insufficient_scope", description, {"WWW-Authenticate": header})


def _challenge(path: str) -> str:
    """Point to the metadata of the form of the address that was called, with or without a slash (O1)."""
    metadata = f"{env().public_url}/.well-known/oauth-protected-resource{path}"
    return f'Bearer resource_metadata="{metadata}", scope="{scopes.ALL}"'


def unavailable() -> Answer:
    """Say that the database cannot answer now; nothing is known of the credential or the call (G7)."""
    return refusal(
        503,
        "temporarily_unavailable",
        "The service cannot reach its database. Repeat the call, a write with the same checkpoint_id.",
        {"Retry-After": str(RETRY_AFTER_SECONDS)},
    )


async def send_answer(send: Send, answer: Answer, *, as_event: bool = False) -> None:
    """Write an answer, as one SSE event for a client that takes nothing else (G4)."""
    headers = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in answer.headers.items()]
    headers.append((b"cache-control", b"no-store"))
    body = b""
    if answer.body is not None:
        body = to_json(answer.body)
        if as_event:
            body = b"event: message\ndata: " + body + b"\n\n"
        headers.append((b"content-type", (EVENTS if as_event else JSON).encode()))
    if answer.status != 204:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
