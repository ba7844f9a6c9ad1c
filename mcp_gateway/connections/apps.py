"""Connections: the approved links between agents and projects, and the writers of what agents submit."""

from django.apps import AppConfig


class ConnectionsConfig(AppConfig):
    """Project keys now, OAuth connections with the authorization server."""

    name = "mcp_gateway.connections"

    def ready(self) -> None:
        """Say what an account's export holds of them."""
        from mcp_gateway.connections.taking_along import connections_of
        from projects.archive import on_account_export

        on_account_export(connections_of)
