"""A real browser: the machine's Chromium, driven by Playwright, against a real server."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts.services import ensure_owner
from tests.browser.looks import Look
from tests.browser.mailbox import Mailbox
from tests.browser.steps import PASSWORD, elsewhere
from tests.cast import Person, unique_email
from tests.live import LiveServer, live_server

CHROMIUM = os.environ.get("MEMFORD_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
HERE = Path(__file__).parent
AXE = HERE / "node_modules" / "axe-core" / "axe.min.js"
INSTALL_LIMIT_SECONDS = 120


@pytest.fixture(scope="session")
def mailbox(tmp_path_factory: pytest.TempPathFactory) -> Mailbox:
    """Where mail goes."""
    return Mailbox(tmp_path_factory.mktemp("mail"))


@pytest.fixture(scope="session")
def site(database_access: None, mailbox: Mailbox) -> Iterator[LiveServer]:
    """A real server that puts its mail into the mailbox."""
    with live_server(MEMFORD_MAIL_URL=mailbox.folder.as_uri()) as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser, started once for a module.

    While it runs, this thread is in an event loop, where Django refuses to ask the database: see ``elsewhere``.
    """
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium: Any, site: LiveServer) -> Iterator[Any]:
    """Make pages, each in a browser profile of its own; whatever breaks the policy or a script fails the test.

    A page whose requests ``may_fail`` is one that a test cuts off.
    """
    complaints: list[str] = []
    contexts = []

    def make(*, may_fail: bool = False, **options: Any) -> Any:
        context = chromium.new_context(base_url=site.url, **options)
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if _is_complaint(said, may_fail) else None)
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


def _is_complaint(said: Any, may_fail: bool) -> bool:
    """Whether a line of the console is one; an answer of 4xx that a test asked for is none.

    Where requests ``may_fail``, that htmx tells of one is none either.
    """
    expected = ["Failed to load resource", *(["Response Status Error Code", "htmx:"] if may_fail else [])]
    return said.type == "error" and not any(words in said.text for words in expected)


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that looks for what keeps people out of a page; installed once from the lock file."""
    npm = shutil.which("npm")
    if not AXE.exists():
        if npm is None:
            pytest.skip("axe needs npm, and this machine lacks it")
        # Of two processes at once the later waits.
        with (HERE / "package-lock.json").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not AXE.exists():
                command = [npm, "ci", "--ignore-scripts", "--prefer-offline"]
                subprocess.run(command, cwd=HERE, check=True, timeout=INSTALL_LIMIT_SECONDS, capture_output=True)
    return AXE.read_text()


@pytest.fixture
def person() -> Person:
    """An owner with a password and a project."""
    return elsewhere(lambda: Person(ensure_owner(email=unique_email(), password=PASSWORD)))


@pytest.fixture
def look(axe: str) -> Look:
    """Look at the page as it stands."""

    def at(page: Any) -> None:
        page.wait_for_load_state()
        found = page.evaluate(f"async () => {{ {axe}; return (await axe.run()).violations }}")
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == [], page.url
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, f"{page.url} is {over} pixels too wide"
        assert page.locator("[style], style, script:not([src]):not([type='application/json'])").count() == 0

    return at
