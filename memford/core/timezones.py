"""Times as the person at the browser reads clocks: its page tells the zone by a cookie (W2)."""

import zoneinfo
from collections.abc import Callable
from functools import cache
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

COOKIE: Final = "timezone"


class BrowserTimezone:
    """Middleware that prints times in the browser's zone; in UTC where it tells none that is known."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer with the zone in force; it holds for this request alone."""
        name = request.COOKIES.get(COOKIE, "")
        if name not in _zones():
            return self.get_response(request)
        with timezone.override(zoneinfo.ZoneInfo(name)):
            return self.get_response(request)


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
