"""The first page, the account's own pages, signing out, and the doors that one-time links open."""

from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.account.models import EmailAddress, Login
from allauth.account.utils import get_next_redirect_url
from allauth.account.views import logout, password_reset, password_set
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import auth, messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.adapter import INVITATION_SESSION_KEY
from accounts.closing import close_account
from accounts.leaving import forgetting
from accounts.models import Owner
from accounts.resuming import remember_goal
from accounts.services import end_login_sessions, is_open_invitation, redeem_sign_in_link
from accounts.workspace import workspace_page
from memford.core.errors import NotFound
from memford.core.limits import limits
from memford.core.secrets import digest
from memford.env import env


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Say what this is, and how an agent connects; who is signed in is led to their projects."""
    if request.user.is_authenticated:
        return redirect("projects")
    context = {
        "mcp_url": f"{settings.PUBLIC_URL}/mcp",
        "signup": env().signup,
        "may_sign_up": get_adapter().is_open_for_signup(request),
    }
    return render(request, "accounts/home.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Ask before a link is used up, so that a program that only looks at it does not; then sign in (S1).

    A second factor is asked for all the same. The account's page offers what the owner still lacks.
    """
    if request.method != "POST":
        return render(request, "accounts/sign_in.html")
    try:
        owner = redeem_sign_in_link(secret=secret)
    except NotFound as error:
        return render(request, "accounts/sign_in_failed.html", {"message": error.message}, status=404)
    record_authentication(request, owner, method="sign_in_link", reauthenticated=True)
    goal = "home" if owner.has_usable_password() else "account"
    login = Login(user=owner, email_verification="none", redirect_url=reverse(goal))
    answer: HttpResponseBase = perform_login(request, login)
    return answer


@never_cache
@require_safe
def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """Remember an invitation in this browser and lead to sign-up; it is used up there, not by looking at it."""
    secret_digest = digest(secret)
    if not is_open_invitation(secret_digest=secret_digest):
        return render(request, "accounts/invitation_ended.html", status=404)
    request.session[INVITATION_SESSION_KEY] = secret_digest
    return redirect("account_signup")


@never_cache
@login_required
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """Show what the owner signs in with, and where it is changed (W1)."""
    owner = _owner(request)
    kinds = list(Authenticator.objects.filter(user=owner).values_list("type", flat=True))
    context = {
        "address": EmailAddress.objects.get_primary(owner),
        "is_first_owner": not owner.has_usable_password(),
        "has_app": Authenticator.Type.TOTP in kinds,
        "passkeys": kinds.count(Authenticator.Type.WEBAUTHN),
        "login_sessions": len(UserSession.objects.purge_and_list(owner)),
    }
    return render(request, "accounts/account.html", context)


@login_required
def set_password(request: HttpRequest) -> HttpResponseBase:
    """Let an owner without a password set one (W1).

    The library keeps a form in the session while it asks who is there; a password is not to be kept anywhere, so
    the form is asked for again instead.
    """
    if request.method == "POST" and is_reauthentication_required(request, app="allauth.account"):
        return redirect("account_set_password")
    answer: HttpResponseBase = password_set(request)
    return answer


def sign_out(request: HttpRequest) -> HttpResponseBase:
    """Ask whether to sign out, or do it; the browser then forgets the pages that it keeps."""
    is_somebody = request.user.is_authenticated
    answer: HttpResponseBase = logout(request)
    return forgetting(answer) if is_somebody and request.method == "POST" else answer


def forgotten_password(request: HttpRequest) -> HttpResponseBase:
    """Send the link for a new password; where one wants to go in the end is kept in this browser until then."""
    answer: HttpResponseBase = password_reset(request)
    if request.method != "POST" or answer.status_code != 302:
        return answer
    remember_goal(request, get_next_redirect_url(request))
    return redirect("account_reset_password_done")


@never_cache
@workspace_page("GET", "POST")
def delete_account(request: HttpRequest, owner: Owner) -> HttpResponseBase:
    """Say what deleting the account does, and do it for an owner who has just shown who is there (W1)."""
    is_sure = not is_reauthentication_required(request, app="allauth.account")
    if request.method == "POST" and not is_sure:
        return redirect(_way_to_be_sure(owner) or "account-delete")
    given = request.POST.get("email", "").strip()
    if request.method == "POST" and given.casefold() == owner.email.casefold():
        return _close(request, owner)
    context: dict[str, Any] = {
        "is_sure": is_sure,
        "way_to_be_sure": None if is_sure else _way_to_be_sure(owner),
        "given": given,
        "retention_days": limits().deleted_project_retention_seconds // 86_400,
    }
    if request.method != "POST":
        return render(request, "accounts/delete.html", context)
    context["problem"] = "This is not the address of this account. Nothing was deleted."
    return render(request, "accounts/delete.html", context, status=400)


def _way_to_be_sure(owner: Owner) -> str | None:
    """Return where the owner shows who is there, and comes back from; ``None`` where they have nothing to show."""
    ways = get_adapter().get_reauthentication_methods(owner)
    return f"{ways[0]['url']}?{urlencode({'next': reverse('account-delete')})}" if ways else None


def _close(request: HttpRequest, owner: Owner) -> HttpResponseBase:
    with suppress(NotFound):  # another tab was quicker, and did the same
        close_account(owner_id=owner.pk, actor=owner.hand)
    auth.logout(request)
    return forgetting(redirect("account-deleted"))


@require_safe
def account_deleted(request: HttpRequest) -> HttpResponse:
    """Say that the account is deleted, to whoever it was."""
    if request.user.is_authenticated:
        return redirect("account")
    days = limits().deleted_project_retention_seconds // 86_400
    return render(request, "accounts/deleted.html", {"retention_days": days})


@login_required
@require_POST
def end_login_session(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of the owner's other login sessions (W1); one that is foreign or gone changes nothing."""
    ended = end_login_sessions(owner=_owner(request), keep=request.session.session_key or "", only=pk)
    messages.success(request, "That session was ended." if ended else "That session had ended before.")
    return redirect("usersessions_list")


@login_required
@require_POST
def end_other_login_sessions(request: HttpRequest) -> HttpResponse:
    """End all the owner's login sessions but this one (W1)."""
    ended = end_login_sessions(owner=_owner(request), keep=request.session.session_key or "")
    messages.success(request, f"Signed out everywhere else ({ended}).")
    return redirect("usersessions_list")


def _owner(request: HttpRequest) -> Owner:
    assert isinstance(request.user, Owner)  # noqa: S101  # login_required saw to it
    return request.user
