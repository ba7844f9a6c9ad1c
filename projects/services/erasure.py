"""Erasing deleted projects for good, lot by lot, as ``memford_system`` (A8, P3).

A project that is due is marked first; from then on it cannot be restored, so nobody is ever given half of one. Each lot
is a transaction of its own that holds the project's row, so of two runs at once one works and the other goes on to the
next project. What was cut off is taken up by the next run. Live traffic never waits: no call finds a deleted project.
"""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import Error, connections, transaction
from django.db.models import ForeignObject, Model

from accounts.activity import record_activity
from memford.core.activity import Tag
from memford.core.database import SYSTEM
from memford.core.limits import limits
from memford.core.principal import Writer
from projects.models import Project
from projects.sql import fetch_row

log = structlog.get_logger(__name__)

ROWS_AT_ONCE: Final = 1_000
# Rows of upper floors take others with them: a connection its tokens and sessions.
REFERRING_AT_ONCE: Final = 100

KEPT_TAGS: Final = [
    Tag.PROJECT_CREATED,
    Tag.PROJECT_IMPORTED,
    Tag.PROJECT_DELETED,
    Tag.PROJECT_RESTORED,
    Tag.PROJECT_ERASED,
]
"""What the owner's log keeps of an erased project: that it was, who made and ended it, and when."""

_BEGIN: Final = """
UPDATE projects_project SET erasure_began_at = coalesce(erasure_began_at, now())
 WHERE id = (SELECT id FROM projects_project
              WHERE deleted_at <= now() - make_interval(secs => %(retention)s) AND id <> ALL(%(tried)s)
              ORDER BY deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
"""

_BEGIN_ALL: Final = """
UPDATE projects_project
   SET deleted_at = coalesce(deleted_at, now()), erasure_began_at = coalesce(erasure_began_at, now())
 WHERE owner_id = %(owner)s
"""

_HOLD: Final = """
SELECT owner_id FROM projects_project
 WHERE id = %(project)s AND erasure_began_at IS NOT NULL FOR UPDATE SKIP LOCKED
"""

# In an order in which nothing points to what is gone.
_PROJECT_ROWS: Final = (
    """DELETE FROM projects_noterevision WHERE id IN (
           SELECT id FROM projects_noterevision WHERE project_id = %(project)s LIMIT %(most)s)""",
    """DELETE FROM projects_note WHERE id IN (
           SELECT id FROM projects_note WHERE owner_id = %(owner)s AND project_id = %(project)s LIMIT %(most)s)""",
    """DELETE FROM projects_standardassignment WHERE id IN (
           SELECT id FROM projects_standardassignment WHERE project_id = %(project)s LIMIT %(most)s)""",
    """DELETE FROM accounts_activity WHERE id IN (
           SELECT id FROM accounts_activity
            WHERE owner_id = %(owner)s AND project_id = %(project)s AND tag <> ALL(%(kept)s) LIMIT %(most)s)""",
)
_SHELF_ROWS: Final = (
    """DELETE FROM projects_standardrevision WHERE id IN (
           SELECT r.id FROM projects_standardrevision r JOIN projects_standard s ON s.id = r.standard_id
            WHERE s.owner_id = %(owner)s LIMIT %(most)s)""",
    """DELETE FROM projects_standard WHERE id IN (
           SELECT id FROM projects_standard WHERE owner_id = %(owner)s LIMIT %(most)s)""",
)

type Field = ForeignObject[Any, Any]
Step = Callable[[UUID, UUID, int], int]


def erase_deleted_projects(*, at_once: int = ROWS_AT_ONCE) -> int:
    """Erase every project that was deleted longer ago than ``deleted_project_retention_seconds``; return how many.

    With a project go its notes, revisions, assignments, connections with their tokens and sessions, and its lines of
    activity but those of :data:`KEPT_TAGS`; its storage is the owner's again.
    """
    erased = 0
    tried: list[UUID] = []
    while (project_id := _begin_next(tried)) is not None:
        tried.append(project_id)
        erased += _erase_or_log(project_id, at_once)
    return erased


