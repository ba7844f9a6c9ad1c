"""How an agent is connected to a project, and who may reach it (W2, A5, A6)."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounts.models import Owner
from accounts.workspace import workspace_page


@workspace_page("GET")
def connect(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Show what to paste into each client, and whether its first call came."""
    return HttpResponse(status=501)


@workspace_page("GET")
def calls(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Return the live line of the connect page: who called, and when."""
    return HttpResponse(status=501)


@workspace_page("GET", "POST")
def access(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """List a project's connections and keys, or make a key, whose secret is shown this once."""
    return HttpResponse(status=501)


@workspace_page("POST")
def revoke(request: HttpRequest, owner: Owner, project_id: UUID, connection_id: UUID) -> HttpResponse:
    """End a connection or key for good."""
    return HttpResponse(status=501)
