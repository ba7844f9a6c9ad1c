"""Lists by ``limit`` and ``cursor``: bounded, and by position rather than by counting off."""

from collections.abc import Callable
from typing import Any, Final

from django.core import signing
from django.db.models import Q, QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from memford.core.errors import InvalidArguments

LIMIT_MAX: Final = 100
LIMIT_DEFAULT: Final = 50
CURSOR_MAX_CHARS: Final = 500

PARAMETERS: Final = [
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
        description="How many at most.",
    ),
    OpenApiParameter(
        "cursor",
        {"type": "string", "maxLength": CURSOR_MAX_CHARS},
        description="`next_cursor` of the page before, unchanged.",
    ),
]

_SALT: Final = "memford.api.cursor"


def limit_of(request: Request) -> int:
    """Return the page's size.

    Raises:
        InvalidArguments: It is no number within its bounds.
    """
    given = request.query_params.get("limit")
    if given is None:
        return LIMIT_DEFAULT
    if not (given.isascii() and given.isdecimal() and len(given) <= 3 and 1 <= int(given) <= LIMIT_MAX):
        raise InvalidArguments({"limit": f"must be a number from 1 to {LIMIT_MAX}"})
    return int(given)


def position_of(request: Request, what: str) -> list[Any] | None:
    """Return the position that the request's cursor stands for; ``what`` names the list, so that no other's is taken.

    Raises:
        InvalidArguments: The cursor was changed, cut, invented, or is another list's.
    """
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return None
    try:
        position = _signer(request, what).unsign_object(cursor[:CURSOR_MAX_CHARS])
    except (signing.BadSignature, ValueError, TypeError):
        raise InvalidArguments({"cursor": "is not one of this list's; begin again without it"}) from None
    return position if isinstance(position, list) else None


def cursor_for(request: Request, what: str, position: list[Any]) -> str:
    """Return the cursor for what stands behind ``position``."""
    return _signer(request, what).sign_object(position)


def _signer(request: Request, what: str) -> signing.Signer:
    return signing.Signer(salt=f"{_SALT}:{what}:{request.user.pk}")


def _cut(
    request: Request, rows: list[Any], limit: int, what: str, position: Callable[[Any], list[Any]]
) -> tuple[list[Any], str | None]:
    """Cut ``rows``, of which one more than ``limit`` was asked for, and return them with the next cursor."""
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], cursor_for(request, what, position(rows[limit - 1]))


def by_number(
    request: Request, what: str, rows: Callable[[int, int | None], list[Any]], number: str
) -> tuple[list[Any], str | None]:
    """Return a page of what ``rows`` gives for a limit and the number to stand behind, newest first.

    ``number`` names the attribute that orders them.
    """
    limit, position = limit_of(request), position_of(request, what)
    found = rows(limit + 1, None if position is None else position[0])
    return _cut(request, found, limit, what, lambda row: [getattr(row, number)])


def by_age(
    request: Request, rows: QuerySet[Any], what: str, *, newest_first: bool = False
) -> tuple[list[Any], str | None]:
    """Return a page of rows in the order of ``created_at`` and ``id``."""
    limit, position = limit_of(request), position_of(request, what)
    sign, beyond = ("-", "lt") if newest_first else ("", "gt")
    if position is not None:
        at, id_ = position
        rows = rows.filter(Q(**{f"created_at__{beyond}": at}) | Q(created_at=at, **{f"id__{beyond}": id_}))
    found = list(rows.order_by(f"{sign}created_at", f"{sign}id")[: limit + 1])
    return _cut(request, found, limit, what, lambda row: [row.created_at.isoformat(), str(row.pk)])
