"""The verdict on the suite's results: nothing unexpected gets through, and no excuse outlives its reason."""

from pathlib import Path

import pytest

from tests.conformance.authorization import AUTHORIZATION
from tests.conformance.expectations import Expectation, expected_file, read_expectations
from tests.conformance.node import ConformanceError
from tests.conformance.suite import REVISIONS
from tests.conformance.verdict import Check, judge

PASSED = Check("fine", "SUCCESS")
FAILED = Check("broken", "FAILURE", "It broke.")
WARNED = Check("broken", "WARNING", "It should not.")


def test_a_scenario_passes_where_all_its_checks_do() -> None:
    verdict = judge({"ping": [PASSED]}, [])
    assert verdict.ok
    assert verdict.passed == ["ping"]


@pytest.mark.parametrize("check", [FAILED, WARNED])
def test_a_failure_that_nobody_expects_fails_the_run(check: Check) -> None:
    verdict = judge({"ping": [PASSED, check]}, [])
    assert not verdict.ok
    assert verdict.unexpected == [("ping:broken", check.message)]


def test_a_scenario_that_broke_off_fails_the_run() -> None:
    assert not judge({"ping": []}, []).ok


def test_an_expected_failure_excuses_its_own_check_alone() -> None:
    excuse = Expectation("ping", "broken", "Not served.")
    verdict = judge({"ping": [PASSED, FAILED]}, [excuse])
    assert verdict.ok
    assert (verdict.partly, verdict.expected) == (["ping"], [("ping:broken", "Not served.")])
    assert not judge({"ping": [FAILED, Check("also broken", "FAILURE")]}, [excuse]).ok
    assert judge({"ping": [FAILED]}, [excuse]).partly == []


@pytest.mark.parametrize("check", ["broken", None])
def test_an_excuse_for_what_passes_fails_the_run(check: str | None) -> None:
    assert not judge({"ping": [PASSED]}, [Expectation("ping", check, "Not served.")]).ok


@pytest.mark.parametrize(
    ("run", "revision"),
    [*((run, revision) for run in ("product", "fixtures") for revision in REVISIONS), ("product", AUTHORIZATION)],
)
def test_each_entry_of_the_lists_has_its_reason(run: str, revision: str) -> None:
    expectations = read_expectations(expected_file(run, revision))
    assert expectations
    assert len({expectation.name for expectation in expectations}) == len(expectations)


@pytest.mark.parametrize("line", ["  - ping", "  - ping  #", "- ping  # Why.", "  - ping:  # Why."])
def test_an_entry_without_a_reason_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(f"server:\n{line}\n")
    with pytest.raises(ConformanceError, match=r"list\.yaml:2"):
        read_expectations(path)
