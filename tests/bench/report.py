"""The table for people and the JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.bench.measures import Result, Round

_HEAD = ("what", "measured", "goal", "reached", "later", "beside it")


def table(results: Sequence[Result]) -> str:
    """Return the results in aligned columns."""
    rows = [_HEAD, *(_row(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _row(result: Result) -> tuple[str, ...]:
    digits = {"x": 2, "ms": 2, "s": 1, "KB": 1, "MB": 1, "%": 1}.get(result.unit, 0)
    reached = {True: "yes", False: "NO", None: "void" if result.is_void else ""}[result.reached]
    beside = ", ".join(f"{name} {value}" for name, value in result.details.items())
    return (
        result.name,
        f"{result.value:,.{digits}f} {result.unit}".rstrip(),
        result.goal,
        reached,
        result.later,
        beside,
    )


def write_json(
    path: Path,
    *,
    about: Mapping[str, Any],
    results: Sequence[Result],
    rounds: Mapping[str, Mapping[str, Sequence[Round]]],
) -> None:
    """Write everything that was measured."""
    content = {
        "about": about,
        "results": [{**asdict(result), "reached": result.reached} for result in results],
        "rounds": {
            workload: {name: [asdict(each) for each in several] for name, several in servers.items()}
            for workload, servers in rounds.items()
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
