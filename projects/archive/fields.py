"""Reading one object of an archive field by field: what is not acceptable is told by its place, and reading goes on."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from memford.core.principal import NOBODY
from projects.archive.reader import shown

PROBLEMS_MAX: Final = 20
INTEGER_MAX: Final = 2**53 - 1
# Clocks of two instances may differ, and no note was received tomorrow.
AHEAD_MAX: Final = timedelta(days=1)

_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")

Check = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Problem:
    """What stands in the way of an import: where (``notes[12].revisions[0].content``), and what."""

    place: str
    problem: str


class Problems:
    """The problems found so far; beyond the first twenty they are only counted."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.count = 0

    def tell(self, place: str, problem: str) -> None:
        """Keep a problem."""
        self.count += 1
        if len(self.found) < PROBLEMS_MAX:
            self.found.append(Problem(place, problem))

    def __bool__(self) -> bool:
        """Say whether there is any."""
        return self.count > 0


class Fields:
    """One object with exactly these fields. A field with a problem is read as an empty value of its type."""

    def __init__(self, value: Any, place: str, names: Collection[str], problems: Problems) -> None:
        self.place = place
        self.problems = problems
        self._values: dict[str, Any] = value if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            problems.tell(place, f"must be an object, not {shown(value)}")
            return
        for name in sorted(value.keys() - set(names)):
            problems.tell(place, f"has a field {shown(name)} that is not known")
        for name in names:
            if name not in value:
                self._tell(name, "is missing")

    def _tell(self, name: str, problem: str) -> None:
        self.problems.tell(f"{self.place}.{name}", problem)

    def raw(self, name: str) -> Any:
        """Return whatever is there."""
        return self._values.get(name)

    def text(self, name: str, check: Check) -> str:
        """Return a text."""
        value = self._values.get(name, "")
        if not isinstance(value, str):
            self._tell(name, f"must be a text, not {shown(value)}")
            return ""
        if name in self._values and (problem := check(value)) is not None:
            self._tell(name, problem)
            return ""
        return value

    def optional_text(self, name: str, check: Check) -> str | None:
        """Return a text or null."""
        return None if self._values.get(name) is None else self.text(name, check)

    def choice(self, name: str, choices: Collection[str]) -> str:
        """Return one of some words."""
        return self.text(name, lambda text: None if text in choices else f"must be one of {', '.join(choices)}")

    def integer(self, name: str, due: int | None = None) -> int:
        """Return an integer from 0 on; where ``due`` is given, exactly that."""
        value = self._values.get(name, due or 0)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= INTEGER_MAX:
            self._tell(name, f"must be an integer, not {shown(value)}")
        elif due is not None and value != due:
            self._tell(name, f"is {value}; {due} is due here")
        else:
            return value
        return due or 0

    def time(self, name: str) -> datetime:
        """Return a time, which is not of the future."""
        text = self.text(name, _check_time)
        return datetime.fromisoformat(text) if text else datetime.min.replace(tzinfo=UTC)

    def uuid(self, name: str) -> UUID:
        """Return a UUID, written in lower case."""
        text = self.text(name, _check_uuid)
        return UUID(text) if text else NOBODY

    def optional_uuid(self, name: str) -> UUID | None:
        """Return a UUID or null."""
        return None if self._values.get(name) is None else self.uuid(name)

    def object(self, name: str, names: Collection[str]) -> "Fields":
        """Return an object of this one."""
        problems = self.problems if name in self._values else Problems()
        return Fields(self._values.get(name, {}), f"{self.place}.{name}", names, problems)

    def objects(self, name: str, names: Collection[str]) -> "Iterator[Fields]":
        """Return the objects of a list that holds at least one."""
        values = self._values.get(name)
        if name not in self._values:
            return
        if not isinstance(values, list) or not values:
            self._tell(name, f"must be a list with at least one member, not {shown(values)}")
            return
        for index, value in enumerate(values):
            yield Fields(value, f"{self.place}.{name}[{index}]", names, self.problems)


def _check_uuid(text: str) -> str | None:
    try:
        is_one = str(UUID(text)) == text
    except ValueError:
        is_one = False
    return None if is_one else f"must be a lowercase UUID, not {shown(text)}"


def _check_time(text: str) -> str | None:
    problem = f"must be a time such as 2026-01-31T12:00:00.000000Z, not {shown(text)}"
    if not _TIME.fullmatch(text):
        return problem
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return problem
    return "lies in the future" if time > timezone.now() + AHEAD_MAX else None
