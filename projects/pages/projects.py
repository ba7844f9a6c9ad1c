"""The list of projects, and one project's settings (W2, A8)."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.models import Owner
from accounts.workspace import typed_line, typed_text, workspace_page
from memford.core.errors import InvalidArguments, MemfordError
from memford.core.limits import limits
from projects import access
from projects.models import Project
from projects.selectors import list_projects
from projects.services import change_project, create_project, delete_project


@workspace_page("GET")
def projects(request: HttpRequest, owner: Owner) -> HttpResponse:
    """List the owner's projects."""
    return _projects_page(request, owner)


@workspace_page("GET", "POST")
def new(request: HttpRequest, owner: Owner) -> HttpResponse:
    """Make one more project."""
    if request.method != "POST":
        return redirect("projects")
    name, description = _given(request)
    try:
        project = create_project(owner_id=owner.pk, actor=owner.hand, name=name, description=description)
    except MemfordError as error:
        given = {"name": name, "description": description}
        return _projects_page(request, owner, given=given, error=error)
    messages.success(request, f"“{project.name}” is there. Connect an agent to it, or write its first note.")
    return redirect("notes", project.pk)


def _given(request: HttpRequest) -> tuple[str, str]:
    return request.POST.get("name", "").strip(), typed_text(request.POST.get("description", ""))


def _projects_page(
    request: HttpRequest, owner: Owner, *, given: dict[str, str] | None = None, error: MemfordError | None = None
) -> HttpResponse:
    context = {
        "section": "projects",
        "projects": list(list_projects(owner_id=owner.pk).order_by("-created_at", "id")),
        "given": given or {},
        "most": limits().projects_per_owner_max,
        **problems_of(error),
    }
    return render(request, "projects/projects.html", context, status=error.status if error else 200)


def problems_of(error: MemfordError | None) -> dict[str, object]:
    """Return what a page's form says of an error: a sentence for each field, or one for the whole."""
    if error is None:
        return {}
    if isinstance(error, InvalidArguments):
        fields = error.data.get("fields")
        if isinstance(fields, dict):
            return {"problems": {name: f"This {words}." for name, words in fields.items()}}
    return {"problem": error.message}


@workspace_page("GET")
def settings(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Show a project's name and description; export and delete stand here too."""
    return _settings_page(request, access.project_of(owner.pk, project_id))


@workspace_page("GET", "POST")
def change(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Change a project's name or description."""
    project = access.project_of(owner.pk, project_id)
    if request.method != "POST":
        return redirect("project-settings", project.pk)
    name = typed_line(request.POST.get("name", "").strip(), stored=project.name)
    description = typed_text(request.POST.get("description", ""), stored=project.description)
    try:
        if (name, description) != (project.name, project.description):
            change_project(
                owner_id=owner.pk, project_id=project.pk, actor=owner.hand, name=name, description=description
            )
    except InvalidArguments as error:
        return _settings_page(request, project, given={"name": name, "description": description}, error=error)
    messages.success(request, "Stored.")
    return redirect("project-settings", project.pk)


def _settings_page(
    request: HttpRequest, project: Project, *, given: dict[str, str] | None = None, error: MemfordError | None = None
) -> HttpResponse:
    context = {
        "project": project,
        "tab": "settings",
        "given": given or {"name": project.name, "description": project.description},
        "retention_days": limits().deleted_project_retention_seconds // 86_400,
        **problems_of(error),
    }
    return render(request, "projects/settings.html", context, status=error.status if error else 200)


@workspace_page("POST")
def delete(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Delete a project, for everyone at once (A8)."""
    project = access.project_of(owner.pk, project_id)
    delete_project(owner_id=owner.pk, project_id=project.pk, actor=owner.hand)
    messages.success(request, f"“{project.name}” was deleted. Its connections and keys have ended.")
    return redirect(reverse("projects"))
