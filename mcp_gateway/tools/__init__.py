"""The three tools of an agent (part 3), and which scope a message needs (T11)."""

from typing import Any, Final

from mcp_gateway.tools import list_projects, read, write
from mcp_gateway.tools.tool import Tool
from memford.core import scopes

TOOLS: Final[dict[str, Tool[Any]]] = {tool.name: tool for tool in (list_projects.TOOL, read.TOOL, write.TOOL)}


def required_scope(method: str, params: dict[str, Any] | None) -> str:
    """Return the scope that a message needs: writing for memory_write, reading for all else (T11)."""
    if method == "tools/call" and params is not None:
        tool = TOOLS.get(name) if isinstance(name := params.get("name"), str) else None
        if tool is not None:
            return tool.scope
    return scopes.READ


__all__ = ["TOOLS", "Tool", "required_scope"]
