"""What clients discover: the authorization server's metadata, and the resource's (O1, RFC 8414, RFC 9728)."""

from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from mcp_gateway.authorization.audience import audience
from mcp_gateway.authorization.clients import AUTH_METHODS, GRANT_TYPES
from mcp_gateway.authorization.doors import oauth_error, open_endpoint
from memford.core import scopes
from memford.env import env

LIFE_SECONDS: Final = 300


def issuer() -> str:
    """Return the issuer: the public URL, without a slash at its end."""
    return env().public_url


def server_metadata() -> dict[str, Any]:
    """Return the authorization server's metadata; only what works is in it."""
    base = issuer()
    metadata: dict[str, Any] = {
        "issuer": base,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "registration_endpoint": f"{base}/register",
        "revocation_endpoint": f"{base}/revoke",
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANT_TYPES),
        "token_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "revocation_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": scopes.ALL.split(),
        "authorization_response_iss_parameter_supported": True,
        "protected_resources": [audience()],
        "service_documentation": f"{base}/docs",
    }
    if settings.OAUTH2_PROVIDER["CIMD_ENABLED"]:
        metadata["client_id_metadata_document_supported"] = True
    return metadata


def resource_metadata(slash: str = "") -> dict[str, Any]:
    """Return the resource's metadata, in the form of its address that the client was given."""
    return {
        "resource": f"{audience()}{slash}",
        "authorization_servers": [issuer()],
        "scopes_supported": scopes.ALL.split(),
        "bearer_methods_supported": ["header"],
        "resource_name": "Memford",
        "resource_documentation": f"{issuer()}/docs",
    }


@open_endpoint("GET", "HEAD")
def authorization_server(request: HttpRequest) -> HttpResponse:
    """Answer RFC 8414's question, at its own address and at those of older clients."""
    return _cacheable(server_metadata())


@open_endpoint("GET", "HEAD")
def protected_resource(request: HttpRequest, slash: str = "") -> HttpResponse:
    """Answer RFC 9728's question."""
    return _cacheable(resource_metadata(slash))


@open_endpoint("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH")
def nothing_well_known(request: HttpRequest) -> HttpResponse:
    """Answer what else clients probe with a JSON 404, never with a page or a challenge."""
    return oauth_error("not_found", "There is nothing at this address.", 404)


def _cacheable(metadata: dict[str, Any]) -> HttpResponse:
    return JsonResponse(metadata, headers={"Cache-Control": f"public, max-age={LIFE_SECONDS}"})
