"""Every page is known to those who look at, photograph and time the workspace."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import resolve

from tests.cast import unique_email
from tests.pages.house import PAGES, PARTS, SENT_TO, House, furnish, pages_by_name
from tests.pages.visiting import text_of, visitor

PASSWORD = "a lamp turns in 8 seconds"
STATEMENTS_MAX = 12


@pytest.fixture(scope="module")
def house(database_access: None) -> House:
    """A furnished workspace."""
    return furnish(unique_email(), PASSWORD)


def test_every_page_is_in_the_list(house: House) -> None:
    listed = {str(resolve(path.partition("?")[0]).url_name) for path in house.pages().values()}
    asked_for = {
        name
        for name, view in pages_by_name()
        if "GET" in view.methods and name not in PARTS  # type: ignore[attr-defined]
    }
    assert asked_for - SENT_TO <= listed


@pytest.mark.parametrize("name", PAGES)
def test_it_is_shown_under_a_strict_policy(house: House, name: str) -> None:
    answer = visitor(house.person).get(house.pages()[name])
    assert answer.status_code == 200
    policy = answer["Content-Security-Policy"]
    nonce = policy.partition("script-src 'nonce-")[2].partition("'")[0]
    assert nonce
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    page = text_of(answer)
    assert page.count("<script ") == page.count(f'nonce="{nonce}"') > 0
    assert " style=" not in page
    assert " onclick=" not in page
    assert {"private", "no-cache"} <= set(answer["Cache-Control"].split(", "))
    assert visitor(house.person).get(house.pages()[name])["Content-Security-Policy"] != policy


@pytest.mark.parametrize("name", PAGES)
def test_its_statements_are_few(house: House, name: str) -> None:
    """What each page's own tests hold with many rows besides."""
    browser = visitor(house.person)
    with CaptureQueriesContext(connection) as asked:
        assert browser.get(house.pages()[name]).status_code == 200
    assert len(asked) <= STATEMENTS_MAX, [each["sql"][:100] for each in asked]


@pytest.mark.parametrize("name", PAGES)
def test_a_stranger_signs_in_first(house: House, name: str) -> None:
    answer = visitor().get(house.pages()[name])
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/login/?next=/")
