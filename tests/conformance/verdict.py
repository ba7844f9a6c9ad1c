"""From the suite's checks to a verdict: what passed, what failed as expected, and what nobody expected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.conformance.expectations import Expectation

FAILED: Final = frozenset({"FAILURE", "WARNING"})
"""What counts as failing; the suite's own judgement of its expected failures says the same."""


@dataclass(frozen=True)
class Check:
    """One check of a scenario as the suite reports it; an id may occur several times."""

    id: str
    status: str
    message: str = ""

    @property
    def failed(self) -> bool:
        """Whether it counts as failing."""
        return self.status in FAILED


@dataclass
class Verdict:
    """How a requirement set was met."""

    passed: list[str] = field(default_factory=list)
    expected: list[tuple[str, str]] = field(default_factory=list)
    """Names of what failed as expected, each with its reason."""
    partly: list[str] = field(default_factory=list)
    """Scenarios of which single checks failed as expected, and others passed."""
    unexpected: list[tuple[str, str]] = field(default_factory=list)
    """Names of what failed or passed unexpectedly, each with what was seen."""

    @property
    def ok(self) -> bool:
        """Whether all was as expected."""
        return not self.unexpected


def judge(results: Mapping[str, Sequence[Check]], expectations: Sequence[Expectation]) -> Verdict:
    """Hold the results of a run against what is expected to fail."""
    verdict = Verdict()
    excused = {expectation.name: expectation.reason for expectation in expectations}
    used: set[str] = set()
    for scenario, checks in results.items():
        used |= _judge_scenario(scenario, checks, excused, verdict)
    for name in excused:
        if name not in used:
            verdict.unexpected.append((name, "passes or is not run any more: remove it from the list"))
    return verdict


def _judge_scenario(scenario: str, checks: Sequence[Check], excused: Mapping[str, str], verdict: Verdict) -> set[str]:
    """Judge one scenario and return the entries that excused something of it."""
    failed: dict[str, str] = {}
    for check in checks:
        if check.failed:
            failed.setdefault(check.id, check.message)
    if not checks:
        failed[scenario] = "the suite reported nothing"
    if failed and scenario in excused:
        verdict.expected.append((scenario, excused[scenario]))
        return {scenario}
    names = {f"{scenario}:{check_id}": message for check_id, message in failed.items()}
    used = names.keys() & excused.keys()
    verdict.expected += [(name, excused[name]) for name in names if name in used]
    unexpected = [(name, message) for name, message in names.items() if name not in used]
    verdict.unexpected += unexpected
    if not names:
        verdict.passed.append(scenario)
    elif not unexpected and any(check.status == "SUCCESS" and check.id not in failed for check in checks):
        verdict.partly.append(scenario)
    return used
