"""A project's notes as a timeline: looking through, writing, editing, and what others do meanwhile (W2, W3)."""

import uuid
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.timezone import localdate
from django_htmx.http import trigger_client_event

from accounts.models import Owner
from accounts.workspace import is_part, typed_line, typed_text, workspace_page
from memford.core.errors import CheckpointConflict, MemfordError, RevisionConflict
from memford.core.limits import limits
from projects import access
from projects.models import Note, Project, Status
from projects.pages.projects import problems_of
from projects.pages.revisions import expected_revision, number_of
from projects.selectors import NoteFilter, list_notes, note_changes, note_mark, note_writers
from projects.selectors.timeline import WORDS_MAX_CHARS
from projects.services import revise_note, write_note
from projects.services.rules import UNSET

NOTES_AT_ONCE: Final = 30
SEQ_MAX: Final = 2**63 - 1


@workspace_page("GET")
def timeline(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Show a project's notes, newest first."""
    project = access.project_of(owner.pk, project_id)
    only = _filter_of(request)
    if is_part(request):
        part = "days" if request.headers.get("HX-Target") == "older" else "timeline"
        context = {**_page_of_notes(request, owner, project, only), "project": project}
        return render(request, f"projects/parts/{part}.html", context)
    return _timeline_page(request, owner, project, only)


def _timeline_page(
    request: HttpRequest, owner: Owner, project: Project, only: NoteFilter, status: int = 200, **more: Any
) -> HttpResponse:
    context = {
        "project": project,
        "tab": "notes",
        "writers": note_writers(owner_id=owner.pk, project_id=project.pk),
        "statuses": Status.choices,
        "form": _empty_form(),
        **_page_of_notes(request, owner, project, only),
        **more,
    }
    return render(request, "projects/notes.html", context, status=status)


def _empty_form() -> dict[str, Any]:
    # Sent along, so that pressing the button twice writes once (T7).
    return {"checkpoint": uuid.uuid4()}


def _filter_of(request: HttpRequest) -> NoteFilter:
    """Read the filter of the address; what is none of its values is as if it were not given."""
    given = request.GET
    status = given.get("status", "")
    return NoteFilter(
        status=status if status in Status.values else None,
        writer_id=_as_uuid(given.get("writer", "")),
        words=given.get("q", "").replace("\x00", "").strip()[:WORDS_MAX_CHARS],
    )


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _page_of_notes(request: HttpRequest, owner: Owner, project: Project, only: NoteFilter) -> dict[str, Any]:
    """Return a page of notes by days, and where the next begins."""
    # Before the notes are read, so that nothing falls between.
    mark = note_mark(owner_id=owner.pk, project_id=project.pk)
    before = number_of(request.GET.get("before"), SEQ_MAX)
    found = list_notes(owner_id=owner.pk, project_id=project.pk, limit=NOTES_AT_ONCE + 1, before_seq=before, only=only)
    shown = _as_much_as_fits(found[:NOTES_AT_ONCE])
    days = _by_day(shown)
    address = _address_of(only)
    context = {
        "only": only,
        "address": address,
        "days": days,
        "mark": mark,
        "is_newest_page": before is None,
        "newest_day": days[0][0].isoformat() if days else "",
        # A day that goes on from the page before has its heading there.
        "day_above": request.GET.get("day", "") if is_part(request) else "",
    }
    if len(found) > len(shown):
        last = {"before": shown[-1].seq, "day": days[-1][0].isoformat()}
        context["older"] = f"?{urlencode({**dict(address), **last})}"
    return context


def _as_much_as_fits(notes: list[Note]) -> list[Note]:
    """Return so many notes, at least one, that their texts stay within the size of a page (part 1)."""
    total = 0
    for count, note in enumerate(notes):
        total += note.content_bytes
        if count and total > limits().page_max_content_bytes:
            return notes[:count]
    return notes


def _by_day(notes: Sequence[Note]) -> list[tuple[Any, list[Note]]]:
    return [(day, list(group)) for day, group in groupby(notes, lambda note: localdate(note.received_at))]


def _address_of(only: NoteFilter) -> list[tuple[str, str]]:
    given = {"q": only.words, "status": only.status or "", "writer": str(only.writer_id or "")}
    return [(name, value) for name, value in given.items() if value]


# Writing


@workspace_page("GET", "POST")
def write(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Write a note, once however often the form is sent (T7)."""
    project = access.project_of(owner.pk, project_id)
    if request.method != "POST":
        return redirect("notes", project.pk)
    content = typed_text(request.POST.get("content", ""))
    source = request.POST.get("source", "")
    form: dict[str, Any] = {"content": content, "source": source, "checkpoint": request.POST.get("checkpoint", "")}
    try:
        write_note(
            owner_id=owner.pk,
            project_id=project.pk,
            writer=owner.hand,
            content=content,
            source=source or None,
            checkpoint_id=_as_uuid(form["checkpoint"]),
        )
    except CheckpointConflict:
        form["checkpoint"] = uuid.uuid4()
        form["problem"] = "What this form held before is stored already. Send it again to store this as one more note."
        return _write_form(request, owner, project, form, status=409)
    except MemfordError as error:
        form |= problems_of(error)
        return _write_form(request, owner, project, form, status=error.status)
    if not is_part(request):
        return redirect(reverse("notes", args=[project.pk]))
    answer = _write_form(request, owner, project, _empty_form())
    # The timeline's live part brings the note, as it brings those of others.
    return trigger_client_event(answer, "memford:look")


def _write_form(
    request: HttpRequest, owner: Owner, project: Project, form: dict[str, Any], status: int = 200
) -> HttpResponse:
    if is_part(request):
        return render(request, "projects/parts/write.html", {"project": project, "form": form}, status=status)
    return _timeline_page(request, owner, project, NoteFilter(), status=status, form=form)


# One note


@workspace_page("GET")
def row(request: HttpRequest, owner: Owner, project_id: UUID, note_id: UUID) -> HttpResponse:
    """Return one row of the timeline as it stands now: what a cancelled edit leaves."""
    note = access.note_of(owner.pk, project_id, note_id)
    return _row(request, note)


def _row(request: HttpRequest, note: Note, **more: Any) -> HttpResponse:
    return render(request, "projects/parts/row.html", {"note": note, **more})


@workspace_page("GET")
def edit(request: HttpRequest, owner: Owner, project_id: UUID, note_id: UUID) -> HttpResponse:
    """Show a note's form, in place of its row or on a page of its own."""
    note = access.note_of(owner.pk, project_id, note_id)
    return _edit_form(request, owner, note, content=note.content, source=note.source or "")


def _edit_form(
    request: HttpRequest,
    owner: Owner,
    note: Note,
    *,
    content: str,
    source: str,
    expected_revision: int | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    context = {
        "project": access.project_of(owner.pk, note.project_id),
        "tab": "notes",
        "note": note,
        "content": content,
        "source": source,
        "expected_revision": note.revision if expected_revision is None else expected_revision,
        **more,
    }
    template = "projects/parts/edit.html" if is_part(request) else "projects/edit.html"
    return render(request, template, context, status=status)


def change(request: HttpRequest, owner: Owner, note: Note) -> HttpResponse:
    """Store a new wording or status of a note as the revision after the one that the form was made from (A2)."""
    revision = expected_revision(request)
    if "content" in request.POST:
        return _reword(request, owner, note, revision)
    return _set_status(request, owner, note, revision)


def _set_status(request: HttpRequest, owner: Owner, note: Note, revision: int) -> HttpResponse:
    try:
        changed = revise_note(
            owner_id=owner.pk,
            project_id=note.project_id,
            note_id=note.pk,
            expected_revision=revision,
            actor=owner.hand,
            status=request.POST.get("status", ""),
        )
    except RevisionConflict:
        said = "It was changed meanwhile, and stands here as it is now. Look at it, and decide again."
        if is_part(request):
            return _row(request, access.note_of(owner.pk, note.project_id, note.pk), said=said)
        messages.warning(request, said)
    else:
        if is_part(request):
            return _row(request, changed)
    return _back_to(request, note)


def _reword(request: HttpRequest, owner: Owner, note: Note, revision: int) -> HttpResponse:
    content = typed_text(request.POST["content"], stored=note.content)
    source = typed_line(request.POST.get("source", ""), stored=note.source or "")
    changes: dict[str, Any] = {"content": content if content != note.content else UNSET}
    if source != (note.source or ""):
        changes["source"] = source or None
    if revision == note.revision and set(changes.values()) == {UNSET}:
        return _row(request, note) if is_part(request) else _back_to(request, note)
    try:
        changed = revise_note(
            owner_id=owner.pk,
            project_id=note.project_id,
            note_id=note.pk,
            expected_revision=revision,
            actor=owner.hand,
            **(changes if changes["content"] is not UNSET or "source" in changes else {"content": content}),
        )
    except RevisionConflict:
        return _conflict(request, owner, note, content, source)
    except MemfordError as error:
        return _edit_form(
            request,
            owner,
            note,
            content=content,
            source=source,
            expected_revision=revision,
            status=error.status,
            **problems_of(error),
        )
    if is_part(request):
        return _row(request, changed)
    messages.success(request, "Stored as a new revision.")
    return _back_to(request, note)


def _conflict(request: HttpRequest, owner: Owner, note: Note, content: str, source: str) -> HttpResponse:
    """Show both texts, what differs, and three ways on; nothing was stored (W3)."""
    theirs = access.note_of(owner.pk, note.project_id, note.pk)
    context = {
        "project": access.project_of(owner.pk, note.project_id),
        "tab": "notes",
        "note": theirs,
        "content": content,
        "source": source,
    }
    template = "projects/parts/conflict.html" if is_part(request) else "projects/conflict.html"
    return render(request, template, context, status=409)


def _back_to(request: HttpRequest, note: Note) -> HttpResponse:
    """Lead back to where the form stood: the note's own page, or its row."""
    if request.POST.get("from") == "history":
        return redirect(reverse("note", args=[note.project_id, note.pk]))
    return redirect(f"{reverse('notes', args=[note.project_id])}#note-{note.pk}")


# What others do meanwhile


@workspace_page("GET")
def live(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Return what was written and changed since the page was last told, or 204 where nothing was."""
    project = access.project_of(owner.pk, project_id)
    since = number_of(request.GET.get("since"), SEQ_MAX) or 0
    moved = note_changes(owner_id=owner.pk, project_id=project.pk, since=since)
    if moved.mark == since:
        return HttpResponse(status=204)
    only = _filter_of(request)
    ids = {*moved.written, *moved.changed}
    found = list_notes(owner_id=owner.pk, project_id=project.pk, limit=len(ids), among=list(ids)) if ids else []
    passing = (
        {note.pk for note in found}
        if only.is_open
        else {
            note.pk
            for note in list_notes(owner_id=owner.pk, project_id=project.pk, limit=len(ids), among=list(ids), only=only)
        }
    )
    written = [note for note in found if note.pk in set(moved.written) and note.pk in passing]
    days = _by_day(written)
    newest_day = request.GET.get("newest_day", "")[:10]
    context = {
        "project": project,
        "only": only,
        "address": _address_of(only),
        "days": days,
        "changed": [note for note in found if note.pk in set(moved.changed)],
        "is_cut": moved.is_cut,
        "mark": moved.mark,
        "newest_day": days[0][0].isoformat() if days else newest_day,
        "day_before": newest_day,
    }
    return render(request, "projects/parts/live.html", context)
