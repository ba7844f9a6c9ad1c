"""How an agent is connected to a project, and who may reach it (W2, A5, A6)."""

import hashlib
import uuid
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts.models import Owner
from accounts.workspace import is_part, workspace_page
from mcp_gateway.connections import paste
from mcp_gateway.connections.access import connection_of
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.selectors import ended_connections, last_callers, live_connections
from mcp_gateway.connections.services import (
    EXPIRES_IN_MAX_DAYS,
    AlreadyMade,
    IssuedKey,
    create_key,
    revoke_connection,
)
from memford.core.errors import MemfordError, NotFound
from memford.core.limits import limits
from memford.env import env
from projects import access as projects_access
from projects.models import Project
from projects.pages.projects import problems_of
from projects.pages.revisions import number_of

CALLERS_SHOWN: Final = 4
LIVE_AT_ONCE: Final = 100
ENDED_SHOWN: Final = 100

NEVER: Final = "never"
OTHER: Final = "other"
DAYS_OFFERED: Final = ("30", "90", "365")


def _mcp_url() -> str:
    return f"{settings.PUBLIC_URL}/mcp"


# Connecting


@workspace_page("GET")
def connect(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Show what to paste into each client, and whether its first call came."""
    project = projects_access.project_of(owner.pk, project_id)
    context = {
        "project": project,
        "tab": "connect",
        "mcp_url": _mcp_url(),
        "paste": paste.lines_for(_mcp_url()),
        # Clients that run on somebody else's servers cannot call an address of this computer.
        "is_loopback": env().is_loopback,
        **_calls(owner, project),
    }
    return render(request, "connections/connect.html", context)


@workspace_page("GET")
def calls(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Return the live line of the connect page: who called, and when; 204 where it shows that already."""
    project = projects_access.project_of(owner.pk, project_id)
    context = _calls(owner, project)
    if context["shown"] == request.GET.get("shown"):
        return HttpResponse(status=204)
    return render(request, "connections/parts/calls.html", {"project": project, **context})


def _calls(owner: Owner, project: Project) -> dict[str, Any]:
    callers = list(last_callers(owner_id=owner.pk, project_id=project.pk)[:CALLERS_SHOWN])
    states = " ".join(f"{each.pk} {each.last_used_at}" for each in callers)
    return {"callers": callers, "shown": hashlib.sha256(states.encode()).hexdigest()[:16]}


# Access


@workspace_page("GET")
def access(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """List a project's connections and keys, with a form for a new key."""
    project = projects_access.project_of(owner.pk, project_id)
    return _access_page(request, owner, project, _new_form())


def _new_form(**more: Any) -> dict[str, Any]:
    # Its id names the asking: sent again, by a reload or a second press, it makes no second key.
    return {"id": uuid.uuid4(), "access": Connection.Access.READ_WRITE, "ends": "90", **more}


@workspace_page("GET", "POST")
def new_key(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Make a key, once however often the form is sent; its secret is shown in this answer alone (A5)."""
    project = projects_access.project_of(owner.pk, project_id)
    if request.method != "POST":
        return redirect("access", project.pk)
    given = {name: request.POST.get(name, "").strip() for name in ("name", "access", "ends", "days")}
    once = _as_uuid(request.POST.get("form_id"))
    if once is None:
        problem = "This form came without its number, so nothing was made. Look at it, and send it again."
        return _access_page(request, owner, project, _new_form(**given, problem=problem), status=400)
    try:
        issued = create_key(
            owner_id=owner.pk,
            project_id=project.pk,
            name=given["name"],
            access=given["access"],
            actor=owner.hand,
            expires_in_days=_days_of(given),
            once=once,
        )
    except AlreadyMade as error:
        return _access_page(request, owner, project, _new_form(**given, made=error.connection), status=error.status)
    except MemfordError as error:
        form = {**_new_form(**given, **problems_of(error)), "id": once}
        return _access_page(request, owner, project, form, status=error.status)
    answer = _access_page(request, owner, project, _new_form(), issued=issued)
    # Neither a cache nor the way back shows the secret a second time.
    answer["Cache-Control"] = "no-store"
    return answer


def _days_of(given: dict[str, str]) -> int | None:
    """Return in how many days the key ends; what is no number is none that the service takes."""
    if given["ends"] == NEVER:
        return None
    return number_of(given["days"] if given["ends"] == OTHER else given["ends"], EXPIRES_IN_MAX_DAYS) or 0


def _as_uuid(text: str | None) -> UUID | None:
    try:
        return UUID(text or "")
    except ValueError:
        return None


def _access_page(
    request: HttpRequest,
    owner: Owner,
    project: Project,
    form: dict[str, Any],
    *,
    issued: IssuedKey | None = None,
    status: int = 200,
) -> HttpResponse:
    ended = list(ended_connections(owner_id=owner.pk, project_id=project.pk)[: ENDED_SHOWN + 1])
    context: dict[str, Any] = {
        "project": project,
        "tab": "access",
        "form": form,
        "days_offered": DAYS_OFFERED,
        "days_most": EXPIRES_IN_MAX_DAYS,
        "ended": ended[:ENDED_SHOWN],
        "ended_is_cut": len(ended) > ENDED_SHOWN,
        **_live_of(request, owner, project),
    }
    if issued is not None:
        url = _mcp_url()
        context |= {
            "made": issued.connection,
            "secret": issued.secret,
            "lines": {
                "claude_code": paste.claude_code_with(url, issued.secret),
                "curl": paste.curl_with(url, issued.secret),
            },
        }
    template = "connections/parts/access.html" if is_part(request) else "connections/access.html"
    return render(request, template, context, status=status)


def _live_of(request: HttpRequest, owner: Owner, project: Project) -> dict[str, Any]:
    """Return a page of what reaches the project, and where the next begins."""
    before = _as_uuid(request.GET.get("before"))
    older_than = None if before is None else _of_project(owner, project, before)
    found = live_connections(owner_id=owner.pk, project_id=project.pk, older_than=older_than)
    live = list(found[: LIVE_AT_ONCE + 1])
    shown = live[:LIVE_AT_ONCE]
    return {
        "live": shown,
        "is_newest_page": before is None,
        "older": shown[-1].pk if len(live) > LIVE_AT_ONCE else None,
        "keys_most": limits().live_keys_per_project_max,
    }


def _of_project(owner: Owner, project: Project, connection_id: UUID) -> Connection:
    connection = connection_of(owner.pk, connection_id)
    if connection.project_id != project.pk:
        raise NotFound
    return connection


@workspace_page("POST")
def revoke(request: HttpRequest, owner: Owner, project_id: UUID, connection_id: UUID) -> HttpResponse:
    """End a connection or key for good."""
    project = projects_access.project_of(owner.pk, project_id)
    connection = _of_project(owner, project, connection_id)
    ended = revoke_connection(owner_id=owner.pk, connection_id=connection.pk, actor=owner.hand)
    if is_part(request):
        context = {"project": project, "connection": ended, "is_answer": True}
        return render(request, "connections/parts/connection.html", context)
    messages.success(request, f"“{ended.name}” was revoked. Its next call is refused.")
    return redirect("access", project.pk)
