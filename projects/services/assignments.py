"""Which standards a project is given, and in which order."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import F

from accounts.activity import record_activity
from memford.core.activity import Tag
from memford.core.changes import announce_change
from memford.core.errors import InvalidArguments, NotFound, RevisionConflict
from memford.core.limits import limits
from memford.core.principal import Writer
from projects import access
from projects.models import Project, Standard, StandardAssignment
from projects.services.rules import lock_owner
from projects.services.standards import check_assigned_size


@transaction.atomic
def assign_standards(
    *,
    owner_id: UUID,
    project_id: UUID | str,
    expected_revision: int,
    standard_ids: Sequence[UUID],
    actor: Writer,
) -> Project:
    """Give a project exactly these standards in this order (A4).

    Raises:
        InvalidArguments: A standard is named twice or is not this owner's, or they are too many or too long.
        NotFound: The project is not this owner's.
        RevisionConflict: The assignment's revision is no longer ``expected_revision``; nothing was changed.
    """
    lock_owner(owner_id)
    project = access.project_of(owner_id, project_id)
    _check_standards(owner_id, standard_ids)
    accepted = (
        access.live_projects(owner_id)
        .filter(pk=project.pk, assignment_revision=expected_revision)
        .update(assignment_revision=F("assignment_revision") + 1, standards_revision=F("standards_revision") + 1)
    )
    if not accepted:
        project = access.project_of(owner_id, project_id)
        raise RevisionConflict(project.assignment_revision)
    StandardAssignment.objects.filter(owner_id=owner_id, project=project).delete()
    StandardAssignment.objects.bulk_create(
        StandardAssignment(owner_id=owner_id, project=project, standard_id=standard_id, position=position)
        for position, standard_id in enumerate(standard_ids)
    )
    check_assigned_size([project.pk])
    record_activity(
        owner_id=owner_id,
        project_id=project.pk,
        tag=Tag.STANDARDS_ASSIGNED,
        actor=actor,
        count=len(standard_ids),
    )
    announce_change(project.pk)
    project.refresh_from_db()
    return project


def _check_standards(owner_id: UUID, standard_ids: Sequence[UUID]) -> None:
    most = limits().assigned_standards_max
    if len(standard_ids) > most:
        raise InvalidArguments({"standard_ids": f"names {len(standard_ids)} standards; at most {most} are accepted"})
    if len(set(standard_ids)) != len(standard_ids):
        raise InvalidArguments({"standard_ids": "names a standard twice"})
    if Standard.objects.filter(owner_id=owner_id, pk__in=standard_ids).count() != len(standard_ids):
        raise NotFound("One of these standards does not exist. Look them up again on the shelf.")
