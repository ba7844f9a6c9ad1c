"""The shelf of standards, one standard with its history, and which of them a project is given (W2, A3, A4)."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounts.models import Owner
from accounts.workspace import workspace_page


@workspace_page("GET", "POST")
def shelf(request: HttpRequest, owner: Owner) -> HttpResponse:
    """List the owner's standards with where each is in use, or put one more on the shelf."""
    return HttpResponse(status=501)


@workspace_page("GET", "POST")
def standard(request: HttpRequest, owner: Owner, standard_id: UUID) -> HttpResponse:
    """Show one standard with its revisions and what differs between two, or change it."""
    return HttpResponse(status=501)


@workspace_page("POST")
def restore(request: HttpRequest, owner: Owner, standard_id: UUID, revision: int) -> HttpResponse:
    """Make an earlier wording the current one, as a new revision."""
    return HttpResponse(status=501)


@workspace_page("GET", "POST")
def of_project(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Show which standards a project is given, and in which order; or give it others."""
    return HttpResponse(status=501)
