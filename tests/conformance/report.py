"""What a run found, as tables for people."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.conformance.verdict import Verdict

WIDTH: Final = 120
_INDENT: Final = " " * 4


@dataclass(frozen=True)
class Measured:
    """A requirement set against a server: its verdict and how long it took."""

    run: str
    revision: str
    verdict: Verdict
    seconds: float

    @property
    def title(self) -> str:
        """What was held against what."""
        return f"{self.run}, {self.revision}"


def details(measured: Measured) -> str:
    """Return what passed, what failed as expected and why, and what nobody expected."""
    verdict = measured.verdict
    parts = [f"== {measured.title}", *_wrapped("passed", verdict.passed), *_wrapped("passed but for", verdict.partly)]
    if verdict.expected:
        parts.append("  failed as expected:")
        parts += _by_reason(verdict.expected)
    if verdict.unexpected:
        parts.append("  UNEXPECTED:")
        parts += [f"{_INDENT}{name}: {seen}" for name, seen in verdict.unexpected]
    return "\n".join(parts)


def _wrapped(title: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    words = ", ".join(names)
    return [f"  {title}:", textwrap.fill(words, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)]


def _by_reason(expected: Sequence[tuple[str, str]]) -> list[str]:
    """Say each reason once, and below it what it excuses."""
    reasons: dict[str, list[str]] = {}
    for name, reason in expected:
        reasons.setdefault(reason, []).append(name)
    deeper = _INDENT * 2
    return [
        f"{_INDENT}{reason}\n"
        + textwrap.fill(
            ", ".join(names), WIDTH, initial_indent=deeper, subsequent_indent=deeper, break_on_hyphens=False
        )
        for reason, names in reasons.items()
    ]


def summary(all_measured: Sequence[Measured]) -> str:
    """Return one line for each run and requirement set."""
    head = ("run", "requirements", "passed", "partly", "failed as expected", "unexpected", "seconds")
    rows = [head, *(_row(measured) for measured in all_measured)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _row(measured: Measured) -> tuple[str, ...]:
    verdict = measured.verdict
    whole = len({name.partition(":")[0] for name, _ in verdict.expected} - set(verdict.partly))
    counts = (len(verdict.passed), len(verdict.partly), whole, len(verdict.unexpected))
    return (measured.run, measured.revision, *(str(count) for count in counts), f"{measured.seconds:.1f}")
