"""The first page of the workspace, the account's own page, and the doors that one-time links open."""

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.account.models import EmailAddress, Login
from allauth.account.views import password_set
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.adapter import INVITATION_SESSION_KEY
from accounts.models import Owner
from accounts.services import end_login_sessions, is_open_invitation, redeem_sign_in_link
from memford.core.errors import NotFound
from memford.core.secrets import digest
from memford.env import env


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Say what this is, and how an agent connects; who is signed in is led to their projects."""
    if request.user.is_authenticated:
        return redirect("projects")
    context = {"mcp_url": f"{settings.PUBLIC_URL}/mcp", "signup": env().signup}
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
