"""The shelf of standards, one standard with its history, and which of them a project is given (W2, A3, A4)."""

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from accounts.models import Owner
from accounts.workspace import is_part, typed_line, typed_text, workspace_page
from memford.core.errors import InvalidArguments, MemfordError, NotFound, RevisionConflict
from memford.core.limits import limits
from projects import access
from projects.models import Project, Standard
from projects.pages.projects import problems_of
from projects.pages.revisions import compared, expected_revision, number_of, restorable
from projects.selectors import (
    assignment_of,
    list_standards,
    projects_by_standard,
    standard_history,
    titled_standards,
)
from projects.services import assign_standards, create_standard, revise_standard
from projects.services.rules import UNSET

STANDARDS_AT_ONCE: Final = 100
USES_SHOWN: Final = 10
SKIPPED_MAX: Final = 1_000_000

# The shelf


@workspace_page("GET")
def shelf(request: HttpRequest, owner: Owner) -> HttpResponse:
    """List the owner's standards with where each is in use."""
    if is_part(request):
        return render(request, "projects/parts/standard_rows.html", _page_of_shelf(request, owner))
    return _shelf_page(request, owner)


def _shelf_page(request: HttpRequest, owner: Owner, *, status: int = 200, **form: Any) -> HttpResponse:
    context = {"section": "standards", **_page_of_shelf(request, owner), **form}
    return render(request, "projects/standards.html", context, status=status)


def _page_of_shelf(request: HttpRequest, owner: Owner) -> dict[str, Any]:
    """Return a page of standards, the last changed first, with where each is used, and where the next begins."""
    skipped = number_of(request.GET.get("after"), SKIPPED_MAX) or 0
    all_of_them = list_standards(owner_id=owner.pk).order_by("-updated_at", "id")
    found = list(all_of_them[skipped : skipped + STANDARDS_AT_ONCE + 1])
    shown = _as_much_as_fits(found[:STANDARDS_AT_ONCE])
    uses = projects_by_standard(owner_id=owner.pk, standard_ids=[each.pk for each in shown])
    context: dict[str, Any] = {
        "rows": [_row_of(each, uses[each.pk]) for each in shown],
        "is_first_page": not skipped,
    }
    if len(found) > len(shown):
        context["more"] = f"?after={skipped + len(shown)}"
    return context


def _as_much_as_fits(standards: list[Standard]) -> list[Standard]:
    """Return so many standards, at least one, that their texts stay within the size of a page (part 1)."""
    total = 0
    for count, standard in enumerate(standards):
        total += len(standard.content.encode())
        if count and total > limits().page_max_content_bytes:
            return standards[:count]
    return standards


def _row_of(standard: Standard, uses: list[Project]) -> dict[str, Any]:
    return {"standard": standard, "uses": uses[:USES_SHOWN], "more_uses": max(len(uses) - USES_SHOWN, 0)}


@workspace_page("GET", "POST")
def new(request: HttpRequest, owner: Owner) -> HttpResponse:
    """Put one more standard on the shelf."""
    if request.method != "POST":
        return redirect("standards")
    title, content = request.POST.get("title", ""), typed_text(request.POST.get("content", ""))
    try:
        standard = create_standard(owner_id=owner.pk, title=title, content=content, actor=owner.hand)
    except MemfordError as error:
        form = {"title": title, "content": content, **problems_of(error)}
        if is_part(request):
            return render(request, "projects/parts/new_standard.html", form, status=error.status)
        return _shelf_page(request, owner, status=error.status, **form)
    messages.success(request, f"“{standard.title}” is on the shelf. Give it to a project on its Standards page.")
    return _go(request, reverse("standards"))


def _go(request: HttpRequest, address: str) -> HttpResponse:
    """Lead on to another page, for which htmx needs to be told in a way of its own."""
    return HttpResponseClientRedirect(address) if is_part(request) else redirect(address)


# One standard


@workspace_page("GET", "POST")
def standard(request: HttpRequest, owner: Owner, standard_id: UUID) -> HttpResponse:
    """Show one standard with its revisions and what differs between two, or change it."""
    found = access.standard_of(owner.pk, standard_id)
    if request.method == "POST":
        return _change(request, owner, found)
    shown = compared(request, standard_history(owner_id=owner.pk, standard_id=found.pk))
    context = {
        "section": "standards",
        "standard": found,
        "uses": projects_by_standard(owner_id=owner.pk, standard_ids=[found.pk])[found.pk],
        "restorable": restorable(found, shown, "title", "content"),
        **shown,
    }
    return render(request, "projects/standard.html", context)


@workspace_page("GET")
def edit(request: HttpRequest, owner: Owner, standard_id: UUID) -> HttpResponse:
    """Show a standard's form."""
    found = access.standard_of(owner.pk, standard_id)
    return _edit_form(request, owner, found, title=found.title, content=found.content, expected_revision=found.revision)


