"""The OAuth authorization server: its tables now, its endpoints with their own issue."""

from django.apps import AppConfig


class AuthorizationConfig(AppConfig):
    """Our models in the places that django-oauth-toolkit lets one swap."""

    name = "mcp_gateway.authorization"
