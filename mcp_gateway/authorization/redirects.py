"""Where a browser may return to: which redirect URIs can be registered, and which one is a registered one (O3).

Deliberately wider than MCP's https or loopback: desktop clients really use private-use schemes (RFC 8252).
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import SplitResult, urlsplit

URI_MAX_CHARS: Final = 2_000
URIS_MAX: Final = 50

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
"""Any port of these is accepted, but none stands for another (RFC 8252, 7.3)."""

REFUSED_SCHEMES: Final = frozenset(
    {"javascript", "data", "file", "vbscript", "blob", "about", "ws", "wss", "ftp", "view-source", "filesystem"}
)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.\-]*")
# A name or an address as browsers and policies write it, and a port; what is not ASCII comes as punycode.
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._\-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
# RFC 3986's characters without "#"; all else must come percent-encoded.
_CHARACTERS: Final = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")


def problem_of(uri: object) -> str | None:
    """Say why a redirect URI cannot be registered, or return ``None``."""
    if not isinstance(uri, str) or not uri:
        return "is not a text"
    if len(uri) > URI_MAX_CHARS:
        return f"has more than {URI_MAX_CHARS} characters"
    if "#" in uri:
        return "has a fragment"
    if _CHARACTERS.fullmatch(uri) is None:
        return "has characters that a URI cannot have; percent-encode them"
    parts = _split(uri)
    if parts is None:
        return "is not an absolute URI"
    return _problem_of_scheme(parts)


def _problem_of_scheme(parts: SplitResult) -> str | None:
    if parts.scheme in REFUSED_SCHEMES:
        return f"has the scheme {parts.scheme}, which no client may be returned to"
    if parts.scheme in {"http", "https"}:
        if not parts.hostname:
            return "has no host"
        if _HOST.fullmatch(parts.netloc.rpartition("@")[2]) is None:
            return "has a host that is no name and no address"
        if parts.username is not None or parts.password is not None:
            return "has a user in it"
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            return "is plain http on a host that is not this computer; use https"
    elif not (parts.netloc or parts.path):
        return "has nothing behind its scheme"
    return None


def _split(uri: str) -> SplitResult | None:
    """Take a URI apart, or return ``None`` where it has no scheme or a port that is none."""
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return parts if _SCHEME.fullmatch(parts.scheme) else None


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    """Say whether ``uri`` is one of those registered, letter by letter, but for the port of a loopback address."""
    candidates = list(registered)
    if uri in candidates:
        return True
    asked = _without_loopback_port(uri)
    return asked is not None and any(asked == _without_loopback_port(candidate) for candidate in candidates)


def _without_loopback_port(uri: str) -> tuple[str, str] | None:
    """Return host and everything behind the port of a loopback URI, ``None`` for any other."""
    parts = _split(uri) if problem_of(uri) is None else None
    if parts is None or parts.scheme != "http" or parts.hostname not in LOOPBACK:
        return None
    return parts.hostname, uri.split(parts.netloc, 1)[1]


def origin_of(uri: str) -> str:
    """Return what a Content-Security-Policy calls the place that ``uri`` leads to (W4)."""
    parts = urlsplit(uri)
    if parts.scheme not in {"http", "https"}:
        return f"{parts.scheme}:"
    # A policy has no words for an IPv6 address; the scheme stands in for it.
    return f"{parts.scheme}://{parts.netloc}" if "[" not in parts.netloc else f"{parts.scheme}:"


def place_of(uri: str) -> str:
    """Return where a browser that is sent to ``uri`` ends up, for people to read (O5)."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


def is_on_this_computer(uri: str) -> bool:
    """Whether a program on the owner's own computer takes the browser's return."""
    parts = urlsplit(uri)
    return parts.scheme not in {"http", "https"} or parts.hostname in LOOPBACK
