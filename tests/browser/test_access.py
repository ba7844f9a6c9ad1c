"""Connecting and access in a real browser: the first call seen, keys shown once, revoking; with script and without."""

import re
from typing import Any

import pytest
from playwright.sync_api import Error as PlaywrightError

from mcp_gateway.connections.models import Connection
from tests.browser.looks import LOOKS, Look
from tests.browser.steps import elsewhere, sign_in
from tests.cast import Person
from tests.live import LiveServer
from tests.loopback import listening
from tests.oauth import OAuthClient, query_of
from tests.wire import Wire

SCRIPT = pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])


def open_page(page: Any, person: Person, name: str) -> None:
    """Sign in and open one of the project's pages."""
    sign_in(page, person.owner.email, at=f"/accounts/login/?next=/projects/{person.project.pk}/{name}")
    page.wait_for_load_state()


def make_key(page: Any, name: str = "Nightly job") -> str:
    """Fill in the form of a new key, and return the secret that is shown."""
    page.get_by_label("Name, by which").fill(name)
    page.get_by_label("Read only").check()
    page.get_by_label("In another number of days").check()
    page.get_by_label("How many days").fill("7")
    page.get_by_role("button", name="Make the key").click()
    return str(page.locator("#paste-secret").inner_text())


def status_of(site: LiveServer, key: str) -> int:
    """Call once with a key."""
    with Wire(site.url, key) as wire:
        return wire.request("tools/list").status_code


def keys_of(person: Person) -> int:
    """Count the project's keys."""
    return elsewhere(lambda: Connection.objects.filter(project=person.project).count())


def test_the_first_call_shows_up_by_itself(new_page: Any, site: LiveServer, person: Person) -> None:
    page = new_page()
    open_page(page, person, "connect")
    page.get_by_text("Waiting for the first call…").wait_for()
    page.evaluate("window.stayed = true")
    agent = elsewhere(lambda: person.new_agent(name="Robin"))
    page.get_by_text("Robin has a key, waiting for its first call…").wait_for()
    assert status_of(site, agent.key) == 200
    page.get_by_text(re.compile(r"Robin connected, called (just now|\d+ seconds? ago)")).wait_for()
    assert page.evaluate("window.stayed"), "without a reload"


def test_a_client_is_seen_approved_then_connected_and_ends_when_revoked(
    new_page: Any, site: LiveServer, person: Person
) -> None:
    page, approving = new_page(), new_page()
    open_page(page, person, "connect")
    with listening() as listener:
        client = OAuthClient(site.url, listener.url, metadata={"client_name": "Claude Code"})
        sign_in(approving, person.owner.email, at=client.ask())
        approving.get_by_label("Lighthouse").check()
        approving.get_by_role("button", name="Approve").click()
        page.get_by_text("Claude Code is approved, waiting for its first call…").wait_for()
        approving.get_by_role("heading", name="You may close this window").wait_for()
        token = client.exchange(query_of(listener.heard[0])["code"]).json()["access_token"]
    assert status_of(site, token) == 200
    page.get_by_text("Claude Code connected, called").wait_for()
    page.get_by_role("link", name="Access", exact=True).click()
    page.get_by_text("Your browser went back to 127.0.0.1").wait_for()
    page.get_by_text("Revoke", exact=True).click()
    page.get_by_role("button", name="Revoke “Claude Code”").click()
    page.get_by_text("You revoked it.").wait_for()
    assert status_of(site, token) == 401


def test_without_script_the_page_says_to_load_it_again(new_page: Any, site: LiveServer, person: Person) -> None:
    page = new_page(java_script_enabled=False)
    open_page(page, person, "connect")
    assert page.get_by_text("Load this page again after you have connected").is_visible()
    assert page.get_by_role("button", name="Copy").count() == 0
    agent = elsewhere(lambda: person.new_agent(name="Robin"))
    status_of(site, agent.key)
    page.reload()
    page.get_by_text("Robin connected, called").wait_for()


def test_lines_are_copied(new_page: Any, site: LiveServer, person: Person) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    open_page(page, person, "connect")
    page.get_by_role("button", name="Copy the server's address").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == site.mcp_url
    page.locator("#claude-code").get_by_role("button", name="Copy the lines for Claude Code").click()
    lines = f"claude mcp add --transport http memford {site.mcp_url}\nclaude mcp login memford"
    page.wait_for_function("lines => navigator.clipboard.readText().then(text => text === lines)", arg=lines)


@SCRIPT
def test_a_key_works_and_is_shown_once(new_page: Any, site: LiveServer, person: Person, script: bool) -> None:
    page = new_page(java_script_enabled=script)
    open_page(page, person, "access")
    secret = make_key(page)
    assert status_of(site, secret) == 200
    assert secret.removeprefix("mfk_") not in page.url
    page.get_by_text("Nightly job", exact=True).wait_for()

    # Without script the answer stands at the form's address, and the browser sends the form again.
    page.reload()
    page.wait_for_load_state()
    assert secret not in page.content()
    assert page.get_by_text("That key was made already").count() == (0 if script else 1)
    assert keys_of(person) == 1
    assert page.locator(f"code:text-is('{secret[:8]}…')").first.is_visible()


