"""One note with all its revisions, and what differs between any two (W2, A2)."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.models import Owner
from accounts.workspace import workspace_page
from memford.core.errors import NotFound, RevisionConflict
from projects import access
from projects.pages.notes import change
from projects.pages.revisions import compared, expected_revision, restorable
from projects.selectors import note_history
from projects.services import revise_note


@workspace_page("GET", "POST")
def note(request: HttpRequest, owner: Owner, project_id: UUID, note_id: UUID) -> HttpResponse:
    """Show a note's revisions and what differs between two of them, or change the note."""
    project = access.project_of(owner.pk, project_id)
    found = access.note_of(owner.pk, project.pk, note_id)
    if request.method == "POST":
        return change(request, owner, found)
    shown = compared(request, note_history(owner_id=owner.pk, project_id=project.pk, note_id=note_id))
    context: dict[str, Any] = {
        "project": project,
        "tab": "notes",
        "note": found,
        "restorable": restorable(found, shown, "content", "source"),
        **shown,
    }
    return render(request, "projects/note.html", context)


@workspace_page("POST")
def restore(request: HttpRequest, owner: Owner, project_id: UUID, note_id: UUID, revision: int) -> HttpResponse:
    """Make an earlier wording the current one, as a new revision; none is taken away (A2)."""
    history = note_history(owner_id=owner.pk, project_id=project_id, note_id=note_id)
    wording = next((each for each in history if each.revision == revision), None)
    if wording is None:
        raise NotFound
    try:
        revise_note(
            owner_id=owner.pk,
            project_id=project_id,
            note_id=note_id,
            expected_revision=expected_revision(request),
            actor=owner.hand,
            content=wording.content,
            source=wording.source,
        )
    except RevisionConflict:
        messages.warning(request, "The note was changed meanwhile. Look at its newest revision, and decide again.")
    else:
        messages.success(request, f"The wording of revision {revision} is the current one again.")
    return redirect(reverse("note", args=[project_id, note_id]))
