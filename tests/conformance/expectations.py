"""What is expected to fail: the suite's own list of expected failures, with the reason beside each entry.

The suite takes ``scenario``, for the whole of it, or ``scenario:check``, for one check. The reason is YAML's comment
to the suite and data to us: a line without one is refused.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.conformance.node import HERE, ConformanceError

FOLDER: Final = HERE / "expected"
_ENTRY: Final = re.compile(r"  - (?P<scenario>[^\s:]+)(?::(?P<check>\S+))?  # (?P<reason>\S.*)")


@dataclass(frozen=True)
class Expectation:
    """One scenario, or one check of it, that is known to fail."""

    scenario: str
    check: str | None
    reason: str

    @property
    def name(self) -> str:
        """The entry as it stands in the file."""
        return self.scenario if self.check is None else f"{self.scenario}:{self.check}"


def expected_file(run: str, revision: str) -> Path:
    """Return the list of a run and a requirement set."""
    return FOLDER / f"{run}-{revision}.yaml"


def read_expectations(path: Path) -> list[Expectation]:
    """Read a list.

    Raises:
        ConformanceError: A line is not an entry with its reason.
    """
    expectations = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#") or line in {"server:", "server: []"}:
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            raise ConformanceError(f"{path.name}:{number}: write '  - scenario[:check]  # reason'.")
        expectations.append(Expectation(entry["scenario"], entry["check"], entry["reason"]))
    return expectations
