"""The first page, and the account's own: what they say, taking everything along, deleting it, and leaving (W1)."""

import asyncio
import io
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from zipfile import ZipFile

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Activity, Owner
from accounts.services import ensure_owner, issue_invitation, issue_sign_in_link
from mcp_gateway.connections.authentication import InvalidCredential, authenticate
from memford.core.database import SYSTEM
from memford.core.limits import limits
from memford.env import env
from projects.archive import account
from projects.services import write_note
from tests.accounts.browser import PASSWORD, is_signed_in, mails_to, new_browser, show_again, sign_in
from tests.cast import Person, unique_email
from tests.oauth import Browser

DELETE = "/accounts/delete/"
TAKE = "/accounts/take-along/"
AUTHORIZE = "/authorize?client_id=abc&state=x%26y"
NEW = "the lamp turns in 9 seconds"
FORGET = '"cache"'


@pytest.fixture
def person() -> Person:
    """An owner with a password and a project."""
    return Person(ensure_owner(email=unique_email(), password=PASSWORD))


@pytest.fixture
def browser(person: Person) -> Client:
    """Their browser."""
    return browser_of(person)


def browser_of(person: Person, **more: Any) -> Client:
    """Sign somebody in."""
    client = new_browser(**more)
    sign_in(client, person.owner.email)
    return client


def page(browser: Client, path: str, status: int = 200) -> str:
    """Return a page's HTML."""
    answer = browser.get(path)
    assert answer.status_code == status, answer
    return str(answer.content.decode())


class TestFirstPage:
    def test_it_says_what_this_is_and_where_agents_connect(self) -> None:
        html = page(new_browser(), "/")
        assert f"{settings.PUBLIC_URL}/mcp" in html
        for words in ("Make a project", "Connect an agent", "It remembers", "Nothing is overwritten"):
            assert words in html
        assert "/accounts/login/" in html
        assert set(re.findall(r'src="([^"]*)"', html)) <= {"/static/memford/icon.svg", "/static/memford/landing.svg"}

    @pytest.mark.parametrize(("kind", "words"), [("open", ""), ("invite", "by invitation"), ("closed", "No new accou")])
    def test_sign_up_is_offered_where_it_is_open(self, monkeypatch: pytest.MonkeyPatch, kind: str, words: str) -> None:
        monkeypatch.setattr(env(), "signup", kind)
        html = page(new_browser(), "/")
        assert ("/accounts/signup/" in html) == (kind == "open")
        assert words in html

    def test_who_was_invited_may_sign_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(env(), "signup", "invite")
        browser = new_browser()
        browser.get(issue_invitation().removeprefix(settings.PUBLIC_URL))
        assert "/accounts/signup/" in page(browser, "/")

    def test_who_is_signed_in_is_led_to_their_projects(self, browser: Client) -> None:
        assert browser.get("/")["Location"] == "/projects"

    def test_it_asks_nothing_of_the_database(self) -> None:
        with CaptureQueriesContext(connection) as captured:
            page(new_browser(), "/")
        assert len(captured) == 0


