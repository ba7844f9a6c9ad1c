"""The suite's scenarios for authorization servers, with a scripted owner who approves in the browser."""

import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx2

from tests.conformance.node import ConformanceError, Node
from tests.conformance.suite import read_checks
from tests.conformance.verdict import Check
from tests.live import free_port, wait_until

if TYPE_CHECKING:
    from tests.flows.approving import Approver

AUTHORIZATION: Final = "authorization"
RUN_LIMIT_SECONDS: Final = 60

_ASKED: Final = re.compile(r"https?://\S+/authorize\?\S+")
_SCENARIO: Final = re.compile(r"^=== Running scenario: (\S+) ===$")
_FOLDERS: Final = "authorization-server-*/checks.json"
_SCENARIOS: Final = frozenset({"authorization-server-metadata-endpoint", "authorization-code-grant"})
"""What the pinned suite has; one that is left out would pass unseen."""


def run_authorization(node: Node, entry: Path, url: str, folder: Path) -> dict[str, list[Check]]:
    """Hold the authorization server against the suite, and return each scenario's checks.

    Raises:
        ConformanceError: It broke off, or did not end in time.
    """
    from django.db import connections

    from tests.flows.approving import Approver, new_person_with_password
    from tests.oauth import OAuthClient

    port = free_port()
    try:
        approver = Approver(new_person_with_password().owner.email)
        client = OAuthClient(url, f"http://127.0.0.1:{port}/callback")
        command = [
            *(str(node.path), str(entry), "authorization", f"--url={url}", f"--client-id={client.id}"),
            *(f"--resource={url}/mcp", f"--port={port}", f"--output-dir={folder}"),
        ]
        said = _run(command, lambda asked: _approve(asked, approver))
    finally:
        connections.close_all()
    scenarios = [match[1] for line in said if (match := _SCENARIO.match(line))]
    if not _SCENARIOS.issubset(scenarios):
        raise ConformanceError(f"The suite broke off. Its last words:\n{''.join(said)[-2_000:]}")
    return read_checks(folder, _FOLDERS, "authorization-server-", scenarios)


def _run(command: list[str], approve: Callable[[str], None]) -> list[str]:
    said: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        stop = threading.Timer(RUN_LIMIT_SECONDS, process.kill)
        stop.start()
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if asked := _ASKED.search(line):
                approve(asked[0])
        stop.cancel()
    return said


def _approve(asked: str, approver: "Approver") -> None:
    """Sign in and approve as the owner does, and bring the browser back once the suite listens."""
    returned = approver.decide(asked)
    wait_until(lambda: _arrives(returned), what="the suite's own listener")


def _arrives(location: str) -> bool:
    try:
        return httpx2.get(location, timeout=5).status_code == 200
    except httpx2.ConnectError:
        return False
