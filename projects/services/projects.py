"""Making, renaming, deleting and restoring projects."""

from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from accounts.activity import record_activity
from memford.core.activity import Tag
from memford.core.changes import announce_change
from memford.core.errors import NotFound
from memford.core.limits import limits
from memford.core.principal import Writer
from memford.core.text import check_text
from projects import access
from projects.models import Project
from projects.services.rules import UNSET, Unset, check_number_of_projects, lock_owner, refuse


def check_name(name: str) -> str | None:
    """Say why a project's name is not acceptable."""
    return check_text(name, max_chars=limits().project_name_max_chars, required=True)


def check_description(description: str) -> str | None:
    """Say why a project's description is not acceptable."""
    return check_text(description, max_chars=limits().project_description_max_chars)


@transaction.atomic
def create_project(*, owner_id: UUID, name: str, actor: Writer, description: str = "") -> Project:
    """Make a project.

    Raises:
        InvalidArguments: The name or description is not acceptable.
        QuotaExceeded: The owner has as many projects as allowed.
    """
    refuse({"name": check_name(name), "description": check_description(description)})
    owner = lock_owner(owner_id)
    check_number_of_projects(owner_id)
    project = Project.objects.create(owner=owner, name=name, description=description)
    record_activity(owner_id=owner_id, project_id=project.pk, tag=Tag.PROJECT_CREATED, actor=actor)
    return project


@transaction.atomic
def change_project(
    *,
    owner_id: UUID,
    project_id: UUID | str,
    actor: Writer,
    name: str | Unset = UNSET,
    description: str | Unset = UNSET,
) -> Project:
    """Change a project's name or description; readers in the middle of paging begin again (T5, T9).

    Raises:
        InvalidArguments: A new value is not acceptable.
        NotFound: The project is not this owner's.
    """
    changes: dict[str, str] = {}
    if not isinstance(name, Unset):
        refuse({"name": check_name(name)})
        changes["name"] = name
    if not isinstance(description, Unset):
        refuse({"description": check_description(description)})
        changes["description"] = description
    project = access.project_of(owner_id, project_id)
    if not changes:
        return project
    raised = {"memory_revision": F("memory_revision") + 1, "edit_revision": F("edit_revision") + 1}
    if not access.live_projects(owner_id).filter(pk=project.pk).update(**changes, **raised):
        raise NotFound
    record_activity(
        owner_id=owner_id, project_id=project.pk, tag=Tag.PROJECT_CHANGED, actor=actor, fields=sorted(changes)
    )
    announce_change(project.pk)
    project.refresh_from_db()
    return project


@transaction.atomic
def delete_project(*, owner_id: UUID, project_id: UUID | str, actor: Writer) -> None:
    """Delete a project for everyone at once; it is kept for restoring until erased (A8).

    Its connections end with it, because every check of a credential asks for a live project.

    Raises:
        NotFound: The project is not this owner's, or was deleted before.
    """
    project = access.project_of(owner_id, project_id)
    if not access.live_projects(owner_id).filter(pk=project.pk).update(deleted_at=timezone.now()):
        raise NotFound
    record_activity(owner_id=owner_id, project_id=project.pk, tag=Tag.PROJECT_DELETED, actor=actor)
    announce_change(project.pk)


@transaction.atomic
def restore_project(*, owner_id: UUID, project_id: UUID, actor: Writer) -> None:
    """Bring a deleted project back, for an operator, while it is not erased (A8).

    Raises:
        NotFound: There is no deleted project of this id and owner, or its erasure has begun.
    """
    lock_owner(owner_id)
    deleted = Project.objects.filter(owner_id=owner_id, pk=project_id, deleted_at__isnull=False, erasure_began_at=None)
    if not deleted.update(deleted_at=None):
        raise NotFound
    record_activity(owner_id=owner_id, project_id=project_id, tag=Tag.PROJECT_RESTORED, actor=actor)
