"""Streamable HTTP: checks, JSON-RPC exchange, MCP sessions, event streams and the change feed."""

from django.apps import AppConfig


class TransportConfig(AppConfig):
    """Holds the table of MCP sessions."""

    name = "mcp_gateway.transport"
