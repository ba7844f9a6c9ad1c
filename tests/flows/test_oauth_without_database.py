"""The database gone in the middle of a flow: 503 everywhere, and the same flow goes on when it is back (G7, O7)."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import pytest

from tests.flows.house import OWNER, House, open_house
from tests.live import wait_until
from tests.oauth import CSRF, REDIRECT, Browser, OAuthClient, query_of, send

HOSTS: Final = 4
DATABASE_KILLS: Final = 3
PATIENCE_SECONDS: Final = 30
PAUSE_SECONDS: Final = 0.02


@pytest.fixture(scope="module")
def house(database_access: None) -> Iterator[House]:
    """An instance whose database may be killed."""
    with open_house(1, workers=2) as opened:
        yield opened


def signed_in(house: House) -> Browser:
    """Sign in with the password, as the owner does."""
    browser = Browser(house.server.url)
    token = CSRF.search(browser.get("/accounts/login/").text)
    assert token is not None
    form = {"csrfmiddlewaretoken": token[1], **OWNER}
    answer = browser.send("POST", "/accounts/login/", data=form, headers={"Origin": house.server.url})
    assert answer.status_code == 302, answer.text
    return browser


def approved(house: House, client: OAuthClient, browser: Browser) -> str:
    """Ask, approve, and return the code."""
    answer = browser.decide(client.ask(), project=house.project_id, access="read_write", decision="approve")
    assert answer.status_code == 303, answer.text
    return query_of(answer.headers["location"])["code"]


def check_unavailable(answer: httpx2.Response) -> None:
    """Judge an answer of a service that cannot know: never that a credential were bad."""
    assert answer.status_code == 503, (answer.status_code, answer.text)
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()["error"] == "temporarily_unavailable"


def call(house: House, access_token: str) -> httpx2.Response:
    """Call the agents' endpoint."""
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    return send("POST", house.server.mcp_url, json=ping, headers={"Authorization": f"Bearer {access_token}"})


def test_a_flow_goes_on_where_it_was_when_the_database_is_back(house: House) -> None:
    client, browser = OAuthClient(house.server.url), signed_in(house)
    path = client.ask()
    code = approved(house, client, browser)
    house.kill_database()
    try:
        check_unavailable(client.exchange(code))
        check_unavailable(send("POST", f"{house.server.url}/register", json={"redirect_uris": [REDIRECT]}))
        page = browser.get(path)
        assert page.status_code == 503
        assert page.headers["content-type"].startswith("text/html")
        assert "Nothing is lost" in page.text
        assert "memford.css" in page.text, "it looks like our other pages"
        assert "no-store" in page.headers["cache-control"]
        metadata = send("GET", f"{house.server.url}/.well-known/oauth-authorization-server")
        assert metadata.status_code == 200, "what clients discover needs no database"
    finally:
        house.start_database()
    tokens = client.exchange(code)
    assert tokens.status_code == 200, tokens.text
    assert browser.get(path).status_code == 200


def test_no_log_in_is_lost_with_the_database(house: House) -> None:
    client, browser = OAuthClient(house.server.url), signed_in(house)
    tokens: dict[str, Any] = client.exchange(approved(house, client, browser)).json()
    house.kill_database()
    try:
        for _ in range(3):
            check_unavailable(client.refresh(tokens["refresh_token"]))
            check_unavailable(client.revoke(tokens["refresh_token"]))
            check_unavailable(call(house, tokens["access_token"]))
    finally:
        house.start_database()
    assert call(house, tokens["access_token"]).status_code == 200
    pair = client.refresh(tokens["refresh_token"])
    assert pair.status_code == 200, pair.text
    assert call(house, pair.json()["access_token"]).status_code == 200
    assert client.revoke(pair.json()["refresh_token"]).status_code == 200
    assert call(house, pair.json()["access_token"]).status_code == 401


