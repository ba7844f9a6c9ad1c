"""What the authorization server's endpoints share: open CORS, JSON errors, and a database that is gone (O2, G7)."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

import structlog
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from django.views.decorators.csrf import csrf_exempt

from memford.core.database import RETRY_AFTER_SECONDS

logger = structlog.get_logger(__name__)

View = Callable[..., HttpResponse]

BODY_MAX_BYTES: Final = 65_536
ALLOWED_HEADERS: Final = "Authorization, Content-Type, Accept, MCP-Protocol-Version"
EXPOSED_HEADERS: Final = "WWW-Authenticate, Retry-After"
PREFLIGHT_LIFE_SECONDS: Final = 86_400


def oauth_error(
    error: str, description: str, status: int = 400, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return an error in OAuth's form (RFC 6749, 5.2)."""
    body = {"error": error, "error_description": description}
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store", **(headers or {})})


def open_endpoint(*methods: str) -> Callable[[View], View]:
    """Open a view to clients and to browsers of any origin: it takes no cookie, so there is nothing to forge (O2)."""
    allowed = ", ".join([*methods, "OPTIONS"])

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        def opened(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method == "OPTIONS":
                response = HttpResponse(status=204)
                response["Access-Control-Allow-Methods"] = allowed
                response["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
                response["Access-Control-Max-Age"] = str(PREFLIGHT_LIFE_SECONDS)
            elif request.method in methods:
                response = _answer(view, request, *args, **kwargs)
            else:
                response = oauth_error("method_not_allowed", f"Use {allowed}.", 405, {"Allow": allowed})
            response["Access-Control-Allow-Origin"] = "*"
            response["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
            return response

        return opened

    return decorate


def _answer(view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    try:
        if int(request.META.get("CONTENT_LENGTH") or 0) > BODY_MAX_BYTES:
            raise RequestDataTooBig
        return view(request, *args, **kwargs)
    except RequestDataTooBig:
        return oauth_error("invalid_request", f"A request has at most {BODY_MAX_BYTES} bytes.", 413)
    except (BadRequest, SuspiciousOperation, MultiPartParserError, UnreadablePostError, ValueError) as error:
        logger.info("oauth_request_unreadable", error=type(error).__name__)
        return oauth_error("invalid_request", "The request could not be read. Send it form-encoded, in UTF-8.")
    except (OperationalError, InterfaceError) as error:
        return unavailable(error)


def unavailable(error: Exception) -> HttpResponse:
    """Say that the database cannot answer now; nothing is known of the credential (G7)."""
    logger.warning("unavailable", error=type(error).__name__)
    return oauth_error(
        "temporarily_unavailable",
        "The service cannot reach its database. Repeat the request; nothing you hold was lost.",
        503,
        {"Retry-After": str(RETRY_AFTER_SECONDS)},
    )
