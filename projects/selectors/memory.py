"""What agents read: one page of active notes, the standards and the revisions, as one snapshot (T2-T5)."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import orjson

from memford.core.errors import MemoryChanged, ProjectNotAvailable
from memford.core.limits import limits
from projects.sql import WRITER, fetch_row, utc

_BEGINNING: Final = 2**63 - 1

_SUMMARY: Final = f"""
SELECT json_build_object('id', id, 'name', name, 'description', description, 'notes_count', notes_count,
                         'memory_revision', memory_revision, 'standards_revision', standards_revision,
                         'created_at', {utc("created_at")})::text
  FROM projects_project WHERE id = %(project)s AND owner_id = %(owner)s AND deleted_at IS NULL
"""

# One statement is one snapshot. The candidates come off the partial index of active notes, one more than asked;
# ``running`` cuts the page by its size, ``place`` by its number, and the first note always stays. Notes are
# printed oldest first.
_PAGE: Final = f"""
WITH candidate AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY seq DESC) AS place,
           sum(content_bytes) OVER (ORDER BY seq DESC) AS running
      FROM (SELECT id, seq, content, content_bytes, source, revision, received_at, updated_at,
                   writer_kind, writer_id, writer_name, writer_account_id
              FROM projects_note
             WHERE owner_id = %(owner)s AND project_id = %(project)s AND status = 'active'
               AND seq < %(before)s
             ORDER BY seq DESC LIMIT %(limit)s + 1) AS newest
), page AS (
    SELECT * FROM candidate WHERE place <= %(limit)s AND (place = 1 OR running <= %(bytes)s)
)
SELECT p.name, p.description, p.notes_count, p.memory_revision, p.edit_revision, p.standards_revision,
       {utc("p.created_at")},
       (SELECT count(*) FROM candidate) > (SELECT count(*) FROM page),
       (SELECT min(seq) FROM page),
       (SELECT coalesce(json_agg(json_build_object(
                   'id', id, 'content', content, 'source', source, 'revision', revision,
                   'received_at', {utc("received_at")}, 'updated_at', {utc("updated_at")},
                   'writer', {WRITER}) ORDER BY seq), '[]')::text FROM page),
       (SELECT coalesce(json_agg(json_build_object(
                   'id', s.id, 'title', s.title, 'content', s.content, 'revision', s.revision)
                   ORDER BY a.position), '[]')::text
          FROM projects_standardassignment a JOIN projects_standard s ON s.id = a.standard_id
         WHERE a.owner_id = %(owner)s AND a.project_id = p.id AND s.status = 'active')
  FROM projects_project p
 WHERE p.id = %(project)s AND p.owner_id = %(owner)s AND p.deleted_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state that a reading began with; every later page reports it (T5)."""

    memory_revision: int
    edit_revision: int
    standards_revision: int
    notes_count: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of a project's memory, and where the next one begins (``None`` at the end)."""

    project: dict[str, Any]
    notes: list[dict[str, Any]]
    standards: list[dict[str, Any]]
    snapshot: Snapshot
    next_before_seq: int | None


def project_summary(*, owner_id: UUID, project_id: UUID) -> dict[str, Any]:
    """Return what an agent is told of its project (T1).

    Raises:
        ProjectNotAvailable: The project is not this owner's, or is deleted.
    """
    row = fetch_row(_SUMMARY, {"owner": owner_id, "project": project_id})
    if row is None:
        raise ProjectNotAvailable
    summary: dict[str, Any] = orjson.loads(row[0])
    return summary


def read_memory(
    *,
    owner_id: UUID,
    project_id: UUID,
    limit: int,
    before_seq: int | None = None,
    since: Snapshot | None = None,
) -> MemoryPage:
    """Return one page of active notes, newest submissions first, oldest first inside the page (T3).

    ``before_seq`` and ``since`` continue a reading: the page holds what stood behind that position when the
    reading began, because submissions only ever come in front of it.

    Raises:
        ProjectNotAvailable: The project is not this owner's, or is deleted.
        MemoryChanged: Something that older pages hold was changed since the reading began.
    """
    row = fetch_row(
        _PAGE,
        {
            "owner": owner_id,
            "project": project_id,
            "limit": limit,
            "before": _BEGINNING if before_seq is None else before_seq,
            "bytes": limits().page_max_content_bytes,
        },
    )
    if row is None:
        raise ProjectNotAvailable
    (
        name,
        description,
        count,
        memory,
        edit,
        standards_revision,
        created_at,
        more,
        last_seq,
        notes,
        standards,
    ) = row
    if since is not None and (since.edit_revision, since.standards_revision) != (edit, standards_revision):
        raise MemoryChanged
    snapshot = since or Snapshot(memory, edit, standards_revision, count)
    project = {
        "id": str(project_id),
        "name": name,
        "description": description,
        "notes_count": snapshot.notes_count,
        "memory_revision": snapshot.memory_revision,
        "standards_revision": snapshot.standards_revision,
        "created_at": created_at,
    }
    next_before_seq = last_seq if more else None
    return MemoryPage(project, orjson.loads(notes), orjson.loads(standards), snapshot, next_before_seq)
