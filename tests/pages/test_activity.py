"""Who did what when, as an owner reads it: every tag in words, newest first, and without a reload (A7, W2)."""

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.activity import record_activity
from accounts.models import Activity
from mcp_gateway.connections.services import revoke_connection
from memford.core.activity import Tag
from memford.core.database import SYSTEM
from memford.core.principal import Writer
from projects.pages.activity import SENTENCES
from projects.services import assign_standards, create_standard, delete_project, revise_note, write_note
from tests.cast import Agent, Person
from tests.pages.visiting import PART, field, text_of, visitor

ACCOUNT = "/activity"


@pytest.fixture
def browser(owner: Person) -> Client:
    """The owner's browser."""
    return visitor(owner)


@pytest.fixture
def log(owner: Person) -> str:
    """The address of the project's activity."""
    return f"/projects/{owner.project.pk}/activity"


def visible(page: str) -> str:
    """Return a page's words as they are read, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))


def lines_of(page: str) -> list[int]:
    """Return the numbers of the lines that a page shows, from top to bottom."""
    return [int(each) for each in re.findall(r'id="line-(\d+)"', page)]


def record(person: Person, tag: Tag = Tag.PROJECT_CHANGED, *, actor: Writer | None = None, **more: Any) -> Activity:
    """Add a line to the project's log."""
    place = {"project_id": person.project.pk} | more
    record_activity(owner_id=person.id, tag=tag, actor=actor or person.hand, **place)
    return Activity.objects.filter(owner_id=person.id).latest("id")


class TestWords:
    def test_every_tag_has_its_sentence(self) -> None:
        assert set(SENTENCES) == set(Tag)

    @pytest.mark.parametrize("tag", Tag)
    @pytest.mark.parametrize("of_project", [True, False], ids=["project", "account"])
    @pytest.mark.parametrize(
        "detail",
        [
            {},
            {
                "fields": 3,
                "revision": None,
                "count": "x",
                "by": 7,
                "kind": [],
                "status": {},
                "reason": None,
                "name": {},
            },
            {"fields": [], "status": "deleted", "reason": "unheard of", "access": "everything", "redirect_host": None},
        ],
    )
    def test_no_detail_breaks_a_line(
        self, browser: Client, owner: Person, log: str, tag: Tag, of_project: bool, detail: dict[str, Any]
    ) -> None:
        line = record(owner, tag, object_id=uuid.uuid4(), **detail, **({} if of_project else {"project_id": None}))
        page = text_of(browser.get(log if of_project else ACCOUNT))
        assert lines_of(page)[0] == line.pk

    def test_a_tag_of_a_newer_version_is_shown_as_it_is(self, browser: Client, owner: Person, log: str) -> None:
        line = record(owner)
        Activity.objects.using(SYSTEM).filter(pk=line.pk).update(tag="lamp_lit")
        assert "lamp lit" in text_of(browser.get(log))

    def test_what_was_done_is_said_with_links(self, browser: Client, owner: Person, agent: Agent, log: str) -> None:
        project = owner.project.pk
        receipt = write_note(
            owner_id=owner.id, project_id=project, writer=agent.principal.writer, content="secret words"
        )
        where: dict[str, Any] = {"owner_id": owner.id, "project_id": project, "note_id": receipt.id}
        revise_note(**where, expected_revision=1, actor=owner.hand, content="other words")
        revise_note(**where, expected_revision=2, actor=owner.hand, status="deleted")
        standard = create_standard(owner_id=owner.id, title="Tone", content="plain", actor=owner.hand)
        assign_standards(
            owner_id=owner.id, project_id=project, expected_revision=0, standard_ids=[standard.pk], actor=owner.hand
        )
        revoke_connection(owner_id=owner.id, connection_id=agent.connection.pk, actor=owner.hand)
        page = text_of(browser.get(log))
        words = visible(page)
        email = owner.owner.email
        said = [
            f"{email} owner ended a connection or key",
            f"{email} owner changed which standards agents are given: 1 now",
            f"{email} owner deleted a note",
            f"{email} owner edited a note, now revision 2",
            "an agent key wrote a note",
            f"{email} owner made the key “an agent”, which may read and write",
            f"{email} owner made the project",
        ]
        at = [words.index(each) for each in said]
        assert at == sorted(at), "newest first"
        assert page.count(f'href="/projects/{project}/notes/{receipt.id}"') == 3
        for part in ("access", "standards"):
            assert re.search(rf'<li[^>]*>(?:(?!</li>).)*href="/projects/{project}/{part}"', page)
        assert "secret words" not in page
        assert "other words" not in page
        assert "put the standard “Tone” on the shelf" in visible(text_of(browser.get(ACCOUNT)))
        assert f'href="/standards/{standard.pk}"' in text_of(browser.get(ACCOUNT))

    def test_what_is_gone_is_no_link(self, browser: Client, owner: Person, other_owner: Person, log: str) -> None:
        theirs = write_note(
            owner_id=other_owner.id, project_id=other_owner.project.pk, writer=other_owner.hand, content="theirs"
        )
        record(owner, Tag.NOTE_WRITTEN, object_id=theirs.id)
        record(owner, Tag.NOTE_WRITTEN, object_id=None)
        page = text_of(browser.get(log))
        assert visible(page).count("wrote a note") == 2
        assert "/notes/" not in page.split('id="log"')[1]

    def test_a_reused_token_stands_out(self, browser: Client, owner: Person, agent: Agent, log: str) -> None:
        writer = Writer("oauth", agent.connection.pk, "Claude", owner.id)
        record(owner, Tag.TOKEN_REUSED, actor=writer, object_id=agent.connection.pk, reason="token_reused")
        record(owner, Tag.CONNECTION_REVOKED, actor=writer, object_id=agent.connection.pk, reason="token_reused")
        page = text_of(browser.get(log))
        assert page.count('class="alarm"') == 1
        words = visible(page)
        assert "Look at this. Claude agent presented a token or code that was used up before." in words
        assert "Claude agent lost its connection, because its used-up token came back" in words

    def test_names_are_escaped(self, browser: Client, owner: Person, log: str) -> None:
        hostile = "<script>alert(1)</script>"
        actor = Writer("oauth", uuid.uuid4(), hostile, owner.id)
        record(owner, Tag.CONNECTION_APPROVED, actor=actor, name=hostile, access="read_only", redirect_host=hostile)
        record(owner, Tag.PROJECT_CHANGED, fields=[hostile])
        create_standard(owner_id=owner.id, title=hostile, content="x", actor=owner.hand)
        for path in (log, ACCOUNT, log + "/live?since=0"):
            page = text_of(browser.get(path))
            assert "&lt;script&gt;alert(1)" in page
            assert "<script>alert" not in page

    def test_signing_in_is_the_accounts(self, browser: Client, owner: Person, log: str) -> None:
        record(owner, Tag.SIGNED_IN, project_id=None, by="password + totp")
        record(owner, Tag.LOGIN_SESSIONS_ENDED, project_id=None, count=2)
        words = visible(text_of(browser.get(ACCOUNT)))
        assert "signed in with a password and an authenticator app" in words
        assert "signed out 2 other browsers" in words
        assert "made the project" not in words
        assert "signed in with" not in text_of(browser.get(log))

    def test_an_empty_log_teaches(self, browser: Client) -> None:
        assert "Nothing has happened yet" in text_of(browser.get(ACCOUNT))


