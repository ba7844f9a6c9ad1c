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
    from tests.bench.streams import StreamsPlan

    type Step = tuple[str, Callable[[], list[Result]]]

GROUPS = ("calls", "streams", "pages", "start")
"""What ``--only`` may name: calls beside the floor, sessions and streams, the workspace's pages, and how soon
``memford up`` is there."""


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
    parser.add_argument("--only", choices=GROUPS, help="one group of measures by itself")
    parser.add_argument("--streams", type=int, metavar="N", help="open streams; a multiple of 10 (default 2000)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds of each measurement")
    options = parser.parse_args()
    if not 1 <= options.rounds <= 50:
        parser.error("--rounds must be between 1 and 50")
    if options.streams is not None and (options.streams < 10 or options.streams % 10):
        parser.error("--streams must be a multiple of 10")
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


def _streams_plan(options: argparse.Namespace) -> "StreamsPlan":
    from tests.bench.streams import StreamsPlan

    if options.quick:
        return StreamsPlan(
            streams=options.streams or 200,
            idle_seconds=3.0,
            writing_seconds=4.0,
            initializes=400,
            steady_seconds=10.0,
            life_seconds=6.0,
            recovery_limit_seconds=15.0,
        )
    return StreamsPlan(
        streams=options.streams or 2_000,
        idle_seconds=20.0,
        writing_seconds=30.0,
        initializes=2_000,
        steady_seconds=120.0,
        life_seconds=55.0,
        recovery_limit_seconds=35.0,
    )


def _measured(
    options: argparse.Namespace, layout: Layout, folder: Path, all_cores: set[int]
) -> tuple[dict[str, Any], list["Result"], Any]:
    """Start everything and measure it; return what the machine is, the results, and the rounds."""
    results: list[Result] = []
    rounds: Any = {}
    groups = [options.only] if options.only else GROUPS
    with ExitStack() as stack:
        _say("Starting PostgreSQL and Valkey")
        environment, postgres_pid = stack.enter_context(running_stores(folder))
        os.environ.update(environment)
        import django

        django.setup()
        logging.disable(logging.INFO)
        from memford.embedded.migrations import migrate_once
        from tests.bench.world import durability, postgres_version

        migrate_once()
        about = {**description(), "postgres": postgres_version(), **durability()}
        if "calls" in groups:
            with ExitStack() as servers:
                steps, rounds = _call_steps(servers, options, layout, postgres_pid, about)
                results += _done(steps)
        if "streams" in groups:
            results += _done(_stream_steps(options, layout, about))
        if "pages" in groups:
            results += _done(_page_steps(options, layout, about))
    if "start" in groups:
        from tests.bench.measures import up_starts

        with on_cores(all_cores):
            results += _done([("Starting memford up", lambda: up_starts(folder, _plan(options).starts))])
    return about, results, rounds


def _call_steps(
    servers: ExitStack, options: argparse.Namespace, layout: Layout, postgres_pid: int, about: dict[str, Any]
) -> tuple[list["Step"], Any]:
    """Start Memford, the floor and the kernel; return what to measure on them, and where its rounds are kept."""
    from tests.bench.measures import Bench

    plan = _plan(options)
    _say("Starting Memford, the floor and the kernel")
    running = [servers.enter_context(running_server(name, layout.worker)) for name in (MEMFORD, FLOOR, KERNEL)]
    bench = Bench(plan, layout, postgres_pid, *running)
    about |= {"plan": asdict(plan), "answer_bytes": bench.check_floor()}
    steps: list[Step] = [
        ("Memory of an idle worker", bench.idle_memory),
        ("Reading and writing under load, beside the floor", bench.throughput),
        ("Beginning a session, beside the kernel", bench.beginning),
        ("Reading and writing alone", bench.alone),
        (f"Pages of a project of {plan.notes:,} notes", bench.volume),
    ]
    return steps, bench.rounds


def _stream_steps(options: argparse.Namespace, layout: Layout, about: dict[str, Any]) -> list["Step"]:
    """Make the sessions; return what to measure on them."""
    from tests.bench.streams import StreamsBench

    plan = _streams_plan(options)
    about["streams_plan"] = asdict(plan)
    _say(f"Making {plan.streams:,} sessions")
    bench = StreamsBench(plan, layout)
    return [
        (f"{plan.streams:,} open streams, and hints without and with the wake-up", bench.open_streams),
        (f"{plan.initializes:,} sessions that nobody ends", bench.sessions),
        (f"{plan.streams:,} streams that end and come again", bench.steady),
        ("Killing one of two instances", bench.kill),
    ]


def _page_steps(options: argparse.Namespace, layout: Layout, about: dict[str, Any]) -> list["Step"]:
    from tests.bench.pages import PagesBench, PagesPlan

    plan = PagesPlan(notes=10_000, rounds=8 if options.quick else 30)
    about["pages_plan"] = asdict(plan)
    return [(f"Pages of a workspace of {plan.notes:,} notes", PagesBench(plan, layout).first_bytes)]


def _done(steps: list["Step"]) -> list["Result"]:
    """Take the steps one after the other, and return what they found."""
    results: list[Result] = []
    for title, measure in steps:
        _say(title)
        results += measure()
    return results


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
