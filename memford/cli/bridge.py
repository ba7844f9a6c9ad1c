"""``memford mcp``: the bridge for hosts that speak stdio (C3)."""

import logging
import signal
import sys

import anyio

from memford.client.bridge import Bridge
from memford.client.places import resolve


def run(url: str | None, project: str | None) -> None:
    """Serve until the host hangs up; the protocol alone on standard output, all else on standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    # Nothing is kept here that an end could lose, and a thread that waits for the host would hold an orderly one up.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    target = resolve(url, project)
    anyio.run(Bridge(target).run)
