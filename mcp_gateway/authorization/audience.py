"""The one audience of every token: this service's own resource (O4, RFC 8707)."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from memford.env import env

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def audience() -> str:
    """Return the resource that tokens are for, as the metadata advertise it."""
    return f"{env().public_url}/mcp"


def is_audience(resource: str) -> bool:
    """Say whether a client's ``resource`` means the one audience.

    That is the advertised one or its bare origin; scheme and host in any case, the default port and one trailing
    slash ignored.
    """
    own = urlsplit(env().public_url)
    try:
        parts = urlsplit(resource)
        port = parts.port
    except ValueError:
        return False
    if "?" in resource or "#" in resource or "@" in parts.netloc:
        return False
    same_place = (
        parts.scheme == own.scheme
        and parts.hostname == own.hostname
        and (port or _DEFAULT_PORTS.get(parts.scheme)) == (own.port or _DEFAULT_PORTS.get(own.scheme))
    )
    return same_place and parts.path.removesuffix("/") in {"", "/mcp"}


def foreign_resource(resources: Sequence[str]) -> str | None:
    """Return the first resource that is not ours; none at all implies ours."""
    return next((resource for resource in resources if not is_audience(resource)), None)
