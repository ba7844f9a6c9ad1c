"""One run of the suite: a requirement set against an address, and the checks that it reports."""

import asyncio
import json
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.conformance.node import ConformanceError, Node
from tests.conformance.verdict import Check

REVISIONS: Final = ("2025-11-25", "2026-07-28")
"""The requirement sets."""

RUN_LIMIT_SECONDS: Final = 120
SCENARIO_LIMIT_MILLISECONDS: Final = 15_000

_SCENARIO: Final = re.compile(r"^=== Running scenario: (\S+) ===$", re.MULTILINE)
_COUNT: Final = re.compile(r"^Running requirements \S+ \((\d+) scenarios\)", re.MULTILINE)
_STAMP: Final = re.compile(r"-\d{4}-\d{2}-\d{2}T[\d-]+Z$")


@dataclass(frozen=True)
class Outcome:
    """What the suite reported: its own judgement, and the checks of each scenario in the order they ran."""

    agrees: bool
    results: dict[str, list[Check]]


async def run_suite(node: Node, entry: Path, url: str, revision: str, expected: Path, folder: Path) -> Outcome:
    """Run a requirement set and return what came of it.

    Raises:
        ConformanceError: It broke off, or did not end in time.
    """
    options = {
        "--url": url,
        "--requirements": revision,
        "--expected-failures": str(expected),
        "--output-dir": str(folder),
        "--timeout": str(SCENARIO_LIMIT_MILLISECONDS),
    }
    words = [word for option in options.items() for word in option]
    process = await asyncio.create_subprocess_exec(
        str(node.path),
        str(entry),
        "server",
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), RUN_LIMIT_SECONDS)
    except TimeoutError:
        raise ConformanceError(f"The suite did not end {revision} within {RUN_LIMIT_SECONDS} s.") from None
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()
    return Outcome(process.returncode == 0, _results(said.decode(errors="replace"), folder))


def _results(said: str, folder: Path) -> dict[str, list[Check]]:
    """Read each scenario's checks; one that broke off left none."""
    scenarios = _SCENARIO.findall(said)
    count = _COUNT.search(said)
    if count is None or len(scenarios) != int(count[1]):
        raise ConformanceError(f"The suite broke off. Its last words:\n{said[-2_000:]}")
    return read_checks(folder, "server-*/checks.json", "server-", scenarios)


def read_checks(folder: Path, pattern: str, prefix: str, scenarios: list[str]) -> dict[str, list[Check]]:
    """Return the checks that each scenario wrote; one that broke off wrote none."""
    written = {_STAMP.sub("", path.parent.name): path for path in folder.glob(pattern)}
    return {scenario: _checks(written.get(f"{prefix}{scenario}")) for scenario in scenarios}


def _checks(path: Path | None) -> list[Check]:
    if path is None:
        return []
    return [
        Check(check["id"], check["status"], check.get("errorMessage") or check["description"])
        for check in json.loads(path.read_text())
    ]
