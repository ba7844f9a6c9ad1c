"""From a body's bytes to JSON-RPC messages, refusing what no client may send (G3)."""

import json
import math
from dataclasses import dataclass
from typing import Any, Final

from mcp_types import INVALID_REQUEST, PARSE_ERROR

from memford.core.limits import limits
from memford.core.strict_json import refuse_constant

MAX_INTEGER_ID: Final = 2**53


@dataclass(frozen=True, slots=True)
class BadMessage(Exception):
    """The body is no message that may be sent here; answered with 400 and a JSON-RPC error."""

    code: int
    message: str
    id: str | int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A call that waits for its answer."""

    id: str | int
    method: str
    params: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that waits for nothing."""

    method: str
    params: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Response:
    """A client's answer to a server's request. Memford never asks, so it is taken and dropped."""


Message = Request | Notification | Response


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value


def parse(body: bytes) -> Any:
    """Return the body as JSON values.

    The standard library reads it, because it keeps a lone surrogate until the field that holds it can be named
    (T10), and refuses NaN and Infinity when told to.

    Raises:
        BadMessage: It is no JSON in UTF-8.
    """
    try:
        return json.loads(body.decode("utf-8"), parse_constant=refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        # ValueError covers bad UTF-8, bad JSON and integers of absurd length.
        raise BadMessage(PARSE_ERROR, "The body is not valid JSON in UTF-8.") from None


def read_message(value: Any) -> Message:
    """Return one JSON value as a message.

    Raises:
        BadMessage: It is no JSON-RPC 2.0 message.
    """
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise BadMessage(INVALID_REQUEST, 'Send a JSON-RPC 2.0 object with "jsonrpc": "2.0".')
    if "method" not in value:
        if "id" in value and ("result" in value) != ("error" in value):
            return Response()
        raise BadMessage(INVALID_REQUEST, "The message has no method.", _readable_id(value))
    method, params = value["method"], value.get("params")
    message_id = _readable_id(value)
    if "id" in value and message_id is None:
        raise BadMessage(INVALID_REQUEST, "The id must be a string or an integer within 2^53 of zero.")
    if not isinstance(method, str):
        raise BadMessage(INVALID_REQUEST, "The method must be a string.", message_id)
    if params is not None and not isinstance(params, dict):
        raise BadMessage(INVALID_REQUEST, "The params must be an object.", message_id)
    return Notification(method, params) if message_id is None else Request(message_id, method, params)


def _readable_id(value: dict[str, Any]) -> str | int | None:
    message_id = value.get("id")
    if isinstance(message_id, str):
        return message_id
    if isinstance(message_id, int) and not isinstance(message_id, bool) and abs(message_id) <= MAX_INTEGER_ID:
        return message_id
    return None


def read_batch(values: list[Any]) -> list[Message]:
    """Return a batch's messages, or refuse it as a whole: nothing of a bad batch is executed (G3).

    Raises:
        BadMessage: It is empty, too long, holds ``initialize``, or holds something that is no message.
    """
    if not values:
        raise BadMessage(INVALID_REQUEST, "The batch is empty.")
    most = limits().batch_max_messages
    if len(values) > most:
        raise BadMessage(INVALID_REQUEST, f"The batch has {len(values)} messages; at most {most} are accepted.")
    messages = [read_message(value) for value in values]
    if any(isinstance(message, Request) and message.method == "initialize" for message in messages):
        raise BadMessage(INVALID_REQUEST, "initialize must be sent alone.")
    return messages
