"""What a text must be to be stored (part 1, T10), and the owner's lock and quota."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.db.models import Sum

from accounts.models import Owner
from memford.core.errors import InvalidArguments, NotFound, QuotaExceeded
from memford.core.limits import limits
from memford.core.text import check_text
from projects import access
from projects.models import Project


class _Unset:
    """Marks an argument that was not given, where ``None`` is a value."""


UNSET: Final = _Unset()
Unset = _Unset


def refuse(problems: Mapping[str, str | None]) -> None:
    """Raise one error that names every field with a problem, or return where there is none.

    Raises:
        InvalidArguments: At least one field has a problem.
    """
    fields = {field: problem for field, problem in problems.items() if problem is not None}
    if fields:
        raise InvalidArguments(fields)


def check_content(content: str) -> str | None:
    """Say why a note's content is not acceptable."""
    return check_text(content, max_chars=limits().content_max_chars, required=True)


def check_source(source: str | None) -> str | None:
    """Say why a source label is not acceptable."""
    return None if source is None else check_text(source, max_chars=limits().source_max_chars)


def stored_size(*texts: str | None) -> int:
    """Return how many bytes of UTF-8 these texts take of the owner's storage."""
    return sum(len(text.encode()) for text in texts if text is not None)


def lock_owner(owner_id: UUID) -> Owner:
    """Lock the owner's row until the transaction ends, so that what is counted stays true.

    It stands aside of the share locks that references take, so agents' writes are never held up.
    """
    owner = Owner.objects.select_for_update(no_key=True).filter(pk=owner_id, is_active=True).first()
    if owner is None:
        raise NotFound
    return owner


def check_number_of_projects(owner_id: UUID) -> None:
    """Refuse one more project where an owner has as many as allowed (part 1).

    Raises:
        QuotaExceeded: The limit is reached.
    """
    most = limits().projects_per_owner_max
    if access.live_projects(owner_id).count() >= most:
        raise QuotaExceeded(f"An account has at most {most} projects. Delete one that is no longer needed.")


def check_quota(owner: Owner, more_bytes: int) -> None:
    """Refuse to store ``more_bytes`` beyond what an owner may keep (part 1).

    Raises:
        QuotaExceeded: The limit is reached.
    """
    in_projects = Project.objects.filter(owner=owner).aggregate(total=Sum("stored_bytes"))["total"] or 0
    if owner.standards_bytes + in_projects + more_bytes > limits().stored_text_per_owner_max_bytes:
        raise QuotaExceeded
