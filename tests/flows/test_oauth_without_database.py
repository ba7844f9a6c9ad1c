"""The database gone in the middle of a flow: 503 everywhere, and the same flow goes on when it is back (G7, O7)."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.flows.house import OWNER, House, open_house
from tests.oauth import CSRF, REDIRECT, Browser, OAuthClient, query_of, send


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
        assert "Nothing was lost" in page.text
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
