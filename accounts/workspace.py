"""What every page of the workspace begins with: who is signed in, and that nothing typed gets lost (W3)."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

import structlog
from django.contrib.auth.views import redirect_to_login
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_cache_control, patch_vary_headers

from accounts.models import Owner
from memford.core.database import RETRY_AFTER_SECONDS
from memford.core.errors import MemfordError, NotFound

logger = structlog.get_logger(__name__)

# How a field of a form is shown again; every other one is kept out of sight.
_LONG: Final = {"content": "Text", "description": "Description"}
_SHORT: Final = {"title": "Title", "name": "Name", "source": "Source"}

Page = Callable[..., HttpResponseBase]


def workspace_page(*methods: str) -> Callable[[Page], Page]:
    """Make a view one of the workspace's: it is given the request and its owner, and whatever the address holds.

    A stranger is led to sign-in; what a stranger sent is shown again instead, to be sent once more (W3). Pages are
    the owner's own, so only their browser keeps them, and only to go back.

    Raises:
        Http404: The page is about something that is not this owner's.
    """
    allowed = ["HEAD", *methods] if "GET" in methods else list(methods)

    def decorate(view: Page) -> Page:
        @wraps(view)
        def page(request: HttpRequest, **address: Any) -> HttpResponseBase:
            if request.method not in allowed:
                return HttpResponseNotAllowed(allowed)
            try:
                return _private(_answer(view, request, address))
            except NotFound:
                raise Http404 from None
            except MemfordError as error:
                return _private(render(request, "refused.html", {"message": error.message}, status=error.status))
            except (OperationalError, InterfaceError) as error:
                if request.method != "POST":
                    raise
                logger.warning("unavailable", error=type(error).__name__)
                return _private(typed_again(request, "away", status=503))

        page.is_workspace_page, page.methods = True, allowed  # type: ignore[attr-defined]
        return page

    return decorate


def _answer(view: Page, request: HttpRequest, address: Mapping[str, Any]) -> HttpResponseBase:
    owner = request.user
    if isinstance(owner, Owner):
        return view(request, owner, **address)
    if request.method == "POST":
        return typed_again(request, "signed_out", status=401)
    if is_part(request):
        # A part of a page that is open in a browser where somebody signed out meanwhile.
        return HttpResponse(status=401)
    return redirect_to_login(request.get_full_path())


def is_part(request: HttpRequest) -> bool:
    """Whether htmx asks, for a part of the page that it stands on."""
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-History-Restore-Request") != "true"


def typed_again(request: HttpRequest, why: str, *, status: int) -> HttpResponse:
    """Show what was sent to a page, to be sent again: it was not stored. Nothing is asked of the database.

    Only for a form of our own: the caller has checked its token, or that the request's Origin is ours.
    """
    fields = [(name, value) for name, value in request.POST.items() if name != "csrfmiddlewaretoken"]
    context = {
        "why": why,
        "address": request.get_full_path(),
        "long": [(name, _LONG[name], value) for name, value in fields if name in _LONG],
        "short": [(name, _SHORT[name], value) for name, value in fields if name in _SHORT],
        "hidden": [(name, value) for name, value in fields if name not in _LONG and name not in _SHORT],
        "token": get_token(request),
    }
    response = HttpResponse(render_to_string("typed_again.html", context), status=status)
    if status == 503:
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _private(response: HttpResponseBase) -> HttpResponseBase:
    """Keep an answer out of shared caches, and a part of a page apart from the page at its address."""
    patch_cache_control(response, private=True, no_cache=True)
    patch_vary_headers(response, ["Cookie", "HX-Request"])
    return response


def typed_text(given: str, *, stored: str | None = None) -> str:
    """Return the text that a form's field stands for.

    A browser sends every line break as CRLF, whatever it was (HTML, form submission), so a text comes with LF, and with
    CRLF where ``stored``, the text that was edited, had that; one that nobody changed comes exactly as it was stored.
    """
    text = given.replace("\r\n", "\n")
    if stored is None:
        return text
    if text == stored.replace("\r\n", "\n").replace("\r", "\n"):
        return stored
    return given if "\r\n" in stored else text


def typed_line(given: str, *, stored: str) -> str:
    """Return the line that a form's field stands for; one that nobody changed comes exactly as it was stored.

    A browser's line of text has no line breaks; one that a program stored may have.
    """
    return stored if given == stored.replace("\r", "").replace("\n", "") else given
