"""The first page of the workspace, and the door that a one-time sign-in link opens."""

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.services import redeem_sign_in_link
from memford.core.errors import NotFound


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Say what this is, and how an agent connects."""
    return render(request, "accounts/home.html", {"mcp_url": f"{settings.PUBLIC_URL}/mcp"})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest, secret: str) -> HttpResponse:
    """Ask before a link is used up, so that a program that only looks at it does not; then sign in."""
    if request.method != "POST":
        return render(request, "accounts/sign_in.html")
    try:
        owner = redeem_sign_in_link(secret=secret)
    except NotFound as error:
        return render(request, "accounts/sign_in_failed.html", {"message": error.message}, status=404)
    login(request, owner, backend="django.contrib.auth.backends.ModelBackend")
    return HttpResponseRedirect("/")