class TestPages:
    @pytest.mark.parametrize("of_project", [True, False], ids=["project", "account"])
    def test_every_line_is_seen_once_under_its_day(
        self, browser: Client, owner: Person, log: str, of_project: bool
    ) -> None:
        path, project_id = (log, owner.project.pk) if of_project else (ACCOUNT, None)
        for number in range(240):
            line = record(owner, project_id=project_id)
            Activity.objects.using(SYSTEM).filter(pk=line.pk).update(
                at=timezone.now() - timedelta(hours=(240 - number) * 2)
            )
        seen: list[int] = []
        days: list[str] = []
        at: str | None = path
        headers: dict[str, Any] = {}
        while at:
            page = text_of(browser.get(at, **headers))
            seen += lines_of(page)
            days += re.findall(r'<h2 id="day-([^"]+)"', page)
            older = re.search(r'href="(\?before=[^"]*)"', page)
            at = path + older.group(1).replace("&amp;", "&") if older else None
            headers = PART
        stored = Activity.objects.filter(owner_id=owner.id, project_id=project_id).order_by("-id")
        assert seen == list(stored.values_list("id", flat=True))
        if not of_project:
            assert days == sorted(set(days), reverse=True), "a day that goes on has one heading"

    def test_an_older_page_leads_back(self, browser: Client, owner: Person, log: str) -> None:
        page = text_of(browser.get(log + "?before=1"))
        assert "Nothing older" in page
        assert "Back to the newest" in page
        assert "data-live" not in page

    @pytest.mark.parametrize(
        "query", ["before=x", "before=-1", f"before={'9' * 30}", "before=9&day=%3Cscript%3E", "q=%00"]
    )
    def test_no_address_breaks_the_page(self, browser: Client, log: str, query: str) -> None:
        for path in (log, ACCOUNT):
            answer = browser.get(f"{path}?{query}")
            assert answer.status_code == 200
            assert "<script>" not in text_of(answer)
            assert browser.get(f"{path}?{query}", **PART).status_code == 200

    @pytest.mark.parametrize("query", ["since=x&shown=a,b", "shown=" + "9" * 40, "since=0&newest_day=%3Cscript%3E", ""])
    def test_no_address_breaks_the_live_part(self, browser: Client, log: str, query: str) -> None:
        answer = browser.get(f"{log}/live?{query}")
        assert answer.status_code == 200
        assert "<script>" not in text_of(answer)


