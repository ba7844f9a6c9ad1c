"""The authorization server's addresses, at the origin's root: some clients call them there unread (O2)."""

from django.urls import path, re_path

from mcp_gateway.authorization import endpoints, metadata, pages

urlpatterns = [
    path("authorize", pages.authorize, name="authorize"),
    path("token", endpoints.token),
    path("register", endpoints.register),
    path("revoke", endpoints.revoke),
    path("docs", pages.docs, name="docs"),
    re_path(
        r"^\.well-known/(?:oauth-authorization-server|openid-configuration)(?:/mcp/?)?$", metadata.authorization_server
    ),
    re_path(r"^\.well-known/oauth-protected-resource(?:/mcp(?P<slash>/?))?$", metadata.protected_resource),
    re_path(r"^(?:mcp/)?\.well-known(?:/.*)?$", metadata.nothing_well_known),
]
