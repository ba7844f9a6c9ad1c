"""What the histories of notes and of standards share: which revisions are compared, what an edit is based on."""

from typing import Any, Final, Protocol

from django.http import HttpRequest

from memford.core.errors import InvalidArguments

REVISION_MAX: Final = 2**31 - 1


class Wording(Protocol):
    """One revision of a text."""

    @property
    def revision(self) -> int:
        """Its number; the first is 1."""


def number_of(text: str | None, most: int) -> int | None:
    """Return a number that an address or form holds, or ``None`` where it is no number within its bounds."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most else None


def expected_revision(request: HttpRequest) -> int:
    """Return the revision that a form was made from (A2, A3).

    Raises:
        InvalidArguments: The form holds none.
    """
    revision = number_of(request.POST.get("expected_revision"), REVISION_MAX)
    if revision is None:
        raise InvalidArguments({"expected_revision": "is missing; open the page again"})
    return revision


def compared[WordingT: Wording](request: HttpRequest, history: list[WordingT]) -> dict[str, Any]:
    """Return what a page shows of a history: all of it, and the two revisions that its address names.

    What is no revision stands for the newest, or for the one before it.
    """
    newer = _named(request, "to", history, default=len(history))
    older = _named(request, "from", history, default=max(newer.revision - 1, 1))
    return {"history": history[::-1], "older": older, "newer": newer}


def _named[WordingT: Wording](request: HttpRequest, name: str, history: list[WordingT], *, default: int) -> WordingT:
    number = number_of(request.GET.get(name), REVISION_MAX) or default
    return history[min(number, len(history)) - 1]


def restorable[WordingT: Wording](current: object, shown: dict[str, Any], *fields: str) -> list[WordingT]:
    """Return those of the two wordings shown that differ from the current one in one of ``fields``."""
    wordings = dict.fromkeys([shown["older"], shown["newer"]])
    return [each for each in wordings if any(getattr(each, name) != getattr(current, name) for name in fields)]
