"""Lists for owners: bounded pages by position, one statement each."""

from uuid import UUID

from django.db.models import QuerySet

from accounts.models import Activity
from projects import access
from projects.models import Project, Standard, StandardAssignment


def list_projects(*, owner_id: UUID) -> QuerySet[Project]:
    """Return the owner's live projects, oldest first; an owner has at most a hundred."""
    return access.live_projects(owner_id).order_by("created_at", "id")


def list_standards(*, owner_id: UUID) -> QuerySet[Standard]:
    """Return the owner's shelf, oldest first."""
    return Standard.objects.filter(owner_id=owner_id).order_by("created_at", "id")


def assigned_standards(*, owner_id: UUID, project_id: UUID | str) -> list[Standard]:
    """Return the standards given to a project, active or not, in the owner's order (A4).

    Raises:
        NotFound: The project is not this owner's.
    """
    project = access.project_of(owner_id, project_id)
    assignments = StandardAssignment.objects.filter(owner_id=owner_id, project=project)
    return [assignment.standard for assignment in assignments.select_related("standard").order_by("position")]


def projects_using(*, owner_id: UUID, standard_id: UUID | str) -> list[Project]:
    """Return the live projects that are given a standard.

    Raises:
        NotFound: The standard is not this owner's.
    """
    standard = access.standard_of(owner_id, standard_id)
    return list(access.live_projects(owner_id).filter(assignments__standard=standard).order_by("created_at", "id"))


def list_activity(
    *, owner_id: UUID, project_id: UUID | str, limit: int, before_id: int | None = None
) -> list[Activity]:
    """Return a project's log, newest first, from behind ``before_id`` (A7).

    Raises:
        NotFound: The project is not this owner's.
    """
    project = access.project_of(owner_id, project_id)
    lines = Activity.objects.filter(owner_id=owner_id, project_id=project.pk).order_by("-id")
    if before_id is not None:
        lines = lines.filter(id__lt=before_id)
    return list(lines[:limit])