def erase_everything_of(owner_id: UUID, *, at_once: int = ROWS_AT_ONCE) -> bool:
    """Erase all projects and standards of an account that is being erased; say whether nothing is left."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(_BEGIN_ALL, {"owner": owner_id})
    projects = Project.objects.using(SYSTEM).filter(owner_id=owner_id)
    unfinished = [pk for pk in projects.values_list("pk", flat=True) if not _erase_or_log(pk, at_once)]
    if unfinished:
        return False
    for statement in _SHELF_ROWS:
        while True:
            with connections[SYSTEM].cursor() as cursor:
                cursor.execute(statement, {"owner": owner_id, "most": at_once})
                if cursor.rowcount < at_once:
                    break
    return True


def _begin_next(tried: list[UUID]) -> UUID | None:
    """Mark the project that is due the longest, which then cannot be restored any more."""
    parameters = {"retention": limits().deleted_project_retention_seconds, "tried": tried}
    row = fetch_row(_BEGIN, parameters, using=SYSTEM)
    return None if row is None else row[0]


def _erase_or_log(project_id: UUID, at_once: int) -> bool:
    """Erase one project, and keep what goes wrong with it from the others; the next run tries again."""
    try:
        return _erase(project_id, at_once)
    except Error:
        log.exception("project_not_erased", project_id=str(project_id))
        return False


def _erase(project_id: UUID, at_once: int) -> bool:
    for step in (*_referring_steps(), *map(_own_step, _PROJECT_ROWS)):
        while True:
            with transaction.atomic(using=SYSTEM):
                owner_id = _hold(project_id)
                if owner_id is None:
                    return False
                removed = step(project_id, owner_id, at_once)
            if removed == 0:
                break
    return _finish(project_id)


def _hold(project_id: UUID) -> UUID | None:
    """Lock a project that is being erased and return its owner; ``None`` where another run holds it, or it is gone."""
    row = fetch_row(_HOLD, {"project": project_id}, using=SYSTEM)
    return None if row is None else row[0]


def _finish(project_id: UUID) -> bool:
    """Remove the project's own row. Whatever still points to it came meanwhile, and the next run removes that."""
    with transaction.atomic(using=SYSTEM):
        owner_id = _hold(project_id)
        if owner_id is None:
            return False
        record_activity(
            owner_id=owner_id,
            project_id=project_id,
            tag=Tag.PROJECT_ERASED,
            actor=Writer.operator("erasure"),
            using=SYSTEM,
        )
        with connections[SYSTEM].cursor() as cursor:
            cursor.execute("DELETE FROM projects_project WHERE id = %s", [project_id])
    return True


def _own_step(statement: str) -> Step:
    def remove(project_id: UUID, owner_id: UUID, at_once: int) -> int:
        parameters: dict[str, Any] = {"project": project_id, "owner": owner_id, "most": at_once, "kept": KEPT_TAGS}
        with connections[SYSTEM].cursor() as cursor:
            cursor.execute(statement, parameters)
            count: int = cursor.rowcount
            return count

    return remove


def _referring_steps() -> list[Step]:
    """Return a step for each model of an upper floor that refers to projects; those that nothing refers to come first.

    They are found by their foreign keys, so this floor need not know them.
    """
    relations = [relation.field for relation in Project._meta.related_objects]
    fields = [field for field in relations if field.model._meta.app_label != Project._meta.app_label]
    return [_referring_step(field.model, field.name) for field in sorted(fields, key=_references)]


def _references(field: Field) -> int:
    return len(field.model._meta.related_objects)


def _referring_step(model: type[Model], name: str) -> Step:
    def remove(project_id: UUID, owner_id: UUID, at_once: int) -> int:
        rows = model._base_manager.using(SYSTEM)
        found = rows.filter(**{name: project_id}).values_list("pk", flat=True)
        ids = list(found[: min(at_once, REFERRING_AT_ONCE)])
        rows.filter(pk__in=ids).delete()
        return len(ids)

    return remove
