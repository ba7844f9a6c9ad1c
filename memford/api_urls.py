"""The owner's API, put together from every floor, with its own description (part 6)."""

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularJSONAPIView

from accounts.api import Logout, Me
from mcp_gateway.connections import api as connections
from memford.core.api.description import docs
from memford.core.api.problems import no_such_route

urlpatterns = [
    path("me", Me.as_view()),
    path("logout", Logout.as_view()),
    path("", include("projects.api.urls")),
    path("tokens", connections.Tokens.as_view()),
    path("tokens/<str:token_id>", connections.OneToken.as_view()),
    path("connections", connections.Connections.as_view()),
    path("connections/<str:connection_id>", connections.OneConnection.as_view()),
    path("schema", SpectacularJSONAPIView.as_view()),
    path("docs", docs, name="api-docs"),
    re_path(r"^(?P<path>(?s:.*))$", no_such_route),
]