class TestOverview:
    def test_it_shows_the_account_and_what_it_holds(self, browser: Client, person: Person) -> None:
        write_note(owner_id=person.id, project_id=person.project.pk, writer=person.hand, content="x" * 2_048)
        html = page(browser, "/accounts/")
        assert person.owner.email in html
        assert str(person.id) in html
        assert f"1 of {limits().projects_per_owner_max}" in html
        assert "2.0\xa0KB of 1.0\xa0GB" in html

    def test_deleted_projects_count_among_the_bytes_alone(self, browser: Client, person: Person) -> None:
        write_note(owner_id=person.id, project_id=person.project.pk, writer=person.hand, content="x" * 2_048)
        person.project.__class__.objects.filter(pk=person.project.pk).update(deleted_at=timezone.now())
        html = page(browser, "/accounts/")
        assert "0 of " in html
        assert "2.0\xa0KB of" in html

    def test_its_statements_do_not_grow(self, person: Person, browser: Client) -> None:
        page(browser, "/accounts/")
        with CaptureQueriesContext(connection) as few:
            page(browser, "/accounts/")
        for number in range(30):
            person.new_project(str(number))
        with CaptureQueriesContext(connection) as many:
            page(browser, "/accounts/")
        assert len(many) <= len(few) <= 12

    @pytest.mark.parametrize(
        ("path", "tab"),
        [
            ("/accounts/", "Overview"),
            ("/accounts/email/", "E-mail"),
            ("/accounts/password/change/", "Password"),
            ("/accounts/2fa/", "Second factor"),
            ("/accounts/2fa/webauthn/", "Passkeys"),
            ("/accounts/sessions/", "Sessions"),
            (TAKE, "Take along"),
            (DELETE, "Delete"),
        ],
    )
    def test_each_page_stands_in_the_frame_and_names_its_tab(
        self, browser: Client, person: Person, path: str, tab: str
    ) -> None:
        html = page(browser, path)
        assert f'aria-current="page">{tab}</a>' in html
        assert html.count('aria-current="page"') == 1
        assert person.project.name in html

    def test_the_question_who_is_there_stands_in_the_frame_too(self, browser: Client, person: Person) -> None:
        html = page(browser, "/accounts/reauthenticate/")
        assert person.project.name in html
        assert 'aria-current="page"' not in html

    def test_a_strangers_pages_show_no_frame(self) -> None:
        for path in ("/accounts/login/", "/accounts/signup/", "/accounts/password/reset/"):
            assert "Your account" not in page(new_browser(), path)

    def test_hostile_names_are_escaped(self, browser: Client, person: Person) -> None:
        person.new_project("<script>alert(1)</script>")
        for path in ("/accounts/", TAKE, DELETE):
            assert "<script>alert" not in page(browser, path)


class TestTakingAlong:
    def test_it_is_a_file_with_everything(self, browser: Client, person: Person) -> None:
        assert "Make the file" in page(browser, TAKE)
        answer = browser.post(TAKE)
        assert answer["Content-Type"] == "application/zip"
        assert re.fullmatch(r'attachment; filename="memford-[\d-]+\.zip"', answer["Content-Disposition"])
        assert "private" in answer["Cache-Control"]
        content = asyncio.run(whole(answer))
        assert answer["Content-Length"] == str(len(content))
        with ZipFile(io.BytesIO(content)) as file:
            assert any(str(person.project.pk) in name for name in file.namelist())

    def test_a_stranger_is_led_to_sign_in_and_gets_nothing(self) -> None:
        assert new_browser().get(TAKE)["Location"] == f"/accounts/login/?next={TAKE}"
        assert new_browser().post(TAKE).status_code == 401

    def test_no_other_site_causes_the_work(self, person: Person) -> None:
        guarded = browser_of(person)
        guarded.handler.enforce_csrf_checks = True
        assert guarded.post(TAKE).status_code == 403
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page(guarded, TAKE))
        assert token
        assert guarded.post(TAKE, {"csrfmiddlewaretoken": token[1]}).status_code == 200

    def test_a_second_at_once_is_told_to_wait(self, browser: Client, person: Person) -> None:
        with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
            cursor.execute(account._CLAIM, [str(person.id)])
            answer = browser.post(TAKE)
        assert answer.status_code == 409
        assert "put together already" in answer.content.decode()

    def test_it_is_served_whole_by_a_real_server(self, person: Person, server: Any) -> None:
        visitor = Browser(server.url, person.owner)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', visitor.get(TAKE).text)
        assert token
        data = {"csrfmiddlewaretoken": token[1]}
        answer = visitor.send("POST", TAKE, data=data, headers={"Origin": server.url})
        assert answer.status_code == 200
        with ZipFile(io.BytesIO(answer.content)) as file:
            assert file.testzip() is None


