"""``memory_list_projects``: the one project that this connection is approved for (T1)."""

from typing import Any, Final

from pydantic import Field

from mcp_gateway.tools.schema import count, record, series
from mcp_gateway.tools.shapes import PROJECT
from mcp_gateway.tools.tool import Arguments, Integer, Tool
from memford.core import scopes
from memford.core.principal import Principal
from projects.selectors import project_summary

LIST_MAX: Final = 100
OFFSET_MAX: Final = 1_000_000


class ListProjectsArguments(Arguments):
    """Which part of the list is wanted."""

    limit: Integer = Field(LIST_MAX, ge=1, le=LIST_MAX, description="How many projects to return at most.")
    offset: Integer = Field(0, ge=0, le=OFFSET_MAX, description="How many projects to leave out at the beginning.")


def list_projects(principal: Principal, arguments: ListProjectsArguments) -> dict[str, Any]:
    """Return the connection's project, unless the offset leaves it out."""
    projects = [project_summary(owner_id=principal.owner_id, project_id=principal.project_id)]
    return {"projects": projects[arguments.offset :][: arguments.limit], "next_offset": None}


TOOL: Final = Tool(
    name="memory_list_projects",
    title="List projects",
    description=(
        "Returns the project whose memory this connection may use, with its id, size and revisions. "
        "Call it first, and check that it is the project you are working on."
    ),
    arguments=ListProjectsArguments,
    output_schema=record(
        None,
        {
            "projects": series("The projects that this connection is authorised for.", PROJECT, most=LIST_MAX),
            "next_offset": count("Where the list goes on; null at its end.", nullable=True),
        },
    ),
    run=list_projects,
    scope=scopes.READ,
)
