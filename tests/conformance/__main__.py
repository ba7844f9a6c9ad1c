"""``python -m tests.conformance``: run the official suite against the product, and against its transport.

The suite's scenarios are held against what is expected to fail (``expected/``, with the reason beside each entry). A
failure that is not listed there fails the run, and so does an entry that excuses nothing any more.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from tests.conformance.authorization import AUTHORIZATION, run_authorization
from tests.conformance.expectations import expected_file, read_expectations
from tests.conformance.node import ConformanceError, Node, find_node, install_suite
from tests.conformance.proxy import bearer_proxy
from tests.conformance.report import Measured, details, summary
from tests.conformance.serving import FIXTURES, PRODUCT, running_stores, serving
from tests.conformance.suite import REVISIONS, run_suite
from tests.conformance.verdict import judge


def main() -> int:
    """Run what was asked for and return the exit status."""
    options = _options()
    try:
        node = find_node()
        all_measured = _measure_all(options, node, install_suite(node))
    except ConformanceError as error:
        sys.stderr.write(f"The conformance suite could not be run: {error}\n")
        return 2
    print(f"\n{summary(all_measured)}", flush=True)
    return 0 if all(measured.verdict.ok for measured in all_measured) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--run", choices=(PRODUCT, FIXTURES), help="one run alone")
    parser.add_argument("--requirements", choices=REVISIONS, help="one requirement set alone")
    parser.add_argument("--results", type=Path, metavar="DIR", help="keep what the suite saw here")
    return parser.parse_args()


def _measure_all(options: argparse.Namespace, node: Node, entry: Path) -> list[Measured]:
    all_measured = []
    with ExitStack() as stack:
        folder = options.results or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="memford-conformance-"))
        )
        stack.enter_context(running_stores())
        # Each refused probe is a line of the server's log; here they are what the suite is for.
        logging.disable(logging.WARNING)
        for run in [options.run] if options.run else [PRODUCT, FIXTURES]:
            with serving(run) as server:
                if run == PRODUCT and options.requirements is None:
                    all_measured.append(_measure_authorization(node, entry, server.url, folder / AUTHORIZATION))
                    print(f"\n{details(all_measured[-1])}", flush=True)
                for revision in [options.requirements] if options.requirements else REVISIONS:
                    measured = asyncio.run(_measure(node, entry, run, revision, server.url, folder / run / revision))
                    print(f"\n{details(measured)}", flush=True)
                    all_measured.append(measured)
    return all_measured


async def _measure(node: Node, entry: Path, run: str, revision: str, url: str, folder: Path) -> Measured:
    """Hold one requirement set against one server, as an agent with a key of its own."""
    begin = time.monotonic()
    expected = expected_file(run, revision)
    expectations = read_expectations(expected)
    key = await asyncio.to_thread(_new_key)
    async with bearer_proxy(urlsplit(url).port or 0, key) as proxied:
        outcome = await run_suite(node, entry, f"{proxied}/mcp", revision, expected, folder)
    verdict = judge(outcome.results, expectations)
    if verdict.ok and not outcome.agrees:
        verdict.unexpected.append(("the suite's own judgement", "it finds fault where this one does not"))
    return Measured(run, revision, verdict, time.monotonic() - begin)


def _measure_authorization(node: Node, entry: Path, url: str, folder: Path) -> Measured:
    """Hold the authorization server against the suite."""
    begin = time.monotonic()
    expectations = read_expectations(expected_file(PRODUCT, AUTHORIZATION))
    verdict = judge(run_authorization(node, entry, url, folder), expectations)
    return Measured(PRODUCT, AUTHORIZATION, verdict, time.monotonic() - begin)


def _new_key() -> str:
    """Make an owner with a project, and an agent of theirs."""
    from django.db import connections

    from tests.cast import new_person

    try:
        return new_person().new_agent().key
    finally:
        connections.close_all()


if __name__ == "__main__":
    sys.exit(main())
