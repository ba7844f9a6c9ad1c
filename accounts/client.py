"""Where a request came from, as limits and the list of login sessions see it."""

import ipaddress

from django.http import HttpRequest

from memford.env import env

NOWHERE = "0.0.0.0"  # noqa: S104  # a socket file has no address


def client_ip(request: HttpRequest) -> str:
    """Return the peer's address; a header is believed only where an operator named it (G6)."""
    header = env().client_ip_header
    told = request.headers.get(header, "") if header else ""
    for candidate in (told, request.META.get("REMOTE_ADDR") or ""):
        try:
            return str(ipaddress.ip_address(candidate.strip()))
        except ValueError:
            continue
    return NOWHERE
