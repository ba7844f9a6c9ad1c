"""What stands beside every page of the workspace: the owner's projects; and what the account's page says of them."""

from functools import cached_property
from typing import Any

from django.http import HttpRequest

from accounts.models import Owner
from projects.models import Project
from projects.selectors import Usage, list_projects, usage_of


class Navigation:
    """Asks once for each of these, and only where a template shows it."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @cached_property
    def projects(self) -> list[Project]:
        """Return the signed-in owner's projects, by name; an owner has at most a hundred."""
        owner = self._owner
        if owner is None:
            return []
        found = list_projects(owner_id=owner.pk).only("id", "name")
        return sorted(found, key=lambda project: project.name.casefold())

    @cached_property
    def usage(self) -> Usage | None:
        """Return how much the signed-in owner uses; the account's page shows it, and knows nothing of projects."""
        owner = self._owner
        return None if owner is None else usage_of(owner_id=owner.pk, standards_bytes=owner.standards_bytes)

    @property
    def _owner(self) -> Owner | None:
        user = getattr(self._request, "user", None)
        return user if isinstance(user, Owner) else None


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Context processor: give templates the owner's projects."""
    return {"navigation": Navigation(request)}
