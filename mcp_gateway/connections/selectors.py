"""What is read of connections."""

from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from mcp_gateway.connections.models import Connection


def _live() -> Q:
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=timezone.now()))


def _of_project(owner_id: UUID, project_id: UUID) -> QuerySet[Connection]:
    return Connection.objects.filter(owner_id=owner_id, project_id=project_id)


def live_keys(*, owner_id: UUID, project_id: UUID) -> QuerySet[Connection]:
    """Return a project's keys that still work, oldest first."""
    keys = _of_project(owner_id, project_id).filter(_live(), kind=Connection.Kind.KEY)
    return keys.order_by("created_at", "id")


def list_connections(*, owner_id: UUID) -> QuerySet[Connection]:
    """Return all of an owner's connections, ended ones too, newest first."""
    return Connection.objects.filter(owner_id=owner_id).select_related("project").order_by("-created_at", "id")


def live_connections(*, owner_id: UUID, project_id: UUID, older_than: Connection | None = None) -> QuerySet[Connection]:
    """Return a project's connections and keys that still work, newest first."""
    found = _of_project(owner_id, project_id).filter(_live())
    if older_than is not None:
        same_time = Q(created_at=older_than.created_at, id__gt=older_than.pk)
        found = found.filter(Q(created_at__lt=older_than.created_at) | same_time)
    return found.order_by("-created_at", "id")


def ended_connections(*, owner_id: UUID, project_id: UUID) -> QuerySet[Connection]:
    """Return a project's connections and keys that work no more, the last to end first."""
    return (
        _of_project(owner_id, project_id).exclude(_live()).order_by(Coalesce("revoked_at", "expires_at").desc(), "id")
    )


def last_callers(*, owner_id: UUID, project_id: UUID) -> QuerySet[Connection]:
    """Return a project's live connections by their last call, or where there was none by when they were made."""
    found = _of_project(owner_id, project_id).filter(_live())
    return found.order_by(Coalesce("last_used_at", "created_at").desc(), "id")
