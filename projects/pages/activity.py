"""What was done in a project (A7)."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounts.models import Owner
from accounts.workspace import workspace_page


@workspace_page("GET")
def activity(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """List who did what when, newest first."""
    return HttpResponse(status=501)