class TestHearingOfOthers:
    def ask(self, browser: Client, path: str, page: str) -> Any:
        """Ask as the page's poller does."""
        sent = {name: field(page, name) for name in ("since", "shown", "newest_day")}
        return browser.get(path + "/live", sent, **PART)

    @pytest.mark.parametrize("before", [0, 5, 19, 20, 21, 150])
    def test_new_lines_come_once(self, browser: Client, owner: Person, log: str, before: int) -> None:
        for _ in range(before):
            record(owner)
        page = text_of(browser.get(log))
        assert self.ask(browser, log, page).status_code == 204
        new = [record(owner).pk for _ in range(3)]
        part = text_of(self.ask(browser, log, page))
        assert lines_of(part) == new[::-1]
        assert 'hx-swap-oob="afterbegin:#log"' in part
        assert self.ask(browser, log, part).status_code == 204
        last = record(owner).pk
        assert lines_of(text_of(self.ask(browser, log, part))) == [last]

    def test_a_line_that_was_committed_late_is_not_missed(self, browser: Client, owner: Person, log: str) -> None:
        for _ in range(50):
            record(owner)
        late = record(owner)
        # Its transaction is still open while a later one has ended already.
        at = Activity.objects.filter(pk=late.pk).values().get()
        Activity.objects.using(SYSTEM).filter(pk=late.pk).delete()
        new = record(owner)
        page = text_of(browser.get(log))
        assert lines_of(page)[0] == new.pk
        Activity.objects.create(**at)
        part = text_of(self.ask(browser, log, page))
        assert lines_of(part) == [late.pk]
        assert self.ask(browser, log, part).status_code == 204
        connections[SYSTEM].close()

    def test_very_many_come_in_turns(self, browser: Client, owner: Person, log: str) -> None:
        page = text_of(browser.get(log))
        new = [record(owner).pk for _ in range(450)]
        seen: list[int] = []
        answer = self.ask(browser, log, page)
        while answer.status_code == 200:
            page = text_of(answer)
            seen += reversed(lines_of(page))
            answer = self.ask(browser, log, page)
        assert seen == new

    def test_the_account_hears_of_itself(self, browser: Client, owner: Person) -> None:
        page = text_of(browser.get(ACCOUNT))
        record(owner)
        assert self.ask(browser, ACCOUNT, page).status_code == 204
        line = record(owner, Tag.PASSWORD_CHANGED, project_id=None)
        assert lines_of(text_of(self.ask(browser, ACCOUNT, page))) == [line.pk]


class TestTenants:
    def test_foreign_deleted_and_missing_are_one_page(self, owner: Person, other_owner: Person) -> None:
        browser = visitor(owner)
        gone = owner.new_project("Gone")
        delete_project(owner_id=owner.id, project_id=gone.pk, actor=owner.hand)
        at = [f"/projects/{each}/activity" for each in (other_owner.project.pk, gone.pk, uuid.uuid4())]
        pages = {
            (answer.status_code, answer.content) for path in at for answer in map(browser.get, (path, path + "/live"))
        }
        assert len(pages) == 1
        assert pages.pop()[0] == 404

    def test_an_account_shows_its_own_alone(self, browser: Client, owner: Person, other_owner: Person) -> None:
        record(other_owner, Tag.PASSWORD_CHANGED, project_id=None)
        assert lines_of(text_of(browser.get(ACCOUNT))) == []
        assert browser.get(ACCOUNT + "/live", {"since": 0}, **PART).status_code == 204

    def test_a_stranger_is_led_to_sign_in(self, log: str) -> None:
        stranger = visitor()
        for path in (log, ACCOUNT):
            assert stranger.get(path)["Location"] == f"/accounts/login/?next={path}"
            assert stranger.get(path + "/live", **PART).status_code == 401
            assert stranger.post(path).status_code == 405


class TestCost:
    @pytest.mark.parametrize("count", [1, 150])
    def test_statements_do_not_grow(self, browser: Client, owner: Person, log: str, count: int) -> None:
        for number in range(count):
            write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content=str(number))
            create_standard(owner_id=owner.id, title=str(number), content="x", actor=owner.hand)
        for path, most in {log: 7, ACCOUNT: 5, log + "/live?since=0": 5, ACCOUNT + "/live?since=0": 4}.items():
            with CaptureQueriesContext(connection) as asked:
                assert browser.get(path).status_code == 200
            assert len(asked) <= most, (path, [each["sql"][:100] for each in asked])

    @pytest.mark.parametrize("of_project", [True, False], ids=["project", "account"])
    def test_a_page_is_read_off_the_index(self, owner: Person, of_project: bool) -> None:
        """The plan is what an index can give at any size; sequential reading is forbidden only to see it in a small table."""
        from projects.selectors import lists

        project_id = owner.project.pk if of_project else None
        record(owner, project_id=project_id)
        with connection.cursor() as cursor, CaptureQueriesContext(connection) as asked:
            lists._lines(owner.id, project_id, 50, 10**9)
            sql = asked[0]["sql"]
            cursor.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
            try:
                cursor.execute("EXPLAIN " + sql)
                plan = "\n".join(row[0] for row in cursor.fetchall())
            finally:
                cursor.execute("RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_sort")
        assert "activity_by_project" in plan
        assert "Sort" not in plan
