"""Lists for owners: bounded pages by position, one statement each."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.db.models.functions import Length, Lower

from accounts.models import Activity
from projects import access
from projects.models import Project, Standard, StandardAssignment, StandardStatus


def list_projects(*, owner_id: UUID) -> QuerySet[Project]:
    """Return the owner's live projects, oldest first; an owner has at most a hundred."""
    return access.live_projects(owner_id).order_by("created_at", "id")


def list_standards(*, owner_id: UUID) -> QuerySet[Standard]:
    """Return the owner's shelf, oldest first."""
    return Standard.objects.filter(owner_id=owner_id).order_by("created_at", "id")


def assignment_of(*, owner_id: UUID, project_id: UUID | str) -> tuple[Project, list[Standard]]:
    """Return a project and the standards it is given, active or not, in the owner's order (A4).

    Both come from one statement, so that the revision is that of the order. Where none is given, the project is as it
    was a moment before: an edit that expects its revision can conflict without need, and overwrites nothing.

    Raises:
        NotFound: The project is not this owner's.
    """
    project = access.project_of(owner_id, project_id)
    given = StandardAssignment.objects.filter(owner_id=owner_id, project=project)
    assignments = list(given.select_related("standard", "project").order_by("position"))
    if assignments:
        project = assignments[0].project
    return project, [assignment.standard for assignment in assignments]


@dataclass(frozen=True, slots=True)
class Titled:
    """A standard by its title, and how much of a project's room it takes."""

    id: UUID
    title: str
    status: str
    chars: int


def titled_standards(*, owner_id: UUID, among: Iterable[UUID] | None = None) -> list[Titled]:
    """Return the owner's standards, or some of them, by title without their texts; active ones first."""
    standards = Standard.objects.filter(owner_id=owner_id)
    if among is not None:
        standards = standards.filter(pk__in=list(among))
    inactive_last = Case(
        When(status=StandardStatus.ACTIVE, then=Value(0)), default=Value(1), output_field=IntegerField()
    )
    found = standards.annotate(chars=Length("title") + Length("content")).order_by(inactive_last, Lower("title"), "id")
    return [Titled(*row) for row in found.values_list("id", "title", "status", "chars")]


def projects_by_standard(*, owner_id: UUID, standard_ids: Iterable[UUID]) -> dict[UUID, list[Project]]:
    """Return the live projects that are given each of these standards, by name, with id and name alone (W2)."""
    found: dict[UUID, list[Project]] = {standard_id: [] for standard_id in standard_ids}
    assigned = StandardAssignment.objects.filter(
        owner_id=owner_id, standard_id__in=list(found), project__deleted_at=None
    ).select_related("project")
    for each in assigned.only("standard_id", "project__name").order_by(Lower("project__name"), "project_id"):
        found[each.standard_id].append(each.project)
    return found


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
    return _lines(owner_id, project.pk, limit, before_id)


def list_account_activity(*, owner_id: UUID, limit: int, before_id: int | None = None) -> list[Activity]:
    """Return what the owner's log holds of no project, newest first, from behind ``before_id`` (A7)."""
    return _lines(owner_id, None, limit, before_id)


def newer_activity(
    *, owner_id: UUID, project_id: UUID | None, since_id: int, but: Iterable[int], limit: int
) -> list[Activity]:
    """Return lines behind ``since_id`` that are none of ``but``, oldest first.

    Lines become visible in the order of their commits, not of their ids. Who names the last few lines that they have
    seen, and asks from before these, misses none that came late.
    """
    lines = Activity.objects.filter(owner_id=owner_id, project_id=project_id, id__gt=since_id)
    return list(lines.exclude(id__in=list(but)).order_by("id")[:limit])


def _lines(owner_id: UUID, project_id: UUID | None, limit: int, before_id: int | None) -> list[Activity]:
    # Ordered by the index as it is, which PostgreSQL would not do by itself where the project is NULL.
    lines = Activity.objects.filter(owner_id=owner_id, project_id=project_id).order_by("project_id", "-id")
    if before_id is not None:
        lines = lines.filter(id__lt=before_id)
    return list(lines[:limit])