async def whole(answer: Any) -> bytes:
    """Read a streamed answer to its end."""
    return b"".join([chunk async for chunk in answer])


def sure(browser: Client) -> Client:
    """Show who is there."""
    show_again(browser)
    return browser


def delete(browser: Client, person: Person) -> Any:
    """Send the form that deletes the account."""
    return browser.post(DELETE, {"email": person.owner.email})


def is_open(person: Person) -> bool:
    """Whether the account lets somebody in."""
    return Owner.objects.get(pk=person.id).is_active


class TestDeleting:
    def test_the_page_says_what_happens_and_offers_the_file_first(self, browser: Client, person: Person) -> None:
        html = page(browser, DELETE)
        for words in ("signed out", "keys end", "1 project", "For 30 days", "take everything along", TAKE):
            assert words in html
        assert html.index(TAKE, html.index("First, take")) < html.index("Then delete it")
        assert 'name="email"' not in html, "first one shows who is there"

    def test_it_asks_who_is_there_and_comes_back(self, browser: Client, person: Person) -> None:
        way = re.search(r'href="(/accounts/reauthenticate/\?next=[^"]+)"', page(browser, DELETE))
        assert way
        assert browser.post(way[1], {"password": PASSWORD})["Location"] == DELETE
        assert 'name="email"' in page(browser, DELETE)
        assert is_open(person)

    def test_without_a_fresh_proof_nothing_is_deleted(self, browser: Client, person: Person) -> None:
        assert delete(browser, person)["Location"].startswith("/accounts/reauthenticate/?next=")
        assert is_open(person)

    @pytest.mark.parametrize("given", ["", "other@example.com", "<script>alert(1)</script>", "\x00", "x" * 5_000])
    def test_another_address_deletes_nothing(self, browser: Client, person: Person, given: str) -> None:
        answer = sure(browser).post(DELETE, {"email": given})
        assert answer.status_code == 400
        html = answer.content.decode()
        assert "not the address of this account" in html
        assert "<script>alert" not in html
        assert is_open(person)
        assert is_signed_in(browser)

    def test_from_then_on_nobody_gets_in(self, browser: Client, person: Person) -> None:
        agent, elsewhere = person.new_agent(), browser_of(person)
        assert authenticate(agent.key).principal.owner_id == person.id
        answer = delete(sure(browser), person)
        assert (answer.status_code, answer["Location"]) == (302, "/accounts/deleted/")
        assert answer["Clear-Site-Data"] == FORGET
        assert "The account is deleted" in page(browser, "/accounts/deleted/")
        assert not is_signed_in(browser)
        assert not is_signed_in(elsewhere)
        with pytest.raises(InvalidCredential):
            authenticate(agent.key)
        again = new_browser()
        refused = sign_in(again, person.owner.email)
        assert refused.status_code == 403
        html = refused.content.decode()
        assert "This account is deleted" in html
        assert "can bring it back" in html
        assert not is_signed_in(again)
        line = Activity.objects.filter(owner_id=person.id).latest("id")
        assert (line.tag, line.actor_kind) == ("account_closed", "owner")

    def test_only_who_knows_the_password_hears_that_it_is_deleted(self, browser: Client, person: Person) -> None:
        delete(sure(browser), person)
        answer = sign_in(new_browser(), person.owner.email, "a guess")
        assert answer.status_code == 200
        assert "deleted" not in answer.content.decode()

    def test_no_link_signs_in(self, browser: Client, person: Person) -> None:
        link = issue_sign_in_link(owner=person.owner).removeprefix(settings.PUBLIC_URL)
        delete(sure(browser), person)
        late = new_browser()
        assert late.post(link).status_code == 404
        assert not is_signed_in(late)

    def test_an_address_in_other_letters_is_the_same(self, browser: Client, person: Person) -> None:
        answer = sure(browser).post(DELETE, {"email": f"  {person.owner.email.upper()} "})
        assert answer["Location"] == "/accounts/deleted/"
        assert not is_open(person)

    def test_an_operator_brings_it_back_as_it_was(self, browser: Client, person: Person) -> None:
        agent = person.new_agent()
        delete(sure(browser), person)
        call_command("restore_account", person.owner.email)
        assert authenticate(agent.key).principal.owner_id == person.id
        assert person.project.name in page(browser_of(person), "/projects")

    def test_while_it_is_erased_nothing_is_promised(self, browser: Client, person: Person) -> None:
        delete(sure(browser), person)
        Owner.objects.filter(pk=person.id).update(erasure_began_at=timezone.now())
        html = sign_in(new_browser(), person.owner.email).content.decode()
        assert "is being erased" in html
        assert "bring it back" not in html

    def test_an_account_that_an_operator_switched_off_is_told_that_instead(self, person: Person) -> None:
        Owner.objects.filter(pk=person.id).update(is_active=False)
        browser = new_browser()
        answer = sign_in(browser, person.owner.email)
        assert answer["Location"] == "/accounts/inactive/"

    def test_no_other_site_deletes_it(self, person: Person) -> None:
        guarded = sure(browser_of(person))
        guarded.handler.enforce_csrf_checks = True
        assert delete(guarded, person).status_code == 403
        assert is_open(person)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page(guarded, DELETE))
        assert token
        fields = {"email": person.owner.email, "csrfmiddlewaretoken": token[1]}
        assert guarded.post(DELETE, fields)["Location"] == "/accounts/deleted/"

    def test_nobody_deletes_anothers(self, browser: Client, person: Person, other_owner: Person) -> None:
        assert sure(browser).post(DELETE, {"email": other_owner.owner.email}).status_code == 400
        assert is_open(other_owner)
        assert is_open(person)

    def test_two_tabs_at_once_end_alike(self, person: Person) -> None:
        tabs = [sure(browser_of(person)) for _ in range(2)]
        begin = Barrier(2)

        def press(tab: Client) -> Any:
            try:
                begin.wait(5)
                return delete(tab, person)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(2) as threads:
            answers = list(threads.map(press, tabs))
        # The later one either was let in still, or was signed out by the first.
        assert {answer.status_code for answer in answers} <= {302, 401}
        assert "/accounts/deleted/" in [answer.get("Location") for answer in answers]
        assert Activity.objects.filter(owner_id=person.id, tag="account_closed").count() == 1

    def test_a_tab_that_comes_late_is_told_that_it_is_signed_out(self, browser: Client, person: Person) -> None:
        late = sure(browser_of(person))
        delete(sure(browser), person)
        assert delete(late, person).status_code == 401

    def test_a_first_owner_who_came_by_a_link_can_too(self, owner: Person) -> None:
        browser = new_browser()
        browser.post(issue_sign_in_link(owner=owner.owner).removeprefix(settings.PUBLIC_URL))
        assert delete(browser, owner)["Location"] == "/accounts/deleted/"

    def test_strangers_are_led_to_sign_in(self) -> None:
        assert new_browser().get(DELETE)["Location"] == f"/accounts/login/?next={DELETE}"
        assert new_browser().post(DELETE, {"email": "x"}).status_code == 401

    def test_the_last_page_is_not_for_who_is_signed_in(self, browser: Client) -> None:
        assert browser.get("/accounts/deleted/")["Location"] == "/accounts/"


