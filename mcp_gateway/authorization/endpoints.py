"""``/token``, ``/revoke`` and ``/register``: what programs call (O2, O3, O7, O8)."""

from django.http import HttpRequest, HttpResponse, JsonResponse

from mcp_gateway.authorization.clients import RegistrationRefused, register_client
from mcp_gateway.authorization.doors import oauth_error, open_endpoint
from mcp_gateway.authorization.engine import engine
from memford.core.strict_json import read_json


@open_endpoint("POST")
def token(request: HttpRequest) -> HttpResponse:
    """Exchange a code, or refresh (RFC 6749, 4.1.3 and 6)."""
    _, _, body, status = engine().create_token_response(request)
    return _answer(body, status)


@open_endpoint("POST")
def revoke(request: HttpRequest) -> HttpResponse:
    """End a connection's tokens (RFC 7009)."""
    _, _, body, status = engine().create_revocation_response(request)
    return _answer(body, status)


def _answer(body: str | None, status: int) -> HttpResponse:
    """Answer with our own headers; the library's name the resource server's scheme."""
    response = HttpResponse(body or "", status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    response["Pragma"] = "no-cache"
    if status == 401:
        # The scheme in which a client can authenticate (RFC 6749, 5.2).
        response["WWW-Authenticate"] = 'Basic realm="memford", charset="UTF-8"'
    return response


@open_endpoint("POST")
def register(request: HttpRequest) -> HttpResponse:
    """Register a client (RFC 7591)."""
    try:
        metadata = read_json(request.body)
    except ValueError:
        return oauth_error("invalid_client_metadata", "Send one JSON object in UTF-8.")
    if not isinstance(metadata, dict):
        return oauth_error("invalid_client_metadata", "Send one JSON object.")
    try:
        registered = register_client(metadata)
    except RegistrationRefused as refused:
        return oauth_error(refused.error, refused.description)
    return JsonResponse(registered.answer, status=201, headers={"Cache-Control": "no-store", "Pragma": "no-cache"})
