"""Connections: the approved links between agents and projects, and the writers of what agents submit."""

from django.apps import AppConfig


class ConnectionsConfig(AppConfig):
    """Project keys now, OAuth connections with the authorization server."""

    name = "mcp_gateway.connections"
