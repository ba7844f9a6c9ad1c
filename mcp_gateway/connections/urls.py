"""The addresses of connecting and access in the workspace."""

from django.urls import path

from mcp_gateway.connections import pages

urlpatterns = [
    path("projects/<uuid:project_id>/connect", pages.connect, name="connect"),
    path("projects/<uuid:project_id>/connect/calls", pages.calls, name="connect-calls"),
    path("projects/<uuid:project_id>/access", pages.access, name="access"),
    # A form's own address: where sending it fails, a browser goes back to the page with all that was typed.
    path("projects/<uuid:project_id>/access/keys", pages.new_key, name="key-new"),
    path("projects/<uuid:project_id>/access/<uuid:connection_id>/revoke", pages.revoke, name="revoke"),
]
