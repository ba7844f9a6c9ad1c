"""Who calls the owner's API: the browser's login session, and for a change the page's own origin (part 6).

No CSRF token is asked for, and none is needed: the session's cookie is SameSite=Lax, so no other site's form or script
sends it with anything but a top-level GET; and whatever changes something must carry an ``Origin`` that equals the
public one, which a browser sets by itself with every such request and no page can forge. A caller that sends none is no
page of ours. Bearer tokens and keys are not looked at: MCP credentials never open this API.
"""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request


class OriginRequired(PermissionDenied):
    """A change without the public origin."""

    default_code = "origin_required"
    default_detail = f"A change must come from a page of {settings.PUBLIC_URL}, with that as its Origin."


class OwnerSession(BaseAuthentication):
    """Takes the login session that Django's middleware found."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """Return the signed-in owner, or nobody.

        Raises:
            OriginRequired: The method changes something and the Origin is not ours.
        """
        user = getattr(request._request, "user", None)
        if user is None or not user.is_active:
            return None
        if request.method not in SAFE_METHODS and request.headers.get("Origin") != settings.PUBLIC_URL:
            raise OriginRequired
        return user, None

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme of a 401; it makes no browser ask for a password."""
        return 'Session realm="memford"'


class OwnerSessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the description of the API names the login session."""

    target_class = OwnerSession
    name = "loginSession"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the scheme: the session's cookie."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
