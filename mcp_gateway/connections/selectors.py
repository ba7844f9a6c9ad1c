"""What is read of connections."""

from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from mcp_gateway.connections.models import Connection


def live_keys(*, owner_id: UUID, project_id: UUID) -> QuerySet[Connection]:
    """Return a project's keys that still work, oldest first."""
    unended = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    keys = Connection.objects.filter(owner_id=owner_id, project_id=project_id, kind=Connection.Kind.KEY)
    return keys.filter(unended, revoked_at=None).order_by("created_at", "id")


def list_connections(*, owner_id: UUID) -> QuerySet[Connection]:
    """Return all of an owner's connections, ended ones too, newest first."""
    return Connection.objects.filter(owner_id=owner_id).select_related("project").order_by("-created_at", "id")
