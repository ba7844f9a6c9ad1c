"""Taking everything along, deleting the account and leaving, in a real browser (W1, W3)."""

from typing import Any
from zipfile import ZipFile

import pytest

from accounts.models import Owner
from accounts.services import ensure_owner
from projects.services import write_note
from tests.browser.conftest import CHROMIUM
from tests.browser.looks import LOOKS, Look
from tests.browser.mailbox import Mailbox
from tests.browser.steps import PASSWORD, elsewhere, expect_signed_in, show_again, sign_in, sign_out
from tests.cast import Person, unique_email
from tests.live import LiveServer

SCRIPTS = pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
NOTE = "The lamp turns once in eight seconds."
NEW = "the lamp turns in 9 seconds"


@pytest.fixture
def person() -> Person:
    """An owner with a password, a project and a note."""

    def make() -> Person:
        person = Person(ensure_owner(email=unique_email(), password=PASSWORD))
        write_note(owner_id=person.id, project_id=person.project.pk, writer=person.hand, content=NOTE)
        return person

    return elsewhere(make)


@SCRIPTS
def test_everything_is_taken_along(new_page: Any, person: Person, script: bool) -> None:
    page = new_page(java_script_enabled=script)
    sign_in(page, person.owner.email)
    page.get_by_role("link", name="Account").click()
    page.get_by_role("link", name="Take along").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Make the file").click()
    assert download.value.suggested_filename.endswith(".zip")
    with ZipFile(download.value.path()) as file:
        (name,) = [name for name in file.namelist() if name.startswith("projects/")]
        assert NOTE in file.read(name).decode()
    assert page.get_by_role("heading", name="Take everything along").is_visible()


@SCRIPTS
def test_the_account_is_deleted(new_page: Any, person: Person, script: bool) -> None:
    page = new_page(java_script_enabled=script)
    sign_in(page, person.owner.email)
    page.goto("/accounts/delete/")
    with page.expect_download():
        page.get_by_role("button", name="Make the file").click()
    page.get_by_role("link", name="Go on to deleting").click()
    show_again(page)
    page.get_by_label("Type the account's e-mail address").fill("another@example.com")
    page.get_by_role("button", name="Delete the account").click()
    assert page.get_by_text("This is not the address of this account").is_visible()
    page.get_by_label("Type the account's e-mail address").fill(person.owner.email)
    page.get_by_role("button", name="Delete the account").click()
    page.get_by_role("heading", name="The account is deleted").wait_for()
    assert not elsewhere(lambda: Owner.objects.get(pk=person.id).is_active)
    page.goto(f"/projects/{person.project.pk}")
    assert page.get_by_role("heading", name="Sign in").is_visible()
    sign_in(page, person.owner.email)
    assert page.get_by_role("heading", name="This account is deleted").is_visible()


@SCRIPTS
def test_back_after_signing_out_asks_anew(new_page: Any, person: Person, script: bool) -> None:
    page = new_page(java_script_enabled=script)
    read_then_sign_out(page, person)
    page.go_back()
    assert page.get_by_role("heading", name="Sign in").is_visible()
    assert NOTE not in page.content()


def test_back_after_signing_out_shows_nothing_where_the_browser_keeps_pages_whole(
    chromium: Any, site: LiveServer, person: Person
) -> None:
    """Playwright's Chromium keeps none; people's do."""
    without = ["--disable-back-forward-cache"]
    browser = chromium.browser_type.launch(executable_path=CHROMIUM, args=["--no-sandbox"], ignore_default_args=without)
    page = browser.new_page(base_url=site.url)
    read_then_sign_out(page, person, keeps=True)
    # It waits for a page to load, and one that was kept has loaded long ago.
    page.go_back(wait_until="commit")
    page.get_by_role("heading", name="Sign in").wait_for()
    assert NOTE not in page.content()
    browser.close()


def read_then_sign_out(page: Any, person: Person, *, keeps: bool = False) -> None:
    """Read notes, see that Back comes back to them while one is signed in, and sign out from there."""
    sign_in(page, person.owner.email)
    expect_signed_in(page)
    page.goto(f"/projects/{person.project.pk}")
    page.evaluate("window.marked = true")
    page.goto("/docs")
    page.go_back(wait_until="commit")
    page.get_by_text(NOTE).wait_for()
    assert bool(page.evaluate("window.marked")) is keeps, "whether the page was kept whole"
    sign_out(page)
    page.get_by_role("link", name="Sign in").wait_for()


def test_a_draft_is_forgotten_with_signing_out(new_page: Any, person: Person) -> None:
    page = new_page()
    sign_in(page, person.owner.email)
    page.goto(f"/projects/{person.project.pk}")
    page.locator("textarea[name=content]").first.fill("half a thought")
    page.goto("/docs")
    assert "half a thought" in page.evaluate("JSON.stringify(sessionStorage)")
    sign_out(page)
    page.get_by_role("link", name="Sign in").wait_for()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_draft_is_forgotten_with_the_account(new_page: Any, person: Person) -> None:
    page = new_page()
    sign_in(page, person.owner.email)
    page.goto(f"/projects/{person.project.pk}")
    page.locator("textarea[name=content]").first.fill("half a thought")
    page.goto("/accounts/delete/")
    page.get_by_role("link", name="Go on to deleting").click()
    show_again(page)
    page.get_by_label("Type the account's e-mail address").fill("another@example.com")
    page.get_by_role("button", name="Delete the account").click()
    assert "half a thought" in page.evaluate("JSON.stringify(sessionStorage)"), "nothing was deleted yet"
    page.get_by_label("Type the account's e-mail address").fill(person.owner.email)
    page.get_by_role("button", name="Delete the account").click()
    page.get_by_role("heading", name="The account is deleted").wait_for()
    assert page.evaluate("sessionStorage.length") == 0


def test_who_forgot_the_password_arrives_where_they_were_going(new_page: Any, mailbox: Mailbox, person: Person) -> None:
    page = new_page()
    page.goto(f"/projects/{person.project.pk}")
    page.get_by_role("link", name="Forgot your password?").click()
    page.get_by_label("E-mail address").fill(person.owner.email)
    page.get_by_role("button", name="Send the link").click()
    page.get_by_role("heading", name="Look at your mail").wait_for()
    page.goto(mailbox.link(person.owner.email))
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("New password, once more").fill(NEW)
    page.get_by_role("button", name="Set the password").click()
    page.wait_for_url(f"**/projects/{person.project.pk}")
    assert page.get_by_text(NOTE).is_visible()


@pytest.mark.parametrize("kind", LOOKS)
def test_the_looks(new_page: Any, look: Look, person: Person, kind: str) -> None:
    page = new_page(**LOOKS[kind])
    page.goto("/")
    page.get_by_text("You run this Memford?").click()
    look(page)
    sign_in(page, person.owner.email)
    expect_signed_in(page)
    for path in ("/accounts/", "/accounts/take-along/", "/accounts/delete/"):
        page.goto(path)
        look(page)
    page.get_by_role("link", name="Go on to deleting").click()
    show_again(page)
    look(page)
    page.get_by_label("Type the account's e-mail address").fill("another@example.com")
    page.get_by_role("button", name="Delete the account").click()
    described = page.get_by_label("Type the account's e-mail address").get_attribute("aria-describedby")
    assert "email-error" in described
    look(page)
    page.get_by_label("Type the account's e-mail address").fill(person.owner.email)
    page.get_by_role("button", name="Delete the account").click()
    page.get_by_role("heading", name="The account is deleted").wait_for()
    look(page)
    sign_in(page, person.owner.email)
    look(page)
