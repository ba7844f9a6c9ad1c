"""What changes an account: making owners, inviting them, and letting them in by a one-time link.

An owner has one address. Whether it is verified is django-allauth's ``EmailAddress`` to say;
``Owner.email_verified_at`` is written in the transaction that verifies it.
"""

from datetime import timedelta
from typing import Final
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from accounts.activity import record_activity
from accounts.models import Invitation, Owner, SignInLink
from memford.core.activity import Tag
from memford.core.database import SYSTEM
from memford.core.errors import InvalidArguments, NotFound
from memford.core.limits import limits
from memford.core.principal import Writer
from memford.core.secrets import digest, new_secret

FIRST_OWNER_EMAIL: Final = "owner@localhost"
SIGN_IN_LINK_PREFIX: Final = "mfl_"
INVITATION_PREFIX: Final = "mfi_"
EMAIL_MAX_CHARS: Final = 254
# A login session is listed a moment before it is stored.
SETTLING: Final = timedelta(hours=1)


def ensure_owner(*, email: str, password: str | None = None) -> Owner:
    """Return the owner with this e-mail, made and verified where missing; an existing one keeps its password.

    Raises:
        InvalidArguments: The address is none, or the password is too weak for a new owner.
    """
    existing = Owner.objects.filter(email__iexact=email).first()
    if existing is not None:
        return existing
    _check_new_owner(email, password)
    try:
        with transaction.atomic():
            owner = Owner.objects.create_user(email, password, email_verified_at=timezone.now())
            # A stranger may have begun to change their address to this one, and not ended it.
            EmailAddress.objects.filter(email=owner.email, verified=False).delete()
            EmailAddress.objects.create(user=owner, email=owner.email, verified=True, primary=True)
            return owner
    except IntegrityError:
        # Another process made it between the look and the insert; the constraint decided.
        return Owner.objects.get(email__iexact=email)


def _check_new_owner(email: str, password: str | None) -> None:
    fields: dict[str, str] = {}
    try:
        if email != FIRST_OWNER_EMAIL:
            validate_email(email)
    except ValidationError:
        fields["email"] = "is not an e-mail address"
    if len(email) > EMAIL_MAX_CHARS:
        fields["email"] = f"has more than {EMAIL_MAX_CHARS} characters"
    try:
        if password is not None:
            validate_password(password, Owner(email=email))
    except ValidationError as error:
        fields["password"] = " ".join(error.messages)
    if fields:
        raise InvalidArguments(fields)


def issue_sign_in_link(*, owner: Owner) -> str:
    """Return an absolute URL that signs ``owner`` in once; it ends after ``sign_in_link_life_seconds``."""
    secret = new_secret(SIGN_IN_LINK_PREFIX)
    life = timedelta(seconds=limits().sign_in_link_life_seconds)
    SignInLink.objects.create(owner=owner, digest=digest(secret), expires_at=timezone.now() + life)
    return f"{settings.PUBLIC_URL}/sign-in/{secret}"


def first_owner_link() -> str:
    """Return a one-time link for the first owner of a fresh instance, who is made where nobody is (S1)."""
    owner = Owner.objects.filter(is_active=True).order_by("created_at").first()
    return issue_sign_in_link(owner=owner or ensure_owner(email=FIRST_OWNER_EMAIL))


def redeem_sign_in_link(*, secret: str) -> Owner:
    """Use a link up and return its owner: claimed in one statement, so that two clicks give one sign-in.

    Raises:
        NotFound: The link is unknown, used, ended, or its owner was deactivated.
    """
    now = timezone.now()
    link = SignInLink.objects.select_related("owner").filter(digest=digest(secret)).first()
    claimable = SignInLink.objects.filter(digest=digest(secret), used_at=None, expires_at__gt=now)
    if link is None or not link.owner.is_active or not claimable.update(used_at=now):
        raise NotFound("This sign-in link was used before or has ended. Start `memford up` again for a new one.")
    return link.owner


def mark_email_verified(*, owner_id: UUID, changed: bool) -> None:
    """Write down that the owner's address was verified now; ``changed`` where it took the place of another."""
    with transaction.atomic():
        Owner.objects.filter(pk=owner_id).update(email_verified_at=timezone.now())
        if changed:
            email = Owner.objects.values_list("email", flat=True).get(pk=owner_id)
            actor = Writer.owner(owner_id, email)
            record_activity(owner_id=owner_id, tag=Tag.EMAIL_CHANGED, actor=actor)


def issue_invitation() -> str:
    """Return an absolute URL by which one person may sign up; it ends after ``invitation_life_seconds``."""
    secret = new_secret(INVITATION_PREFIX)
    life = timedelta(seconds=limits().invitation_life_seconds)
    Invitation.objects.create(digest=digest(secret), expires_at=timezone.now() + life)
    return f"{settings.PUBLIC_URL}/invitation/{secret}"


def is_open_invitation(*, secret_digest: str) -> bool:
    """Return whether an invitation was issued, is not used, and has not ended."""
    return _open_invitations(secret_digest).exists()


def claim_invitation(*, secret_digest: str, owner: Owner) -> None:
    """Use an invitation up for a new owner: claimed in one statement, so that it makes one owner.

    Raises:
        NotFound: It is unknown, used, or has ended.
    """
    if not _open_invitations(secret_digest).update(used_at=timezone.now(), used_by=owner):
        raise NotFound("This invitation was used before or has ended. Ask for a new one.")


def _open_invitations(secret_digest: str) -> QuerySet[Invitation]:
    return Invitation.objects.filter(digest=secret_digest, used_at=None, expires_at__gt=timezone.now())


def end_login_sessions(*, owner: Owner, keep: str, only: int | None = None) -> int:
    """End the owner's login sessions but the one whose key is ``keep``, or one of them; return how many."""
    ended = UserSession.objects.filter(user=owner).exclude(session_key=keep)
    with transaction.atomic():
        found = list(ended if only is None else ended.filter(pk=only))
        for login_session in found:
            login_session.end()
        if found:
            record_activity(owner_id=owner.pk, tag=Tag.LOGIN_SESSIONS_ENDED, actor=owner.hand, count=len(found))
    return len(found)


def remove_ended_logins() -> int:
    """Remove login sessions and links that let nobody in any more (P3), and return how many.

    Safe to run twice, and at once with itself.
    """
    now = timezone.now()
    sessions, _ = Session.objects.using(SYSTEM).filter(expire_date__lt=now).delete()
    live = Session.objects.using(SYSTEM).filter(session_key=OuterRef("session_key"))
    listed, _ = UserSession.objects.using(SYSTEM).filter(~Exists(live), created_at__lt=now - SETTLING).delete()
    links, _ = SignInLink.objects.using(SYSTEM).filter(expires_at__lt=now).delete()
    invitations, _ = Invitation.objects.using(SYSTEM).filter(expires_at__lt=now).delete()
    total: int = sessions + listed + links + invitations
    return total
