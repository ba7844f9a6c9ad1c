"""Where each address leads, but for ``/mcp``, which :mod:`memford.asgi` answers itself."""

from django.urls import include, path

from memford import health

handler500 = "memford.failures.server_error"

urlpatterns = [
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("", include("accounts.urls")),
    path("", include("projects.pages.urls")),
    path("", include("mcp_gateway.connections.urls")),
    path("api/", include("memford.api_urls")),
    path("", include("mcp_gateway.authorization.urls")),
]
