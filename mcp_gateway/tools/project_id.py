"""The argument that every call names its project by, and the check that it is this connection's (T8)."""

from typing import Any, Final
from uuid import UUID

from pydantic import Field

from memford.core.errors import ProjectNotAvailable
from memford.core.principal import Principal

PROJECT_ID_MAX_CHARS: Final = 200
PROJECT_ID: Final[Any] = Field(
    max_length=PROJECT_ID_MAX_CHARS,
    description="The project's id, as memory_list_projects returns it.",
)


def own_project(principal: Principal, project_id: str) -> UUID:
    """Return the connection's own project if that is what ``project_id`` names.

    No other id reaches the database at all, so foreign, misspelt and invented ones cannot differ.

    Raises:
        ProjectNotAvailable: It names anything else.
    """
    if project_id != str(principal.project_id):
        raise ProjectNotAvailable
    return principal.project_id