def _edit_form(
    request: HttpRequest,
    owner: Owner,
    found: Standard,
    *,
    title: str,
    content: str,
    expected_revision: int,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    context = {
        "section": "standards",
        "standard": found,
        "title": title,
        "content": content,
        "expected_revision": expected_revision,
        "uses": projects_by_standard(owner_id=owner.pk, standard_ids=[found.pk])[found.pk],
        **more,
    }
    template = "projects/parts/standard_form.html" if is_part(request) else "projects/standard_edit.html"
    return render(request, template, context, status=status)


def _change(request: HttpRequest, owner: Owner, found: Standard) -> HttpResponse:
    """Store a new wording or status as the revision after the one that the form was made from (A3)."""
    revision = expected_revision(request)
    if "content" in request.POST:
        return _reword(request, owner, found, revision)
    return _set_status(request, owner, found, revision)


def _reword(request: HttpRequest, owner: Owner, found: Standard, revision: int) -> HttpResponse:
    content = typed_text(request.POST["content"], stored=found.content)
    title = typed_line(request.POST.get("title", ""), stored=found.title)
    changes = {
        name: value
        for name, value, stored in (("title", title, found.title), ("content", content, found.content))
        if value != stored
    }
    if not changes and revision == found.revision:
        return _go(request, reverse("standard", args=[found.pk]))
    try:
        revise_standard(
            owner_id=owner.pk,
            standard_id=found.pk,
            expected_revision=revision,
            actor=owner.hand,
            title=changes.get("title", UNSET),
            content=changes.get("content", UNSET if changes else content),
        )
    except RevisionConflict:
        return _conflict(request, owner, found, title, content)
    except MemfordError as error:
        return _edit_form(
            request,
            owner,
            found,
            title=title,
            content=content,
            expected_revision=revision,
            status=error.status,
            **problems_of(error),
        )
    messages.success(request, "Stored as a new revision. Agents of the projects that use it read it from now on.")
    return _go(request, reverse("standard", args=[found.pk]))


def _conflict(request: HttpRequest, owner: Owner, found: Standard, title: str, content: str) -> HttpResponse:
    """Show both wordings, what differs, and three ways on; nothing was stored (W3)."""
    context = {
        "section": "standards",
        "standard": access.standard_of(owner.pk, found.pk),
        "title": title,
        "content": content,
    }
    template = "projects/parts/standard_conflict.html" if is_part(request) else "projects/standard_conflict.html"
    return render(request, template, context, status=409)


def _set_status(request: HttpRequest, owner: Owner, found: Standard, revision: int) -> HttpResponse:
    said, status = "", 200
    try:
        revise_standard(
            owner_id=owner.pk,
            standard_id=found.pk,
            expected_revision=revision,
            actor=owner.hand,
            status=request.POST.get("status", ""),
        )
    except RevisionConflict:
        said = "It was changed meanwhile, and stands here as it is now. Look at it, and decide again."
    except MemfordError as error:
        if not is_part(request):
            raise
        said, status = error.message, error.status
    if is_part(request):
        now = access.standard_of(owner.pk, found.pk)
        uses = projects_by_standard(owner_id=owner.pk, standard_ids=[found.pk])[found.pk]
        context = {"row": _row_of(now, uses), "said": said}
        return render(request, "projects/parts/standard_row.html", context, status=status)
    if said:
        messages.warning(request, said)
    if request.POST.get("from") == "standard":
        return redirect(reverse("standard", args=[found.pk]))
    return redirect(f"{reverse('standards')}#standard-{found.pk}")


@workspace_page("POST")
def restore(request: HttpRequest, owner: Owner, standard_id: UUID, revision: int) -> HttpResponse:
    """Make an earlier wording the current one, as a new revision; none is taken away (A3)."""
    history = standard_history(owner_id=owner.pk, standard_id=standard_id)
    wording = next((each for each in history if each.revision == revision), None)
    if wording is None:
        raise NotFound
    try:
        revise_standard(
            owner_id=owner.pk,
            standard_id=standard_id,
            expected_revision=expected_revision(request),
            actor=owner.hand,
            title=wording.title,
            content=wording.content,
        )
    except RevisionConflict:
        messages.warning(request, "The standard was changed meanwhile. Look at its newest revision, and decide again.")
    else:
        messages.success(request, f"The wording of revision {revision} is the current one again.")
    return redirect(reverse("standard", args=[standard_id]))


# What a project is given


@workspace_page("GET", "POST")
def of_project(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Show which standards a project is given, and in which order; or give it others."""
    project = access.project_of(owner.pk, project_id)
    if request.method == "POST":
        return _assign(request, owner, project)
    return _given_page(request, owner, project)


def _given_page(
    request: HttpRequest, owner: Owner, project: Project, *, status: int = 200, **more: Any
) -> HttpResponse:
    project, given = assignment_of(owner_id=owner.pk, project_id=project.pk)
    ids = {standard.pk for standard in given}
    context = {
        "project": project,
        "tab": "standards",
        "given": given,
        "order": _as_text([standard.pk for standard in given]),
        "others": [each for each in titled_standards(owner_id=owner.pk) if each.id not in ids],
        "chars": sum(len(standard.title) + len(standard.content) for standard in given),
        "most": limits().assigned_standards_max,
        "most_chars": limits().assigned_standards_max_chars,
        **more,
    }
    template = "projects/parts/given.html" if is_part(request) else "projects/project_standards.html"
    return render(request, template, context, status=status)


def _assign(request: HttpRequest, owner: Owner, project: Project) -> HttpResponse:
    """Store the order that was shown, with the one thing that was done to it (A4).

    The form sends the whole order as its page showed it, so that a page that is too old cannot undo what others did.
    """
    revision = expected_revision(request)
    shown = _ids_in(request.POST.get("order", ""))
    wanted, about = _done_to(shown, request)
    if wanted is None:
        return _given_page(request, owner, project, status=400, give_problem="Choose a standard first.")
    project, given = assignment_of(owner_id=owner.pk, project_id=project.pk)
    if revision == project.assignment_revision and wanted == [each.pk for each in given]:
        return _given_answer(request, owner, project, "")
    try:
        project = assign_standards(
            owner_id=owner.pk,
            project_id=project.pk,
            expected_revision=revision,
            standard_ids=wanted,
            actor=owner.hand,
        )
    except RevisionConflict:
        return _order_conflict(request, owner, project, wanted)
    except InvalidArguments as error:
        words = " ".join(map(str, problems_of(error).get("problems", {}).values()))  # type: ignore[attr-defined]
        return _given_page(request, owner, project, status=400, give_problem=words or error.message)
    return _given_answer(request, owner, project, _announcement(owner, wanted, about), about=about, wanted=wanted)


def _ids_in(text: str) -> list[UUID]:
    try:
        return [UUID(each) for each in text.split()]
    except ValueError:
        raise InvalidArguments({"order": "is no list of standards; open the page again"}) from None


def _as_text(ids: list[UUID]) -> str:
    return " ".join(map(str, ids))


def _done_to(shown: list[UUID], request: HttpRequest) -> tuple[list[UUID] | None, UUID | None]:
    """Return the order that is wanted, and which standard that is about; no order where none was chosen to be given."""
    for deed in ("up", "down", "away", "give", "moved"):
        if deed not in request.POST or (deed == "moved" and not request.POST[deed]):
            continue
        found = _ids_in(request.POST[deed])
        if len(found) != 1:
            return None, None
        about = found[0]
        if deed == "moved":
            return shown, about
        if deed == "give":
            return [each for each in shown if each != about] + [about], about
        if about not in shown:
            raise NotFound
        at = shown.index(about)
        others = [*shown[:at], *shown[at + 1 :]]
        if deed != "away":
            others.insert(max(at - 1, 0) if deed == "up" else at + 1, about)
        return others, about
    return shown, None


def _announcement(owner: Owner, order: list[UUID], about: UUID | None) -> str:
    """Say in words what is now where."""
    if about is None:
        return "Stored."
    title = access.standard_of(owner.pk, about).title
    if about not in order:
        return f"“{title}” was taken away. {len(order)} left."
    return f"“{title}” is number {order.index(about) + 1} of {len(order)}."


def _given_answer(
    request: HttpRequest,
    owner: Owner,
    project: Project,
    said: str,
    *,
    about: UUID | None = None,
    wanted: list[UUID] | None = None,
) -> HttpResponse:
    if is_part(request):
        is_gone = about is not None and wanted is not None and about not in wanted
        return _given_page(request, owner, project, said=said, focus_heading=is_gone)
    if said:
        messages.success(request, said)
    where = f"#given-{about}" if about is not None else ""
    return redirect(f"{reverse('project-standards', args=[project.pk])}{where}")


def _order_conflict(request: HttpRequest, owner: Owner, project: Project, wanted: list[UUID]) -> HttpResponse:
    """Show the order as others left it beside the one that was wanted; nothing was stored (W3)."""
    project = access.project_of(owner.pk, project.pk)
    titles = {each.id: each.title for each in titled_standards(owner_id=owner.pk, among=wanted)}
    yours = [each for each in wanted if each in titles]
    context = {"is_stale": True, "yours": [titles[each] for each in yours], "your_order": _as_text(yours)}
    return _given_page(request, owner, project, status=409, **context)
