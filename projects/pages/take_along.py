"""Everything of the account as one file to keep (W1)."""

from typing import Final

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.models import Owner
from accounts.workspace import workspace_page
from projects.archive import ExportUnderway, export_account

ZIP: Final = "application/zip"


@workspace_page("GET", "POST")
def take_along(request: HttpRequest, owner: Owner) -> HttpResponseBase:
    """Say what the file holds, or send it: by POST, since it is work that no link of another page may cause."""
    if request.method != "POST":
        return render(request, "projects/take_along.html")
    try:
        spool = export_account(owner_id=owner.pk).as_async()
    except ExportUnderway as error:
        return render(request, "projects/take_along.html", {"problem": error.message}, status=error.status)
    name = f"memford-{timezone.now():%Y-%m-%d}.zip"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Length": str(spool.size)}
    return StreamingHttpResponse(spool, content_type=ZIP, headers=headers)
