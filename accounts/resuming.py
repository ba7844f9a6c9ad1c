"""Where an owner wanted to go who had forgotten the password: kept in their browser's session, never in a mail (W1)."""

import time
from typing import Final

from allauth.account.internal.flows.login import get_authentication_records
from django.conf import settings
from django.http import HttpRequest

GOAL_MAX_CHARS: Final = 8_192

_KEY: Final = "goal_after_reset"


def remember_goal(request: HttpRequest, url: str | None) -> None:
    """Keep where to go on once the password is reset, for as long as the mail's link works; it was found to be ours."""
    if url and len(url) <= GOAL_MAX_CHARS:
        request.session[_KEY] = [url, time.time() + settings.PASSWORD_RESET_TIMEOUT]


def take_goal(request: HttpRequest) -> str | None:
    """Return that, once, to who has just come in by resetting the password in the same browser."""
    steps = get_authentication_records(request, request.user)
    if not any(step.get("method") == "password_reset" for step in steps):
        return None
    url, until = request.session.pop(_KEY, (None, 0))
    return url if time.time() < until else None
