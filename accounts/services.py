"""What changes an account: making owners, and letting them in by a one-time link."""

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.activity import record_activity
from accounts.models import Owner, SignInLink
from memford.core.activity import Tag
from memford.core.errors import InvalidArguments, NotFound
from memford.core.limits import limits
from memford.core.principal import Writer
from memford.core.secrets import digest, new_secret

FIRST_OWNER_EMAIL: Final = "owner@localhost"
SIGN_IN_LINK_PREFIX: Final = "mfl_"
EMAIL_MAX_CHARS: Final = 254


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
            return Owner.objects.create_user(email, password, email_verified_at=timezone.now())
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
    with transaction.atomic():
        link = SignInLink.objects.select_related("owner").filter(digest=digest(secret)).first()
        claimable = SignInLink.objects.filter(digest=digest(secret), used_at=None, expires_at__gt=now)
        if link is None or not link.owner.is_active or not claimable.update(used_at=now):
            raise NotFound("This sign-in link was used before or has ended. Start `memford up` again for a new one.")
        owner = link.owner
        actor = Writer.owner(owner.pk, owner.email)
        record_activity(owner_id=owner.pk, tag=Tag.SIGNED_IN, actor=actor, by="sign_in_link")
        return owner
