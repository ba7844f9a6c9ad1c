"""``/authorize``: the page on which an owner lets a client reach one project (O5, W4)."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from uuid import UUID

import structlog
from django import forms
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Owner
from mcp_gateway.authorization import redirects
from mcp_gateway.authorization.asking import (
    Asked,
    Refused,
    ReturnToClient,
    Unanswerable,
    approved,
    denied,
    read_request,
)
from mcp_gateway.authorization.consent import Approval, name_of
from mcp_gateway.connections.models import Connection
from memford.core.errors import InvalidArguments, MemfordError, NotFound
from memford.core.limits import DAY_SECONDS, KIB, MIB, limits
from memford.core.scopes import WRITE
from memford.failures import server_error
from projects.models import Project
from projects.selectors import list_projects

logger = structlog.get_logger(__name__)

NEW_PROJECT: Final = "new"


class ConsentForm(forms.Form):
    """What the owner decides: which project, how much, and whether at all."""

    project = forms.CharField(required=False, max_length=36)
    project_name = forms.CharField(required=False, max_length=limits().project_name_max_chars, strip=False)
    access = forms.ChoiceField(
        choices=Connection.Access.choices, error_messages={"required": "Choose what the client may do."}
    )
    decision = forms.ChoiceField(
        choices=[("approve", "Approve"), ("deny", "Deny")], error_messages={"required": "Approve or deny."}
    )

    def clean(self) -> dict[str, Any]:
        """Find which project is meant; one of the owner's own, or a new one with a name."""
        cleaned: dict[str, Any] = super().clean() or {}
        project = cleaned.get("project")
        if project == NEW_PROJECT:
            if not (cleaned.get("project_name") or "").strip():
                self.add_error("project_name", "Give the new project a name.")
        elif project and _as_uuid(project) is None:
            self.add_error("project", "There is no such project any more. Pick another one.")
        elif not project:
            self.add_error("project", "Pick the project that the client may reach.")
        return cleaned


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _without_database(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Say on a readable page that the database is gone: the same address works when it is back (G7)."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except (OperationalError, InterfaceError) as error:
            logger.warning("unavailable", error=type(error).__name__)
            return server_error(request)

    return guarded


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@_without_database
def authorize(request: HttpRequest) -> HttpResponse:
    """Put an authorization request before the owner, who signs in first where needed; it always asks (O5)."""
    try:
        asked = read_request(request)
    except Unanswerable as problem:
        return _refused_page(request, problem)
    except Refused as refused:
        return _return_refused(request, refused)
    user = request.user
    if not isinstance(user, Owner):
        return redirect_to_login(request.get_full_path())
    if request.method == "POST":
        return _decide(request, user, asked)
    return _consent_page(request, user, asked)


def _initial(projects: list[Project], asked: Asked) -> dict[str, str]:
    """Preselect what cannot be a mistake: the only project, or a first one; never one of several (O5)."""
    initial = {"access": _accesses(asked)[0]}
    if len(projects) == 1:
        initial["project"] = str(projects[0].pk)
    elif not projects:
        initial["project"] = NEW_PROJECT
    return initial


def _accesses(asked: Asked) -> list[str]:
    """Return what the owner may allow: never more than was asked for."""
    if WRITE in asked.scopes:
        return [Connection.Access.READ_WRITE, Connection.Access.READ_ONLY]
    return [Connection.Access.READ_ONLY]


def _decide(request: HttpRequest, owner: Owner, asked: Asked) -> HttpResponse:
    if request.POST.get("decision") == "deny":
        return ReturnToClient(denied(asked))
    form = ConsentForm(request.POST)
    if form.is_valid() and form.cleaned_data["access"] not in _accesses(asked):
        form.add_error("access", "The client asked to read only.")
    if not form.is_valid():
        return _consent_page(request, owner, asked, form, status=400)
    is_new = form.cleaned_data["project"] == NEW_PROJECT
    approval = Approval(
        actor=owner.hand,
        client=asked.client,
        redirect_uri=asked.redirect_uri,
        code_challenge=asked.code_challenge,
        access=form.cleaned_data["access"],
        project_id=None if is_new else _as_uuid(form.cleaned_data["project"]),
        new_project_name=form.cleaned_data["project_name"] if is_new else None,
    )
    try:
        return ReturnToClient(approved(asked, approval))
    except NotFound:
        form.add_error("project", "There is no such project any more. Pick another one.")
    except InvalidArguments as error:
        form.add_error("project_name", f"The name {next(iter(dict(error.data['fields']).values()))}.")  # type: ignore[call-overload]
    except MemfordError as error:
        form.add_error(None, error.message)
    except IntegrityError:
        # Forgotten between the look and the approval (O10).
        return _refused_page(request, Unanswerable(None))
    return _consent_page(request, owner, asked, form, status=400)


def _consent_page(
    request: HttpRequest, owner: Owner, asked: Asked, form: ConsentForm | None = None, status: int = 200
) -> HttpResponse:
    projects = list(list_projects(owner_id=owner.pk))
    form = form or ConsentForm(initial=_initial(projects, asked))
    context = {
        "client_name": name_of(asked.client),
        "place": redirects.place_of(asked.redirect_uri),
        "is_on_this_computer": redirects.is_on_this_computer(asked.redirect_uri),
        "projects": projects,
        "may_write": WRITE in asked.scopes,
        "form": form,
        "chosen": {name: form[name].value() for name in form.fields},
        "account": owner.email,
    }
    response = render(request, "authorization/consent.html", context, status=status)
    # Chromium holds the redirect that follows the form against this too.
    policy = {**settings.SECURE_CSP, "form-action": ["'self'", redirects.origin_of(asked.redirect_uri)]}
    response._csp_config = policy  # type: ignore[attr-defined]
    return response


def _return_refused(request: HttpRequest, refused: Refused) -> HttpResponse:
    """Send the browser back with the error, unless that would make this address a way to anywhere.

    Anybody can register an address, and a link here must not lead there unseen (RFC 9700, 4.11.2): a site on the
    internet is gone to by itself only for a client that an owner has approved before.
    """
    approved_before = Connection.objects.filter(client__client_id=refused.client_id)
    if redirects.is_on_this_computer(refused.redirect_uri) or approved_before.exists():
        return ReturnToClient(refused.location)
    context = {"location": refused.location, "place": redirects.place_of(refused.redirect_uri)}
    return render(request, "authorization/returning.html", context, status=400)


def _refused_page(request: HttpRequest, problem: Unanswerable) -> HttpResponse:
    """Tell a person what is wrong and how to go on; nobody is sent anywhere (O3, O10)."""
    context = {
        "is_unknown_client": problem.is_unknown_client,
        "description": problem.error.description if problem.error is not None else "The request cannot be read.",
    }
    return render(request, "authorization/refused.html", context, status=400)


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Tell how Memford is used (W2); clients find this page by the metadata (O1), and strangers may read it."""
    in_force = limits()
    context = {
        "frame": "workspace.html" if isinstance(request.user, Owner) else "base.html",
        "section": "docs",
        "mcp_url": f"{settings.PUBLIC_URL}/mcp",
        "limits": in_force,
        "facts": {
            "connection_days": in_force.oauth_connection_life_seconds // DAY_SECONDS,
            "idle_days": in_force.refresh_token_idle_life_seconds // DAY_SECONDS,
            "retention_days": in_force.deleted_project_retention_seconds // DAY_SECONDS,
            "page_kib": in_force.page_max_content_bytes // KIB,
            "stored_mib": in_force.stored_text_per_owner_max_bytes // MIB,
        },
    }
    return render(request, "authorization/docs.html", context)
