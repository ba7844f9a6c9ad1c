"""What no browser sends is answered with a readable page and 4xx, or 503 where the database is away (W4)."""

import re
from typing import Any

import httpx2
import pytest
from django.test import Client

from accounts.services import ensure_owner
from tests.accounts.browser import PASSWORD, new_browser, sign_in
from tests.cast import unique_email
from tests.live import LiveServer, live_server

FORMS = ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/accounts/confirm-email/"]
VALUES = ["", "\x00", "a\x00@example.com", "x" * 300_000, "é" * 5_000, "\U0001f511@example.com", "a@b", "' OR 1=1 --"]


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("value", VALUES)
def test_odd_values_are_no_failure(path: str, value: str) -> None:
    fields = dict.fromkeys(["login", "password", "email", "password1", "code", "next"], value)
    assert new_browser().post(path, fields).status_code < 500
    assert new_browser().post(path, {"login": value, "password": "p" * 20, "email": value}).status_code < 500


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data", "application/x-nothing", ""])
def test_other_kinds_of_bodies_are_no_failure(path: str, kind: str) -> None:
    for body in (b"", b"[]", b"\xff\xfe\x00", b"--x\r\n"):
        assert new_browser().post(path, body, content_type=kind).status_code < 500


def test_a_huge_form_is_refused_with_a_page() -> None:
    answer = new_browser().post("/accounts/login/", {"login": "a@b.example", "password": "x" * 3_000_000})
    assert answer.status_code == 400
    assert "cannot be understood" in answer.content.decode()


def test_a_form_without_its_token_is_refused_with_a_page() -> None:
    for browser in (Client(HTTP_HOST="localhost", enforce_csrf_checks=True), _with_broken_token()):
        answer = sign_in(browser, "a@b.example")
        assert answer.status_code == 403
        assert "This form is too old" in answer.content.decode()


@pytest.mark.parametrize(
    "cookie", ["x", "", "\x00" * 20, "'; DROP TABLE x", "ü" * 40, "a" * 10_000, "\\000aaaaaaaaaaaaaa"]
)
def test_a_broken_session_cookie_is_no_session(cookie: str) -> None:
    browser = new_browser()
    browser.cookies["sessionid"] = cookie
    assert browser.get("/accounts/").status_code == 302
    assert browser.get("/").status_code == 200
    assert browser.get("/accounts/login/").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/sign-in/%00",
        "/invitation/%00",
        "/accounts/password/reset/key/1-%00/",
        "/accounts/password/reset/key/zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz-x-y/",
        "/accounts/password/reset/key/1-set-password/",
        "/accounts/login/?next=%00",
        "/accounts/signup/?email=%00",
        "/accounts/2fa/authenticate/",
        "/accounts/confirm-email/",
        "/accounts/nothing/",
    ],
)
def test_odd_addresses_are_no_failure(path: str) -> None:
    assert new_browser().get(path).status_code < 500
    assert new_browser().post(path).status_code < 500


@pytest.mark.parametrize(
    "path", ["/accounts/sessions/99999999999999999999999/end", "/accounts/2fa/webauthn/keys/99999999999999999999/edit/"]
)
def test_odd_numbers_are_no_failure(path: str) -> None:
    address = unique_email()
    ensure_owner(email=address, password=PASSWORD)
    browser = new_browser()
    sign_in(browser, address)
    assert browser.post(path).status_code < 500
    assert browser.get(path).status_code < 500


class TestServed:
    """The same through a real server, where bytes are not tidied up by a test client."""

    def test_nul_in_cookies_and_agents(self, server: LiveServer) -> None:
        address = unique_email()
        ensure_owner(email=address, password=PASSWORD)
        for headers in (
            {"Cookie": 'sessionid="\\000aaaaaaaaaaaa"'},
            {"Cookie": 'csrftoken="\\000"'},
            {"User-Agent": "a\\x00"},
        ):
            assert httpx2.get(f"{server.url}/accounts/", headers=headers).status_code < 500

    def test_sign_in_as_the_contract_words_it(self, server: LiveServer) -> None:
        address = unique_email()
        ensure_owner(email=address, password=PASSWORD)
        with httpx2.Client(base_url=server.url) as client:
            fields = {
                "login": address,
                "password": PASSWORD,
                "csrfmiddlewaretoken": token_in(client.get("/accounts/login/")),
            }
            answer = client.post("/accounts/login/", data=fields, headers={"Origin": server.url})
            assert answer.status_code == 302
            assert address in client.get("/projects").text


def test_without_a_database_there_is_a_page_and_503() -> None:
    away = "postgresql://memford_app:x@127.0.0.1:1/memford"
    with (
        live_server(DATABASE_URL=away, MEMFORD_SYSTEM_DATABASE_URL=away) as server,
        httpx2.Client(base_url=server.url) as client,
    ):
        token = token_in(client.get("/accounts/login/"))
        fields = {"login": "a@b.example", "password": "x", "csrfmiddlewaretoken": token}
        answers = [
            client.post("/accounts/login/", data=fields),
            client.get("/accounts/", headers={"Cookie": "sessionid=abcdefghijklmnopqrstuvwxyz012345"}),
            client.get("/sign-in/x", headers={"Cookie": "sessionid=abcdefghijklmnopqrstuvwxyz012345"}),
        ]
    for answer in answers:
        assert answer.status_code == 503, answer.text
        assert "cannot answer just now" in answer.text
        assert "Traceback" not in answer.text
        assert int(answer.headers["Retry-After"]) > 0


def test_without_redis_one_signs_in_all_the_same() -> None:
    address = unique_email()
    ensure_owner(email=address, password=PASSWORD)
    with live_server(REDIS_URL="redis://127.0.0.1:1/0") as server, httpx2.Client(base_url=server.url) as client:
        for expected in [200] * 5 + [200]:
            fields = {
                "login": address,
                "password": "wrong",
                "csrfmiddlewaretoken": token_in(client.get("/accounts/login/")),
            }
            answer = client.post("/accounts/login/", data=fields)
            assert answer.status_code == expected
        assert "Too many failed attempts" in answer.text


def token_in(answer: Any) -> str:
    """Return the token of a page's form."""
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', answer.text)
    assert found
    return found.group(1)


def _with_broken_token() -> Client:
    browser = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
    browser.cookies["csrftoken"] = "\x00'; broken"
    return browser
