"""One note with all its revisions, and what differs between any two (W2, A2)."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.models import Owner
from accounts.workspace import workspace_page
from memford.core.errors import InvalidArguments, NotFound, RevisionConflict
from projects import access
from projects.models import Note
from projects.pages.notes import REVISION_MAX, change, number_of
from projects.selectors import NoteWording, note_history
from projects.services import revise_note


@workspace_page("GET", "POST")
def note(request: HttpRequest, owner: Owner, project_id: UUID, note_id: UUID) -> HttpResponse:
    """Show a note's revisions and what differs between two of them, or change the note."""
    project = access.project_of(owner.pk, project_id)
    found = access.note_of(owner.pk, project.pk, note_id)
    if request.method == "POST":
        return change(request, owner, found)
    history = note_history(owner_id=owner.pk, project_id=project.pk, note_id=note_id)
    newer = _chosen(request, "to", history, default=len(history))
    older = _chosen(request, "from", history, default=max(newer.revision - 1, 1))
    context: dict[str, Any] = {
        "project": project,
        "tab": "notes",
        "note": found,
        "history": history[::-1],
        "older": older,
        "newer": newer,
        "restorable": _restorable(found, older, newer),
    }
    return render(request, "projects/note.html", context)


def _restorable(found: Note, *shown: NoteWording) -> list[NoteWording]:
    """Return those of the wordings shown that are not the current one anyway."""
    unlike = [each for each in shown if (each.content, each.source) != (found.content, found.source)]
    return list(dict.fromkeys(unlike))


def _chosen(request: HttpRequest, name: str, history: list[NoteWording], *, default: int) -> NoteWording:
    number = number_of(request.GET.get(name), REVISION_MAX) or default
    return history[min(number, len(history)) - 1]


@workspace_page("POST")
def restore(request: HttpRequest, owner: Owner, project_id: UUID, note_id: UUID, revision: int) -> HttpResponse:
    """Make an earlier wording the current one, as a new revision; none is taken away (A2)."""
    history = note_history(owner_id=owner.pk, project_id=project_id, note_id=note_id)
    wording = next((each for each in history if each.revision == revision), None)
    expected = number_of(request.POST.get("expected_revision"), REVISION_MAX)
    if wording is None:
        raise NotFound
    if expected is None:
        raise InvalidArguments({"expected_revision": "is missing; open the note again"})
    try:
        revise_note(
            owner_id=owner.pk,
            project_id=project_id,
            note_id=note_id,
            expected_revision=expected,
            actor=owner.hand,
            content=wording.content,
            source=wording.source,
        )
    except RevisionConflict:
        messages.warning(request, "The note was changed meanwhile. Look at its newest revision, and decide again.")
    else:
        messages.success(request, f"The wording of revision {revision} is the current one again.")
    return redirect(reverse("note", args=[project_id, note_id]))
