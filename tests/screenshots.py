"""``python -m tests.screenshots``: every page of the workspace in light and dark, wide and on a phone, as pictures.

They are made with a furnished workspace on stores of their own, and are there to be looked at.
"""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.bench.servers import running_stores, temporary_folder
from tests.live import ROOT, LiveServer, live_server

if TYPE_CHECKING:
    from tests.pages.house import House

EMAIL: Final = "keeper@lighthouse.example"
PASSWORD: Final = "a lamp turns in 8 seconds"
THEMES: Final = {
    "light": {"color_scheme": "light", "viewport": {"width": 1180, "height": 820}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1180, "height": 820}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 820}},
}
STRANGERS: Final = {
    "landing": "/",
    "docs": "/docs",
    "api-docs": "/api/docs",
    "sign-in": "/accounts/login/",
    "sign-up": "/accounts/signup/",
    "password-forgotten": "/accounts/password/reset/",
    "nothing": "/no-such-page",
}
SIGN_OUT: Final = "/accounts/logout/"


def main() -> int:
    """Take the pictures and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT / "screenshots", metavar="FOLDER")
    options = parser.parse_args()
    with temporary_folder() as folder, running_stores(folder) as (environment, _):
        os.environ.update(environment)
        import django

        django.setup()
        logging.disable(logging.INFO)
        from memford.embedded.migrations import migrate_once
        from tests.pages.house import furnish

        migrate_once()
        house = furnish(EMAIL, PASSWORD)
        with live_server() as site:
            count = _photograph(site, house, options.into)
    print(f"{count} pictures are in {options.into}")
    return 0


def _photograph(site: LiveServer, house: "House", into: Path) -> int:
    count = 0
    with _chromium() as chromium:
        for theme, look in THEMES.items():
            folder = into / theme
            folder.mkdir(parents=True, exist_ok=True)
            context = chromium.new_context(base_url=site.url, **look)
            page = context.new_page()
            for name, take in _pictures(site, house):
                take(page)
                page.wait_for_load_state("networkidle")
                page.screenshot(path=folder / f"{name}.png", full_page=True)
                count += 1
            context.close()
    return count


@contextmanager
def _chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import CHROMIUM

    if CHROMIUM is None:
        sys.exit("No Chromium here: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def _pictures(site: LiveServer, house: "House") -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Return what is photographed, in order: a stranger's pages come first, and then signing in."""
    for name, path in STRANGERS.items():
        yield name, _at(path)
    yield "projects", _sign_in
    for name, path in house.pages().items():
        if name != "projects":
            yield name, _at(path)
    yield "sign-out", _at(SIGN_OUT)
    yield "consent", lambda page: page.goto(_consent_address(site))
    yield "empty-project", _new_project
    yield "conflict", lambda page: _conflict(page, house)
    yield "new-key", lambda page: _new_key(page, house)


def _at(path: str) -> Callable[[Any], Any]:
    return lambda page: page.goto(path)


def _sign_in(page: Any) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("E-mail address").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/projects")


def _consent_address(site: LiveServer) -> str:
    from tests.oauth import OAuthClient

    return OAuthClient(site.url, metadata={"client_name": "Claude Code"}).ask()


def _new_project(page: Any) -> None:
    page.goto("/projects")
    page.get_by_label("Name").fill("Storm warnings")
    page.get_by_role("button", name="Make the project").click()


def _conflict(page: Any, house: "House") -> None:
    """Edit a note that somebody else edits meanwhile."""
    from django.db import connections

    from projects.models import Note
    from projects.services import revise_note

    page.goto(house.pages()["edit"])
    text = page.get_by_label("Text")
    text.fill(text.input_value().replace("two blasts", "three blasts"))

    def revise() -> None:
        note = Note.objects.get(pk=house.note.pk)
        revise_note(
            owner_id=house.person.id,
            project_id=note.project_id,
            note_id=note.pk,
            expected_revision=note.revision,
            actor=house.agents["claude"],
            content=note.content.replace("not the clock", "never the clock"),
        )
        connections.close_all()

    # Playwright keeps this thread in an event loop, where Django asks no database.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(revise).result()
    page.get_by_role("button", name="Store as a new revision").click()
    page.get_by_text("What differs").wait_for()


def _new_key(page: Any, house: "House") -> None:
    page.goto(house.pages()["access"])
    page.get_by_label("Name").fill("Harbour display")
    page.get_by_role("button", name="Make the key").click()
    page.get_by_text("mfk_").first.wait_for()


if __name__ == "__main__":
    sys.exit(main())