def test_an_approval_that_met_no_database_is_repeated_by_loading_the_page_again(house: House) -> None:
    client, browser = OAuthClient(house.server.url), signed_in(house)
    path = client.ask()
    token = CSRF.search(browser.get(path).text)
    assert token is not None
    decision = {"project": house.project_id, "access": "read_write", "decision": "approve"}
    form = {"csrfmiddlewaretoken": token[1], **decision}
    house.kill_database()
    try:
        page = browser.send("POST", path, data=form, headers={"Origin": house.server.url})
    finally:
        house.start_database()
    assert page.status_code == 503
    assert int(page.headers["retry-after"]) > 0
    assert page.headers["content-type"].startswith("text/html")
    # A browser that reloads sends its form again.
    again = browser.send("POST", path, data=form, headers={"Origin": house.server.url})
    assert again.status_code == 303, again.text
    assert client.exchange(query_of(again.headers["location"])["code"]).status_code == 200
    statement = (
        "SELECT count(*) FROM connections_connection c JOIN authorization_application a ON a.id = c.client_id"
        " WHERE a.client_id = %s"
    )
    assert house.rows(statement, client.id) == [(1,)]


@dataclass
class Host:
    """A program that refreshes and works without a pause, and takes no answer but "come again" for a reason to wait."""

    house: House
    client: OAuthClient
    tokens: dict[str, Any]
    rounds: int = 0
    refusals: list[httpx2.Response] = field(default_factory=list)

    def work_until(self, stop: threading.Event) -> None:
        """Refresh and call, round after round; what is unanswered is repeated with the same token."""
        while not stop.is_set():
            self.tokens = self._persist(lambda: self.client.refresh(self.tokens["refresh_token"])).json()
            self._persist(lambda: call(self.house, self.tokens["access_token"]))
            self.rounds += 1

    def _persist(self, attempt: Any) -> httpx2.Response:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            answer: httpx2.Response = attempt()
            if answer.status_code == 200:
                return answer
            check_unavailable(answer)
            self.refusals.append(answer)
            time.sleep(PAUSE_SECONDS)
        raise AssertionError(f"not answered within {PATIENCE_SECONDS} s")


def test_hosts_that_refresh_all_the_time_lose_nothing_when_the_database_is_killed(house: House) -> None:
    browser, hosts = signed_in(house), []
    for _ in range(HOSTS):
        client = OAuthClient(house.server.url)
        hosts.append(Host(house, client, client.exchange(approved(house, client, browser)).json()))
    stop = threading.Event()
    with ThreadPoolExecutor(HOSTS) as threads:
        working = [threads.submit(host.work_until, stop) for host in hosts]
        try:
            for _ in range(DATABASE_KILLS):
                rounds = await_rounds(hosts, working, [host.rounds for host in hosts])
                house.kill_database()
                seen = [len(host.refusals) for host in hosts]
                wait_until(
                    lambda seen=seen: all(
                        host.refusals[count:] or work.done()
                        for host, count, work in zip(hosts, seen, working, strict=True)
                    ),
                    what="refusals while the database is down",
                )
                house.start_database()
            await_rounds(hosts, working, rounds)
        finally:
            stop.set()
    for work in working:
        work.result()
    (revoked,) = house.rows(
        "SELECT count(*) FROM connections_connection c JOIN authorization_application a ON a.id = c.client_id"
        " WHERE a.client_id = ANY(%s) AND c.revoked_at IS NOT NULL",
        [host.client.id for host in hosts],
    )
    assert revoked == (0,)


def await_rounds(hosts: list[Host], working: list[Any], before: list[int]) -> list[int]:
    """Wait until every host has worked on, and return how far each came."""
    wait_until(
        lambda: (
            any(work.done() for work in working)
            or all(host.rounds >= count + 3 for host, count in zip(hosts, before, strict=True))
        ),
        limit_seconds=PATIENCE_SECONDS,
        what="further rounds of every host",
    )
    for work in working:
        # One ends early only by its own failure, which is told here.
        if work.done():
            work.result()
    return [host.rounds for host in hosts]
