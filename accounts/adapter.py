"""What Memford decides about sign-up, sign-in and mail, where django-allauth asks (W1)."""

import logging
import secrets
import smtplib
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.flows.signup import prevent_enumeration
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from accounts.activity import record_activity
from accounts.client import client_ip
from accounts.closing import restorable_until
from accounts.models import Owner
from accounts.resuming import take_goal
from accounts.services import claim_invitation, is_open_invitation, mark_email_verified
from memford.core.activity import Tag
from memford.core.errors import NotFound
from memford.core.text import unstorable
from memford.env import env

INVITATION_SESSION_KEY = "invitation"

_log = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    """Sign-up by ``MEMFORD_SIGNUP``, one verified address per owner, and mail whose links are ours alone."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Let anybody sign up, nobody, or whoever opened an invitation that still holds."""
        if env().signup != "invite":
            return env().signup == "open"
        return is_open_invitation(secret_digest=request.session.get(INVITATION_SESSION_KEY, ""))

    def save_user(self, request: HttpRequest, user: Owner, form: BaseForm, commit: bool = True) -> Owner:
        """Store a new owner and use the invitation up, both or neither.

        Of two sign-ups with one address at once the later gets the answer of an address that is known.
        """
        try:
            with transaction.atomic():
                saved: Owner = super().save_user(request, user, form, commit)
                if env().signup == "invite":
                    claim_invitation(secret_digest=request.session.get(INVITATION_SESSION_KEY, ""), owner=saved)
        except IntegrityError:
            raise ImmediateHttpResponse(prevent_enumeration(request, email=form.cleaned_data["email"])) from None
        except NotFound:
            raise ImmediateHttpResponse(render(request, "account/signup_closed.html", status=403)) from None
        request.session.pop(INVITATION_SESSION_KEY, None)
        return saved

    def send_account_already_exists_mail(self, email: str) -> None:
        """Tell who owns the address; it takes as long as making an owner, so that time tells nothing either."""
        make_password(secrets.token_urlsafe())
        super().send_account_already_exists_mail(email)

    def login(self, request: HttpRequest, user: Owner) -> None:
        """Sign in, and write it into the owner's log in the same transaction (A7)."""
        steps = [str(step.get("type") or step["method"]) for step in get_authentication_records(request, user)]
        with transaction.atomic():
            super().login(request, user)
            record_activity(owner_id=user.pk, tag=Tag.SIGNED_IN, actor=user.hand, by=" + ".join(steps[-2:]))

    def respond_user_inactive(self, request: HttpRequest, user: Owner) -> HttpResponseBase:
        """Say to the owner of a deleted account, who has just shown who they are, what became of it."""
        if user.closed_at is None:
            answer: HttpResponseBase = super().respond_user_inactive(request, user)
            return answer
        context = {"closed_at": user.closed_at, "until": restorable_until(user)}
        return render(request, "accounts/closed.html", context, status=403)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Lead who has just reset a forgotten password to where they wanted to go before."""
        goal: str = take_goal(request) or super().get_login_redirect_url(request)
        return goal

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Take an address as verified; the owner's row says so in the same transaction."""
        before = email_address.user.email
        try:
            with transaction.atomic():
                if not super().confirm_email(request, email_address):
                    return False
                mark_email_verified(owner_id=email_address.user_id, changed=before.lower() != email_address.email)
        except IntegrityError:
            # Somebody else verified it between the look and the write; the constraint decided.
            self.add_message(
                request,
                messages.ERROR,
                "account/messages/email_confirmation_failed.txt",
                {"email": email_address.email},
            )
            return False
        return True

    def set_password(self, user: Owner, password: str) -> None:
        """Store a new password; whoever was signed in by the old one no longer is."""
        with transaction.atomic():
            super().set_password(user, password)
            record_activity(owner_id=user.pk, tag=Tag.PASSWORD_CHANGED, actor=user.hand)

    def clean_password(self, password: str, user: Any = None) -> str:
        """Refuse a password that is weak, or that could not be typed again."""
        if unstorable(password):
            raise self.validation_error("unstorable")
        cleaned: str = super().clean_password(password, user)
        return cleaned

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "unstorable": "The password contains a character that cannot be used.",
        "email_password_mismatch": "The e-mail address or the password is not right.",
        "too_many_login_attempts": "Too many failed attempts. Wait five minutes, then try again.",
        "incorrect_code": "This code is not right. Look at the newest mail, or at your app.",
    }

    def is_safe_url(self, url: str) -> bool:
        """Accept a path of ours or an address below the public URL as the place to go on to, nothing else."""
        parts = urlsplit(settings.PUBLIC_URL)
        return url_has_allowed_host_and_scheme(
            url, allowed_hosts={parts.netloc}, require_https=parts.scheme == "https"
        ) and not unstorable(url)

    def is_ajax(self, request: HttpRequest) -> bool:
        """Answer JSON to the passkey script alone; everybody else gets pages and redirects."""
        asks_json = request.method == "GET" and request.headers.get("Accept") == "application/json"
        return asks_json and request.path == reverse("mfa_login_webauthn")

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the peer's address (G6)."""
        return client_ip(request)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count failed sign-ins by address alone: the library's key holds the Host, which is the caller's choice."""
        return str(credentials.get("email", "")).lower()

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Return where a new password is chosen, below the public URL whatever Host was called (G6)."""
        path = reverse("account_reset_password_from_key", kwargs={"uidb36": "UID", "key": "KEY"})
        return settings.PUBLIC_URL + path.replace("UID-KEY", quote(key))

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail once the transaction has ended well; a mail server that is away is no 5xx.

        Its templates take every address from ``public_url`` (G6).
        """
        known = {**context, "email": email, "public_url": settings.PUBLIC_URL, "request": None}
        transaction.on_commit(partial(self._send, self.render_mail(template_prefix, email, known)))

    def _send(self, message: EmailMessage) -> None:
        try:
            message.send()
        except (smtplib.SMTPException, OSError) as error:
            _log.error("A mail could not be sent: %s", type(error).__name__)
            if context.request is not None:
                text = "The mail could not be sent just now. Ask for it again in a minute."
                messages.add_message(context.request, messages.ERROR, text)
