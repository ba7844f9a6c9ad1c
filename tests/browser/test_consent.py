"""Consent in a real browser, under our own policy, back to every kind of client (O3, O5, W4)."""

from typing import Any

import pytest

from mcp_gateway.connections.models import Connection
from tests.browser.looks import LOOKS, Look
from tests.browser.mailbox import Mailbox
from tests.browser.steps import elsewhere, sign_in, sign_up
from tests.cast import Person, unique_email
from tests.live import LiveServer, wait_until
from tests.loopback import listening
from tests.oauth import OAuthClient, query_of


def approve(page: Any, *, project: str = "Lighthouse") -> None:
    """Pick a project and approve."""
    page.get_by_role("heading", name="use a project?").wait_for()
    page.get_by_label(project).check()
    page.get_by_role("button", name="Approve").click()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_loopback_port_is_reached(new_page: Any, site: LiveServer, person: Person, host: str, script: bool) -> None:
    page = new_page(java_script_enabled=script)
    with listening(host) as listener:
        client = OAuthClient(site.url, listener.url)
        sign_in(page, person.owner.email, at=client.ask())
        approve(page)
        page.get_by_role("heading", name="You may close this window").wait_for()
        query = query_of(listener.heard[0])
    assert (query["state"], query["iss"]) == ("a state & more", site.url)
    assert client.exchange(query["code"]).status_code == 200


def test_an_https_address_is_reached(new_page: Any, site: LiveServer, person: Person) -> None:
    page = new_page()
    client = OAuthClient(site.url, "https://client.example/cb")
    # Nobody answers at that name here; the browser's own request is what counts.
    page.route(
        "https://client.example/**", lambda route: route.fulfill(body="<h1>Arrived</h1>", content_type="text/html")
    )
    sign_in(page, person.owner.email, at=client.ask())
    approve(page)
    page.get_by_role("heading", name="Arrived").wait_for()
    assert query_of(page.url)["iss"] == site.url


@pytest.mark.parametrize("scheme", ["cursor", "vscode", "com.example.app"])
def test_a_scheme_of_the_clients_own_is_handed_over(
    new_page: Any, site: LiveServer, person: Person, scheme: str
) -> None:
    page = new_page()
    client = OAuthClient(site.url, f"{scheme}://oauth/callback")
    handed_over: list[Any] = []
    # Chromium asks for the address like for any other, and gives up where no program has the scheme.
    page.on("requestfailed", lambda request: handed_over.append(request))
    sign_in(page, person.owner.email, at=client.ask())
    approve(page)
    wait_until(lambda: page.wait_for_timeout(20) or handed_over, what="the request to the scheme")
    request = handed_over[0]
    assert request.url.startswith(f"{scheme}://oauth/callback?code=")
    # What the policy holds back fails as blocked, and stands in the console besides, which fails this test too.
    assert request.failure == "net::ERR_ABORTED"
    assert client.exchange(query_of(request.url)["code"]).status_code == 200


def test_an_address_that_was_not_validated_is_held_back_by_the_policy(
    chromium: Any, site: LiveServer, person: Person
) -> None:
    # A page of its own: this one is meant to complain.
    context = chromium.new_context(base_url=site.url)
    page = context.new_page()
    with listening() as listener, listening() as other:
        client = OAuthClient(site.url, listener.url)
        sign_in(page, person.owner.email, at=client.ask())
        page.get_by_role("heading", name="use a project?").wait_for()
        held = page.evaluate(
            """url => new Promise(resolve => {
                document.addEventListener("securitypolicyviolation", event => resolve(event.effectiveDirective));
                const form = document.createElement("form");
                form.action = url;
                document.body.append(form);
                form.submit();
            })""",
            other.url,
        )
    context.close()
    assert held == "form-action"
    assert other.heard == []


def test_denying_is_told_to_the_client(new_page: Any, site: LiveServer, person: Person) -> None:
    page = new_page()
    with listening() as listener:
        client = OAuthClient(site.url, listener.url)
        sign_in(page, person.owner.email, at=client.ask())
        page.get_by_role("button", name="Deny").click()
        page.get_by_role("heading", name="You may close this window").wait_for()
        assert query_of(listener.heard[0])["error"] == "access_denied"
    assert elsewhere(lambda: Connection.objects.filter(client__client_id=client.id).count()) == 0


def test_the_keyboard_is_enough(new_page: Any, site: LiveServer, person: Person) -> None:
    elsewhere(lambda: person.new_project("Second"))
    page = new_page()
    with listening() as listener:
        client = OAuthClient(site.url, listener.url)
        sign_in(page, person.owner.email, at=client.ask())
        page.get_by_label("Lighthouse").focus()
        assert not page.get_by_label("Lighthouse").is_checked()
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
        assert page.get_by_label("Second").is_checked()
        for _ in range(3):
            page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.value") == "approve"
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="You may close this window").wait_for()
    project = elsewhere(lambda: Connection.objects.get(client__client_id=client.id).project.name)
    assert project == "Second"


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_signing_up_and_verifying_resume_the_request(
    new_page: Any, site: LiveServer, mailbox: Mailbox, script: bool
) -> None:
    page, address = new_page(java_script_enabled=script), unique_email()
    with listening() as listener:
        client = OAuthClient(site.url, listener.url)
        page.goto(client.ask())
        page.get_by_role("link", name="Sign up").click()
        sign_up(page, mailbox, address, at=page.url)
        page.get_by_role("heading", name="use a project?").wait_for()
        assert page.get_by_label("A new project").is_checked(), "there is no other yet"
        page.get_by_label("Name of the new project").fill("Made on the way")
        page.get_by_role("button", name="Approve").click()
        page.get_by_role("heading", name="You may close this window").wait_for()
        assert "code" in query_of(listener.heard[0])
    made = elsewhere(lambda: Connection.objects.get(client__client_id=client.id).project)
    assert made.name == "Made on the way"


@pytest.mark.parametrize("kind", LOOKS)
def test_the_pages_look_right(new_page: Any, look: Look, site: LiveServer, person: Person, kind: str) -> None:
    elsewhere(lambda: person.new_project("A project with a rather long name that has to be wrapped on a phone"))
    client = OAuthClient(site.url, metadata={"client_name": "W" * 100})
    page = new_page(**LOOKS[kind])
    sign_in(page, person.owner.email, at=client.ask())
    page.get_by_role("heading", name="use a project?").wait_for()
    look(page)
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("alert").first.wait_for()
    look(page)
    page.goto(client.ask(client_id="unknown"))
    look(page)
    page.goto(client.ask(redirect_uri="https://evil.example/"))
    look(page)
    elsewhere_client = OAuthClient(site.url, "https://evil.example/cb")
    page.goto(elsewhere_client.ask(response_type="x"))
    page.get_by_role("link", name="Go back to evil.example").wait_for()
    look(page)
