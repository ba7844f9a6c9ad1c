"""The only way to an owner's object: by owner and id together. Foreign and missing are one error."""

from uuid import UUID

from django.db.models import Model, QuerySet

from memford.core.errors import NotFound
from projects.models import Note, Project, Standard


def _one[ModelT: Model](found: QuerySet[ModelT], id_: UUID | str) -> ModelT:
    try:
        key = id_ if isinstance(id_, UUID) else UUID(id_)
    except ValueError:
        raise NotFound from None
    row = found.filter(pk=key).first()
    if row is None:
        raise NotFound
    return row


def live_projects(owner_id: UUID) -> QuerySet[Project]:
    """Return the owner's projects that are not deleted (A8)."""
    return Project.objects.filter(owner_id=owner_id, deleted_at=None)


def project_of(owner_id: UUID, project_id: UUID | str) -> Project:
    """Return the owner's live project.

    Raises:
        NotFound: It is foreign, deleted, or never was.
    """
    return _one(live_projects(owner_id), project_id)


def note_of(owner_id: UUID, project_id: UUID | str, note_id: UUID | str) -> Note:
    """Return a note of the owner's live project, whatever its status.

    Raises:
        NotFound: The note or its project is foreign, deleted for good, or never was.
    """
    project = project_of(owner_id, project_id)
    return _one(Note.objects.filter(owner_id=owner_id, project=project), note_id)


def standard_of(owner_id: UUID, standard_id: UUID | str) -> Standard:
    """Return the owner's standard.

    Raises:
        NotFound: It is foreign or never was.
    """
    return _one(Standard.objects.filter(owner_id=owner_id), standard_id)