@SCRIPT
def test_coming_back_does_not_show_it_again(new_page: Any, site: LiveServer, person: Person, script: bool) -> None:
    page = new_page(java_script_enabled=script)
    open_page(page, person, "access")
    secret = make_key(page)
    page.get_by_role("link", name="Notes", exact=True).click()
    page.wait_for_url(f"**/projects/{person.project.pk}")
    if script:
        page.go_back()
    else:
        # The answer was kept nowhere, so the browser asks before it sends the form again.
        with pytest.raises(PlaywrightError, match="ERR_CACHE_MISS"):
            page.go_back()
        page.wait_for_url("chrome-error://**")
    assert secret not in page.content()
    assert keys_of(person) == 1


def test_what_leaves_the_page_takes_the_key_along(new_page: Any, site: LiveServer, person: Person) -> None:
    # Where a browser keeps the whole page to come back to, it keeps it without the key.
    page = new_page()
    open_page(page, person, "access")
    make_key(page)
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))")
    assert page.locator("#paste-secret").count() == 0


@SCRIPT
def test_revoking_refuses_the_next_call(new_page: Any, site: LiveServer, person: Person, script: bool) -> None:
    agent = elsewhere(lambda: person.new_agent(name="Robin"))
    kept = elsewhere(lambda: person.new_agent(name="Wren"))
    assert status_of(site, agent.key) == 200
    page = new_page(java_script_enabled=script)
    open_page(page, person, "access")
    row = page.locator(f"#access-{agent.connection.pk}")
    assert not row.get_by_role("button", name="Revoke “Robin”").is_visible(), "it asks first"
    row.get_by_text("Revoke", exact=True).click()
    assert "cannot be undone" in row.inner_text()
    row.get_by_role("button", name="Revoke “Robin”").click()
    if script:
        row.get_by_text("You revoked it.").wait_for()
        assert page.evaluate("document.activeElement.id") == f"access-{agent.connection.pk}"
    else:
        page.get_by_text("“Robin” was revoked.").wait_for()
    assert status_of(site, agent.key) == 401
    assert status_of(site, kept.key) == 200


@SCRIPT
def test_what_cannot_be_keeps_what_was_typed(new_page: Any, site: LiveServer, person: Person, script: bool) -> None:
    page = new_page(java_script_enabled=script)
    open_page(page, person, "access")
    page.get_by_label("Name, by which").fill("Nightly job")
    page.get_by_label("In another number of days").check()
    page.get_by_label("How many days").fill("soon")
    page.get_by_role("button", name="Make the key").click()
    page.get_by_text("This must be between 1 and 3650.").wait_for()
    assert page.get_by_label("Name, by which").input_value() == "Nightly job"
    assert page.get_by_label("How many days").input_value() == "soon"
    assert page.get_by_label("How many days").get_attribute("aria-describedby") == "key-ends-error"
    page.get_by_label("How many days").fill("7")
    page.get_by_role("button", name="Make the key").click()
    page.locator("#paste-secret").wait_for()


def test_the_keyboard_is_enough(new_page: Any, site: LiveServer, person: Person) -> None:
    page = new_page()
    open_page(page, person, "access")
    page.get_by_label("Name, by which").focus()
    page.keyboard.type("By keys")
    page.keyboard.press("Enter")
    page.locator("#paste-secret").wait_for()
    assert page.evaluate("document.activeElement.id") == "key-title"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.copy") == "#paste-secret"


@pytest.mark.parametrize("kind", LOOKS)
def test_the_pages_look_right(new_page: Any, look: Look, site: LiveServer, person: Person, kind: str) -> None:
    page = new_page(**LOOKS[kind])
    open_page(page, person, "access")
    look(page)
    elsewhere(lambda: person.new_agent(name="W" * 100))
    ended = elsewhere(lambda: person.new_agent(name="Over"))
    page.goto(f"/projects/{person.project.pk}/connect")
    look(page)
    for details in page.locator(".connect details").all():
        details.locator("summary").click()
    look(page)
    page.goto(f"/projects/{person.project.pk}/access")
    make_key(page)
    page.locator(f"#access-{ended.connection.pk}").get_by_text("Revoke", exact=True).click()
    look(page)
    page.get_by_role("button", name="Revoke “Over”").click()
    page.get_by_text("You revoked it.").wait_for()
    look(page)
    page.goto(f"/projects/{person.project.pk}/access")
    page.get_by_text("1 ended").click()
    page.get_by_role("button", name="Make the key").click()
    page.get_by_label("Name, by which").fill(" ")
    page.get_by_role("button", name="Make the key").click()
    page.get_by_text("This must not be empty or blank.").wait_for()
    look(page)
    page.goto("/docs")
    look(page)