class TestLeaving:
    def test_signing_out_lets_the_browser_forget_its_pages(self, browser: Client) -> None:
        assert "Clear-Site-Data" not in browser.get("/accounts/logout/")
        assert browser.post("/accounts/logout/")["Clear-Site-Data"] == FORGET
        assert "Clear-Site-Data" not in browser.post("/accounts/logout/"), "there was nobody"

    def test_so_does_signing_out_by_the_api(self, browser: Client) -> None:
        answer = browser.post("/api/logout", headers={"Origin": settings.PUBLIC_URL})
        assert (answer.status_code, answer["Clear-Site-Data"]) == (204, FORGET)
        assert not is_signed_in(browser)

    def test_every_form_that_signs_out_forgets_drafts(self, browser: Client) -> None:
        for path in ("/projects", "/accounts/logout/", "/docs"):
            html = page(browser, path)
            forms = re.findall(r'<form[^>]*action="/accounts/logout/"[^>]*>', html)
            assert forms
            assert all("data-forgets" in form for form in forms)
            assert "memford/leaving.js" in html


class TestForgottenPassword:
    """Where one wanted to go survives a forgotten password, in the same browser."""

    def forget(self, browser: Client, person: Person, then: str) -> str:
        """Ask for the mail as one who came from sign-in, and return where the new password is chosen."""
        asked = browser.post("/accounts/password/reset/", {"email": person.owner.email, "next": then})
        assert asked["Location"] == "/accounts/password/reset/done/"
        body = mails_to(person.owner.email)[-1].body
        link = re.search(r"^(http\S+/password/reset/key/\S+)$", body, re.MULTILINE)
        assert link
        assert "authorize" not in body
        return link[1].removeprefix(settings.PUBLIC_URL)

    def choose(self, browser: Client, link: str) -> Any:
        """Open the mail's link and choose."""
        return browser.post(browser.get(link)["Location"], {"password1": NEW, "password2": NEW})

    def test_the_way_leads_from_sign_in_and_back(self, person: Person) -> None:
        html = page(new_browser(), f"/accounts/login/?next={AUTHORIZE.replace('&', '%26')}")
        way = re.search(r'href="(/accounts/password/reset/\?next=[^"]+)"', html)
        assert way
        assert 'name="next" value="/authorize?client_id=abc&amp;state=x' in page(new_browser(), way[1])

    def test_one_goes_on_after_it(self, person: Person) -> None:
        browser = new_browser()
        link = self.forget(browser, person, AUTHORIZE)
        assert self.choose(browser, link)["Location"] == AUTHORIZE
        assert is_signed_in(browser)
        browser.post("/accounts/logout/")
        assert sign_in(browser, person.owner.email, NEW)["Location"] == "/", "once"

    def test_in_another_browser_nothing_is_known_of_it(self, person: Person) -> None:
        link = self.forget(new_browser(), person, AUTHORIZE)
        assert self.choose(new_browser(), link)["Location"] == "/"

    def test_an_ordinary_sign_in_does_not_go_there(self, person: Person) -> None:
        browser = new_browser()
        self.forget(browser, person, AUTHORIZE)
        assert sign_in(browser, person.owner.email)["Location"] == "/"

    def test_what_is_remembered_ends_with_the_link(self, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
        browser = new_browser()
        link = self.forget(browser, person, AUTHORIZE)
        session = browser.session
        session["goal_after_reset"] = [AUTHORIZE, 0]
        session.save()
        assert self.choose(browser, link)["Location"] == "/"

    @pytest.mark.parametrize("there", ["https://evil.example/", "//evil.example", "/\\evil.example", "/" + "x" * 9_000])
    def test_only_our_own_pages_are_gone_on_to(self, person: Person, there: str) -> None:
        browser = new_browser()
        link = self.forget(browser, person, there)
        assert self.choose(browser, link)["Location"] == "/"

    def test_known_and_unknown_addresses_get_one_answer(self, person: Person) -> None:
        answers = []
        for email in (person.owner.email, unique_email()):
            browser = new_browser()
            answer = browser.post("/accounts/password/reset/", {"email": email, "next": AUTHORIZE})
            answers.append((answer.status_code, answer["Location"], sorted(answer.cookies), dict(browser.session)))
        assert [answer[:3] for answer in answers] == [answers[0][:3]] * 2
        assert [list(answer[3]) for answer in answers] == [["goal_after_reset"]] * 2
