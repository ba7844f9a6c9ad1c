"""Errors as problem documents (RFC 9457), with a stable ``code`` and ``errors`` by field."""

from http import HTTPStatus
from typing import Any, Final

import structlog
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response

from memford.core.database import RETRY_AFTER_SECONDS
from memford.core.errors import MemfordError

logger = structlog.get_logger(__name__)

MEDIA_TYPE: Final = "application/problem+json"

_CODES: Final = {
    exceptions.NotAuthenticated: "signed_out",
    exceptions.AuthenticationFailed: "signed_out",
    exceptions.ParseError: "malformed_body",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
}


def problem(status: int, code: str, detail: str, **more: Any) -> dict[str, Any]:
    """Return a problem document; ``code`` is stable, ``detail`` says what to do next."""
    return {
        "type": f"urn:memford:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **more,
    }


def to_problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """Turn what a view raised into a problem document; ``None`` leaves an unknown failure to Django's own handler."""
    headers: dict[str, str] = {}
    if isinstance(error, MemfordError):
        body = _of_ours(error)
    elif isinstance(error, exceptions.ValidationError):
        body = problem(
            400,
            "invalid_arguments",
            "Some fields are not acceptable. Correct those named here and send it again.",
            errors=_by_field(error.detail),
        )
    elif isinstance(error, exceptions.APIException):
        body, headers = _of_the_framework(error)
    elif isinstance(error, Http404):
        body = problem(404, "not_found", "There is nothing at this address.")
    elif isinstance(error, RequestDataTooBig):
        body = problem(413, "request_too_large", "The body is too large. Send less at once.")
    elif isinstance(error, OperationalError | InterfaceError):
        logger.warning("unavailable", error=type(error).__name__)
        body = problem(503, "temporarily_unavailable", "The service cannot reach its database. Try again in a moment.")
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    else:
        return None
    headers["Cache-Control"] = "no-store"
    return Response(body, status=body["status"], headers=headers, content_type=MEDIA_TYPE)


def _of_ours(error: MemfordError) -> dict[str, Any]:
    data = dict(error.data)
    fields = data.pop("fields", None)
    if isinstance(fields, dict):
        data["errors"] = {name: [problem_] for name, problem_ in fields.items()}
    return problem(error.status, error.code, error.message, **data)


def _of_the_framework(error: exceptions.APIException) -> tuple[dict[str, Any], dict[str, str]]:
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    code = _CODES.get(type(error)) or str(error.get_codes())
    detail = "Sign in first." if code == "signed_out" else str(error.detail)
    return problem(error.status_code, code, detail), headers


def _by_field(detail: Any, prefix: str = "") -> dict[str, list[str]]:
    """Flatten the framework's errors: one list of sentences for each field, nested ones joined by dots."""
    if isinstance(detail, dict):
        found: dict[str, list[str]] = {}
        for name, inner in detail.items():
            found |= _by_field(inner, f"{prefix}.{name}" if prefix else str(name))
        return found
    sentences = [str(item) for item in detail] if isinstance(detail, list) else [str(detail)]
    return {_printable(prefix or "body"): [_printable(sentence) for sentence in sentences]}


def _printable(text: str) -> str:
    """Return what a caller sent as it can be printed: a lone surrogate is no character, and is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


@csrf_exempt
def no_such_route(request: HttpRequest, path: str) -> HttpResponse:
    """Answer an address of the API that is none with a problem document, never with a page."""
    body = problem(404, "not_found", "There is nothing at this address.")
    return JsonResponse(body, status=404, content_type=MEDIA_TYPE)
