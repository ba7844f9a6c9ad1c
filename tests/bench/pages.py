"""How soon the workspace's pages begin to arrive, in a project of many notes."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import httpx2
from django.conf import settings

from tests.bench.measures import Result, percentile
from tests.bench.servers import MEMFORD, BenchError, Layout, running_server
from tests.bench.world import analyze, fill
from tests.cast import unique_email
from tests.oauth import login_cookie
from tests.pages.house import House, furnish

FLOOR: Final = "/healthz"
"""The least that Django answers: through all the middleware, and nothing of the database."""


@dataclass(frozen=True)
class PagesPlan:
    """How large the project is, and how often each page is asked for."""

    notes: int
    rounds: int


class PagesBench:
    """An owner's workspace with a large project, and a browser of the owner's that asks for one page after another."""

    def __init__(self, plan: PagesPlan, layout: Layout) -> None:
        self._plan = plan
        self._layout = layout

    def first_bytes(self) -> list[Result]:
        """Return each page's time to first byte, by turns with the floor."""
        house = _large_house(self._plan.notes)
        with running_server(MEMFORD, self._layout.worker) as server:
            cookies = {settings.SESSION_COOKIE_NAME: login_cookie(house.person.owner)}
            with httpx2.Client(base_url=f"http://127.0.0.1:{server.port}", cookies=cookies) as browser:
                return list(self._timed(browser, house))

    def _timed(self, browser: httpx2.Client, house: House) -> Iterator[Result]:
        pages = house.pages()
        pages["older notes"] = f"{pages['notes']}?before={self._plan.notes // 2}"
        pages["rare word"] = f"{pages['notes']}?q=%22Note+17%22"
        pages["nothing new"] = f"{pages['notes']}/notes/live?since={_newest_mark(browser, pages['notes'])}"
        for name, path in pages.items():
            seconds: dict[str, list[float]] = {path: [], FLOOR: []}
            for _ in range(self._plan.rounds + 1):
                for each, found in seconds.items():
                    found.append(_first_byte(browser, each))
            # The first one also reads what the caches hold afterwards.
            page, floor = ([1_000 * second for second in found[1:]] for found in seconds.values())
            ratio = statistics.median(page) / statistics.median(floor)
            details = {"p95 ms": f"{percentile(page, 95):.1f}", "of the least page": f"{ratio:.1f}"}
            yield Result(f"page: {name}, first byte", statistics.median(page), "ms", details=details)


def _large_house(notes: int) -> House:
    house = furnish(unique_email(), "a lamp turns in 8 seconds")
    agent = house.person.new_agent(project=house.person.new_project("Large"), name="an agent")
    fill(agent, notes)
    house.person.project = agent.connection.project
    house.note = agent.connection.project.notes.get(seq=notes // 2)
    analyze()
    return house


def _newest_mark(browser: httpx2.Client, path: str) -> str:
    page = browser.get(path).text
    return page.partition('name="since" value="')[2].partition('"')[0]


def _first_byte(browser: httpx2.Client, path: str) -> float:
    begin = time.perf_counter()
    with browser.stream("GET", path, headers={"HX-Request": "true"} if "/live" in path else {}) as answer:
        body = answer.iter_raw()
        next(body, b"")
        seconds = time.perf_counter() - begin
        if answer.status_code not in {200, 204}:
            raise BenchError(f"{path} answered {answer.status_code}.")
        for _ in body:
            pass
    return seconds
