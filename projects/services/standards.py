"""Making and changing the owner's standards; a project that is given one hears of the change."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from accounts.activity import record_activity
from accounts.models import Owner
from memford.core.activity import Tag
from memford.core.changes import announce_change
from memford.core.errors import InvalidArguments, RevisionConflict
from memford.core.limits import limits
from memford.core.principal import Writer
from memford.core.text import check_text
from projects import access
from projects.models import Project, Standard, StandardAssignment, StandardStatus
from projects.services.rules import UNSET, Unset, check_quota, lock_owner, refuse, stored_size


def check_title(title: str) -> str | None:
    """Say why a standard's title is not acceptable."""
    return check_text(title, max_chars=limits().standard_title_max_chars, required=True)


def check_standard_content(content: str) -> str | None:
    """Say why a standard's content is not acceptable."""
    return check_text(content, max_chars=limits().standard_content_max_chars, required=True)


def check_assigned_size(project_ids: list[UUID]) -> None:
    """Refuse what would make a project's standards larger than a page of memory can carry (part 1, T4).

    Raises:
        InvalidArguments: A project's assigned standards hold more code points than allowed.
    """
    most = limits().assigned_standards_max_chars
    totals: dict[UUID, int] = {}
    assigned = StandardAssignment.objects.filter(project_id__in=project_ids).select_related("standard")
    for assignment in assigned.only("project_id", "standard__title", "standard__content"):
        text = len(assignment.standard.title) + len(assignment.standard.content)
        totals[assignment.project_id] = totals.get(assignment.project_id, 0) + text
    if any(total > most for total in totals.values()):
        raise InvalidArguments(
            {"content": f"would take a project beyond the {most} code points that its standards may hold in all"}
        )


@transaction.atomic
def create_standard(*, owner_id: UUID, title: str, content: str, actor: Writer) -> Standard:
    """Put a standard on the owner's shelf.

    Raises:
        InvalidArguments: The title or content is not acceptable.
        QuotaExceeded: The owner's storage is full.
    """
    refuse({"title": check_title(title), "content": check_standard_content(content)})
    owner = lock_owner(owner_id)
    _store(owner, stored_size(title, content))
    standard = Standard.objects.create(
        owner_id=owner_id,
        title=title,
        content=content,
        changed_by_kind=actor.kind,
        changed_by_id=actor.id,
        changed_by_name=actor.name,
    )
    record_activity(owner_id=owner_id, tag=Tag.STANDARD_CREATED, actor=actor, object_id=standard.pk)
    return standard


def _store(owner: Owner, size: int) -> None:
    check_quota(owner, size)
    Owner.objects.filter(pk=owner.pk).update(standards_bytes=F("standards_bytes") + size)


@transaction.atomic
def revise_standard(
    *,
    owner_id: UUID,
    standard_id: UUID | str,
    expected_revision: int,
    actor: Writer,
    title: str | Unset = UNSET,
    content: str | Unset = UNSET,
    status: str | Unset = UNSET,
) -> Standard:
    """Change a standard as a new revision; every project that is given it counts one change (A3, T9).

    Raises:
        InvalidArguments: Nothing to change was given, or a value is not acceptable.
        NotFound: The standard is not this owner's.
        RevisionConflict: Its revision is no longer ``expected_revision``; nothing was changed.
        QuotaExceeded: The owner's storage is full.
    """
    changes = _standard_changes(title, content, status)
    owner = lock_owner(owner_id)
    standard = access.standard_of(owner_id, standard_id)
    _store(owner, stored_size(changes.get("title", standard.title), changes.get("content", standard.content)))
    replaced = standard.as_revision()
    accepted = Standard.objects.filter(owner_id=owner_id, pk=standard.pk, revision=expected_revision).update(
        **changes,
        revision=F("revision") + 1,
        updated_at=Now(),
        changed_by_kind=actor.kind,
        changed_by_id=actor.id,
        changed_by_name=actor.name,
    )
    if not accepted:
        raise RevisionConflict(standard.revision)
    replaced.save(force_insert=True)
    _tell_projects(standard, changes)
    record_activity(
        owner_id=owner_id,
        tag=Tag.STANDARD_EDITED,
        actor=actor,
        object_id=standard.pk,
        revision=standard.revision + 1,
    )
    standard.refresh_from_db()
    return standard


def _tell_projects(standard: Standard, changes: dict[str, Any]) -> None:
    """Count the change in each project that is given the standard, unless no agent can see it."""
    if standard.status == changes.get("status", standard.status) == StandardStatus.INACTIVE:
        return
    project_ids = list(standard.assignments.order_by("project_id").values_list("project_id", flat=True))
    # Locked in one order, so that two edits of different standards never wait for each other in a circle.
    list(Project.objects.select_for_update(no_key=True).filter(pk__in=project_ids).order_by("pk"))
    Project.objects.filter(pk__in=project_ids).update(standards_revision=F("standards_revision") + 1)
    check_assigned_size(project_ids)
    for project_id in project_ids:
        announce_change(project_id)


def _standard_changes(title: str | Unset, content: str | Unset, status: str | Unset) -> dict[str, Any]:
    problems: dict[str, str | None] = {}
    changes: dict[str, Any] = {}
    if not isinstance(title, Unset):
        problems["title"] = check_title(title)
        changes["title"] = title
    if not isinstance(content, Unset):
        problems["content"] = check_standard_content(content)
        changes["content"] = content
    if not isinstance(status, Unset):
        known = StandardStatus.values
        problems["status"] = None if status in known else f"must be one of {', '.join(known)}"
        changes["status"] = status
    refuse(problems)
    if not changes:
        raise InvalidArguments({"content": "give at least one of title, content and status"})
    return changes
