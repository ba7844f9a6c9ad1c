"""What stands beside every page of the workspace: the owner's projects."""

from functools import cached_property
from typing import Any

from django.http import HttpRequest

from accounts.models import Owner
from projects.models import Project
from projects.selectors import list_projects


class Navigation:
    """Asks for the projects once, and only where a template shows them."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @cached_property
    def projects(self) -> list[Project]:
        """Return the signed-in owner's projects, by name; an owner has at most a hundred."""
        user = getattr(self._request, "user", None)
        if not isinstance(user, Owner):
            return []
        found = list_projects(owner_id=user.pk).only("id", "name")
        return sorted(found, key=lambda project: project.name.casefold())


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Context processor: give templates the owner's projects."""
    return {"navigation": Navigation(request)}
