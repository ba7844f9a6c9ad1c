"""Which hosts and origins may call the endpoint, and what browsers are told about it (G5)."""

from typing import Final
from urllib.parse import urlsplit

from mcp_gateway.transport.answers import Answer, refusal
from mcp_gateway.transport.event_answers import EventAnswer
from mcp_gateway.transport.request import HttpRequest
from memford.env import LOOPBACK_HOSTS, env

METHODS: Final = "POST, GET, DELETE"
_ALLOWED_HEADERS: Final = (
    "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID"
)
_EXPOSED_HEADERS: Final = "Mcp-Session-Id, WWW-Authenticate, Retry-After"
_PREFLIGHT_SECONDS: Final = 7_200


def check_host(request: HttpRequest) -> Answer | None:
    """Refuse a request for a host that is not ours: 421, so that rebinding a name to us reads nothing."""
    values = request.headers.get("host", [])
    host = values[0].lower() if len(values) == 1 else ""
    name = host if host.endswith("]") or ":" not in host else host.rpartition(":")[0]
    if name in env().hosts:
        return None
    return refusal(
        421,
        "misdirected_request",
        f"This service is {env().public_url}. Call it by that name, or add the host to MEMFORD_ALLOWED_HOSTS.",
    )


def check_origin(request: HttpRequest) -> Answer | None:
    """Refuse a page of an origin that is not listed; no Origin at all is no browser's page and fine."""
    origin = request.header("origin")
    if origin is None or _is_listed(origin):
        return None
    return refusal(
        403,
        "origin_not_allowed",
        "Pages of this origin may not call Memford. Its operator can list it in MEMFORD_ALLOWED_ORIGINS.",
    )


def _is_listed(origin: str) -> bool:
    if origin in {env().public_url, *env().allowed_origins}:
        return True
    if not env().is_loopback:
        return False
    parts = urlsplit(origin)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return parts.scheme in {"http", "https"} and host in LOOPBACK_HOSTS and not parts.path and "@" not in parts.netloc


def preflight(request: HttpRequest) -> Answer:
    """Answer a browser that asks before it calls; no credential is needed for that."""
    headers = {
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
        "Access-Control-Max-Age": str(_PREFLIGHT_SECONDS),
        "Allow": f"{METHODS}, OPTIONS",
    }
    return Answer(204, headers=headers)


def share_with(request: HttpRequest, answer: Answer | EventAnswer) -> None:
    """Let a listed page read the answer. Called for every answer, refusals too."""
    answer.headers["Vary"] = "Origin"
    origin = request.header("origin")
    if origin is not None and _is_listed(origin):
        answer.headers["Access-Control-Allow-Origin"] = origin
        answer.headers["Access-Control-Expose-Headers"] = _EXPOSED_HEADERS
