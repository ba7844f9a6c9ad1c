"""``python -m tests.bench``: start stores and servers, measure, print the table, write the JSON.

It is no timed test: it fails where something broke, never where a goal is missed.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.machine import cores, description, on_cores
from tests.bench.servers import (
    FLOOR,
    KERNEL,
    MEMFORD,
    BenchError,
    Layout,
    running_server,
    running_stores,
    temporary_folder,
)
from tests.live import ROOT

if TYPE_CHECKING:
    from tests.bench.measures import Plan, Result


def main() -> int:
    """Run the bench and return its exit status."""
    options = _options()
    begin = time.monotonic()
    all_cores = cores()
    layout = Layout.of(all_cores)
    try:
        # The stores and the load generator are children of this process, and inherit its cores.
        with on_cores(set(layout.others)), temporary_folder() as folder:
            about, results, rounds = _measured(options, layout, folder, set(all_cores))
    except BenchError as error:
        sys.stderr.write(f"The bench broke: {error}\n")
        return 1
    from tests.bench.report import table, write_json

    about["seconds"] = round(time.monotonic() - begin)
    write_json(options.json, about=about, results=results, rounds=rounds)
    print(f"\n{table(results)}\n\n{_notes(about)}\nWritten to {options.json}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer notes and shorter rounds, below 90 s")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-results" / "bench.json", metavar="PATH")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds of each measurement")
    options = parser.parse_args()
    if not 1 <= options.rounds <= 50:
        parser.error("--rounds must be between 1 and 50")
    return options


def _plan(options: argparse.Namespace) -> "Plan":
    from tests.bench.measures import Plan

    if options.quick:
        return Plan(
            rounds=min(options.rounds, 3),
            round_seconds=0.8,
            warmup_seconds=0.3,
            single_seconds=1.5,
            notes=50_000,
            volume_seconds=4.5,
            edits=300,
            starts=1,
        )
    return Plan(
        rounds=options.rounds,
        round_seconds=3.0,
        warmup_seconds=0.5,
        single_seconds=5.0,
        notes=1_000_000,
        volume_seconds=15.0,
        edits=1_000,
        starts=3,
    )


def _measured(
    options: argparse.Namespace, layout: Layout, folder: Path, all_cores: set[int]
) -> tuple[dict[str, Any], list["Result"], Any]:
    """Start everything and measure it; return what the machine is, the results, and the rounds."""
    results: list[Result] = []
    with ExitStack() as stack:
        _say("Starting PostgreSQL and Valkey")
        environment, postgres_pid = stack.enter_context(running_stores(folder))
        os.environ.update(environment)
        import django

        django.setup()
        logging.disable(logging.INFO)
        from memford.embedded.migrations import migrate_once
        from tests.bench.measures import Bench, up_starts
        from tests.bench.world import durability, postgres_version

        migrate_once()
        plan = _plan(options)
        about = {**description(), "postgres": postgres_version(), **durability(), "plan": asdict(plan)}
        _say("Starting Memford, the floor and the kernel")
        servers = [stack.enter_context(running_server(name, layout.worker)) for name in (MEMFORD, FLOOR, KERNEL)]
        bench = Bench(plan, layout, postgres_pid, *servers)
        about["answer_bytes"] = bench.check_floor()
        steps: list[tuple[str, Callable[[], list[Result]]]] = [
            ("Memory of an idle worker", bench.idle_memory),
            ("Reading and writing under load, beside the floor", bench.throughput),
            ("Beginning a session, beside the kernel", bench.beginning),
            ("Reading and writing alone", bench.alone),
            (f"Pages of a project of {plan.notes:,} notes", bench.volume),
        ]
        for title, step in steps:
            _say(title)
            results += step()
    _say("Starting memford up")
    with on_cores(all_cores):
        results += up_starts(folder, plan.starts)
    return about, results, bench.rounds


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {what}", flush=True)


def _notes(about: dict[str, Any]) -> str:
    """Return what one must know to read the table."""
    return (
        f"{about['processor']}, {about['cores']} cores, Python {about['python']}, PostgreSQL {about['postgres']} "
        f"(fsync {about['fsync']}), {about['seconds']} s in all.\n"
        "Ratios are medians over rounds of Memford and the other by turns; 'ratios' gives the least and the greatest.\n"
        "'per CPU' counts calls per second of the worker's processor time: what one core of workers can serve where\n"
        "PostgreSQL is not the limit. A ratio of calls per second is void where the other's worker was not busy: then the\n"
        "other core was the limit, and the floor had no chance to show what it can.\n"
        "'other core' is PostgreSQL, the load generator and whatever else the machine does. Pairs: Memford, then the other."
    )


if __name__ == "__main__":
    sys.exit(main())
