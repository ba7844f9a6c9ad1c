"""How much of what part 1 allows an owner uses."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q, Sum

from memford.core.limits import limits
from projects.models import Project


@dataclass(frozen=True, slots=True)
class Usage:
    """Projects and stored text of an owner, each beside how much there may be."""

    projects: int
    projects_max: int
    stored_bytes: int
    stored_max_bytes: int


def usage_of(*, owner_id: UUID, standards_bytes: int) -> Usage:
    """Return what an owner uses, in one statement; ``standards_bytes`` is the owner's own.

    Deleted projects take room until they are erased, and count among the bytes alone.
    """
    found = Project.objects.filter(owner_id=owner_id).aggregate(
        projects=Count("id", filter=Q(deleted_at=None)), stored=Sum("stored_bytes")
    )
    return Usage(
        projects=found["projects"],
        projects_max=limits().projects_per_owner_max,
        stored_bytes=int(found["stored"] or 0) + standards_bytes,
        stored_max_bytes=limits().stored_text_per_owner_max_bytes,
    )
