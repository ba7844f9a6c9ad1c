"""Pages for what went wrong: readable, and without a word of why inside."""

import sys

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from accounts.workspace import typed_again

RETRY_AFTER_SECONDS = 5


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 where the database cannot, and 500 for anything else; nothing is asked of the database for it."""
    if isinstance(sys.exception(), OperationalError | InterfaceError):
        response = HttpResponse(render_to_string("503.html"), status=503)
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    else:
        response = HttpResponse(render_to_string("500.html"), status=500)
    response["Cache-Control"] = "no-store"
    return response


def form_expired(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without its token: the page was old, cookies are off, or another site sent it (W4).

    What was typed into a page of the workspace is shown again; only a page of ours can name our Origin.
    """
    match = request.resolver_match
    if request.headers.get("Origin") == settings.PUBLIC_URL and match and hasattr(match.func, "is_workspace_page"):
        return typed_again(request, "old_page", status=403)
    response = HttpResponse(render_to_string("403_csrf.html"), status=403)
    response["Cache-Control"] = "no-store"
    return response
