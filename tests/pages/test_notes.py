"""The timeline of notes: writing once, editing without loss, looking through, and hearing of others (W2, W3)."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from projects.models import Note, NoteRevision, Status
from projects.selectors.timeline import WALKED_NOTES
from projects.services import delete_project, revise_note, write_note
from tests.cast import Agent, Person
from tests.pages.visiting import PART, field, text_of, visitor

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>{{ 7|add:7 }}\"'</textarea>"


@pytest.fixture
def browser(owner: Person) -> Client:
    """The owner's browser."""
    return visitor(owner)


@pytest.fixture
def notes(owner: Person) -> str:
    """The address of the owner's notes."""
    return f"/projects/{owner.project.pk}"


def write(person: Person, content: str, writer: Agent | None = None, **more: Any) -> Note:
    """Store a note by an agent, or by its owner."""
    by = writer.principal.writer if writer else person.hand
    receipt = write_note(owner_id=person.id, project_id=person.project.pk, writer=by, content=content, **more)
    return Note.objects.get(pk=receipt.id)


def revise(person: Person, note: Note, **changes: Any) -> Note:
    """Change a note as it stands now."""
    revision = Note.objects.get(pk=note.pk).revision
    where: dict[str, Any] = {"owner_id": person.id, "project_id": note.project_id, "note_id": note.pk}
    return revise_note(**where, expected_revision=revision, actor=person.hand, **changes)


def address(note: Note) -> str:
    """Return a note's address."""
    return f"/projects/{note.project_id}/notes/{note.pk}"


class TestWriting:
    def test_a_note_stands_at_the_top_exactly_as_typed(self, browser: Client, notes: str, owner: Person) -> None:
        write(owner, "older")
        typed = "  first line\r\n\r\n  ünïcode 🗼\t\r\n"
        answer = browser.post(notes + "/notes", {"content": typed, "source": "a walk"})
        assert (answer.status_code, answer["Location"]) == (302, notes)
        newest = Note.objects.filter(project=owner.project).latest("seq")
        assert (newest.content, newest.source) == ("  first line\n\n  ünïcode 🗼\t\n", "a walk")
        page = text_of(browser.get(notes))
        assert page.index("ünïcode 🗼") < page.index(">older<")

    def test_pressing_twice_writes_once(self, browser: Client, notes: str, owner: Person) -> None:
        form = {"content": "once", "checkpoint": field(text_of(browser.get(notes)), "checkpoint")}
        clients = [visitor(owner) for _ in range(8)]

        def press(client: Client) -> int:
            try:
                return client.post(notes + "/notes", form).status_code
            finally:
                connections.close_all()

        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(press, clients)) == {302}
        assert Note.objects.filter(project=owner.project).count() == 1

    def test_another_text_by_the_same_form_is_shown_again_and_then_stored(
        self, browser: Client, notes: str, owner: Person
    ) -> None:
        form = {"content": "first", "checkpoint": field(text_of(browser.get(notes)), "checkpoint")}
        browser.post(notes + "/notes", form)
        answer = browser.post(notes + "/notes", {**form, "content": "second"})
        assert answer.status_code == 409
        assert "second</textarea>" in text_of(answer)
        again = {"content": "second", "checkpoint": field(text_of(answer), "checkpoint")}
        assert browser.post(notes + "/notes", again).status_code == 302
        assert {note.content for note in Note.objects.filter(project=owner.project)} == {"first", "second"}

    @pytest.mark.parametrize("headers", [{}, PART], ids=["page", "part"])
    def test_what_is_refused_stays_in_the_form(
        self, browser: Client, notes: str, owner: Person, headers: dict[str, Any]
    ) -> None:
        answer = browser.post(notes + "/notes", {"content": "x" * 32_001, "source": "kept"}, **headers)
        assert answer.status_code == 400
        page = text_of(answer)
        assert "x" * 32_001 in page
        assert 'value="kept"' in page
        assert "This has 32001 code points; at most 32000 are accepted." in page
        assert ("<html" in page) == (headers == {})
        assert not Note.objects.filter(project=owner.project).exists()

    def test_a_part_asks_the_timeline_to_look(self, browser: Client, notes: str) -> None:
        answer = browser.post(notes + "/notes", {"content": "hello"}, **PART)
        assert (answer.status_code, answer["HX-Trigger"]) == (200, '{"memford:look": {}}')
        assert "hello" not in text_of(answer)

    @pytest.mark.parametrize("bad", ["\x00", "", "   \r\n "])
    def test_what_cannot_be_stored_is_said_beside_the_field(self, browser: Client, notes: str, bad: str) -> None:
        answer = browser.post(notes + "/notes", {"content": bad})
        assert answer.status_code == 400
        assert 'aria-invalid="true"' in text_of(answer)


class TestSignedOut:
    """Nothing typed is lost by having been signed out (W3)."""

    def test_a_stranger_is_led_to_sign_in_and_back(self, notes: str) -> None:
        answer = visitor().get(notes + "?q=x")
        assert answer.status_code == 302
        assert answer["Location"] == f"/accounts/login/?next={notes}%3Fq%3Dx"

    def test_what_was_typed_is_shown_again_to_be_sent(self, notes: str, owner: Person) -> None:
        stranger = visitor()
        answer = stranger.post(notes + "/notes", {"content": HOSTILE, "source": "s", "checkpoint": "c"})
        page = text_of(answer)
        assert answer.status_code == 401
        assert "&lt;script&gt;alert(1)" in page
        assert "<script" not in page
        assert field(page, "checkpoint") == "c"
        assert f'action="{notes}/notes"' in page
        assert not Note.objects.filter(project=owner.project).exists()

    def test_a_part_is_answered_401(self, notes: str) -> None:
        assert visitor().get(notes + "/notes/live", **PART).status_code == 401

    def test_after_signing_in_elsewhere_the_old_page_still_sends(self, notes: str, owner: Person) -> None:
        client = visitor(owner, enforce_csrf_checks=True)
        answer = client.post(
            notes + "/notes",
            {"content": "typed before", "csrfmiddlewaretoken": "x" * 32},
            HTTP_ORIGIN="http://localhost:8000",
        )
        assert answer.status_code == 403
        page = text_of(answer)
        assert "typed before</textarea>" in page
        form = {"content": "typed before", "csrfmiddlewaretoken": field(page, "csrfmiddlewaretoken")}
        assert client.post(notes + "/notes", form, HTTP_ORIGIN="http://localhost:8000").status_code == 302
        assert Note.objects.filter(project=owner.project, content="typed before").count() == 1

    @pytest.mark.parametrize("origin", [{}, {"HTTP_ORIGIN": "https://evil.example"}, {"HTTP_ORIGIN": "null"}])
    def test_what_another_site_sends_is_not_shown(self, notes: str, owner: Person, origin: dict[str, Any]) -> None:
        client = visitor(owner, enforce_csrf_checks=True)
        answer = client.post(notes + "/notes", {"content": "planted"}, **origin)
        assert answer.status_code == 403
        assert "planted" not in text_of(answer)

    def test_a_password_is_never_shown_again(self, owner: Person) -> None:
        client = visitor(owner, enforce_csrf_checks=True)
        form = {"login": "a@example.com", "password": "secret word"}
        answer = client.post("/accounts/login/", form, HTTP_ORIGIN="http://localhost:8000")
        assert answer.status_code == 403
        assert "secret word" not in text_of(answer)


class TestEditing:
    def test_an_edit_is_a_new_revision(self, browser: Client, owner: Person) -> None:
        note = write(owner, "before", source="s")
        answer = browser.post(address(note), {"expected_revision": 1, "content": "after", "source": ""})
        assert answer.status_code == 302
        assert answer["Location"] == f"/projects/{note.project_id}#note-{note.pk}"
        note.refresh_from_db()
        assert (note.content, note.source, note.revision) == ("after", None, 2)
        assert NoteRevision.objects.get(note=note).content == "before"

    @pytest.mark.parametrize("stored", ["a\r\nb", "a\nb", "a\rb", "\na", "a\r\nb\nc"])
    def test_a_text_that_nobody_changed_stays_to_the_byte(self, browser: Client, owner: Person, stored: str) -> None:
        note = write(owner, stored)
        sent = re.sub("\r\n|\r|\n", "\r\n", stored)
        browser.post(address(note), {"expected_revision": 1, "content": sent, "source": "new"})
        note.refresh_from_db()
        assert (note.content, note.source, note.revision) == (stored, "new", 2)

    def test_a_source_of_several_lines_stays_while_the_text_is_edited(self, browser: Client, owner: Person) -> None:
        note = write(owner, "before", source="two\nlines")
        # A browser's line of text drops the break.
        browser.post(address(note), {"expected_revision": 1, "content": "after", "source": "twolines"})
        note.refresh_from_db()
        assert (note.content, note.source) == ("after", "two\nlines")

    def test_nothing_changed_makes_no_revision(self, browser: Client, owner: Person) -> None:
        note = write(owner, "same")
        assert browser.post(address(note), {"expected_revision": 1, "content": "same", "source": ""}).status_code == 302
        note.refresh_from_db()
        assert note.revision == 1

    def test_a_leading_line_break_survives_the_form(self, browser: Client, owner: Person) -> None:
        note = write(owner, "\nindented")
        # A parser of HTML drops one line break behind the tag.
        assert "\n\nindented</textarea>" in text_of(browser.get(address(note) + "/edit"))

    @pytest.mark.parametrize("headers", [{}, PART], ids=["page", "part"])
    def test_a_lost_race_shows_both_texts_and_three_ways_on(
        self, browser: Client, owner: Person, headers: dict[str, Any]
    ) -> None:
        note = write(owner, "the lamp turns in 8 seconds")
        revise(owner, note, content="the lamp turns in 9 seconds")
        mine = {"expected_revision": 1, "content": "the big lamp turns in 8 seconds", "source": "me"}
        answer = browser.post(address(note), mine, **headers)
        page = text_of(answer)
        assert answer.status_code == 409
        assert ("<html" in page) == (headers == {})
        assert "the lamp turns in 9 seconds" in page
        assert "the big lamp turns in 8 seconds</textarea>" in page
        assert "<ins>big </ins>" in page
        assert "<del>9</del><ins>8</ins>" in page
        assert "Keep theirs" in page
        note.refresh_from_db()
        assert note.content == "the lamp turns in 9 seconds"
        form = {**mine, "expected_revision": field(page, "expected_revision")}
        assert browser.post(address(note), form).status_code == 302
        note.refresh_from_db()
        assert (note.content, note.revision) == ("the big lamp turns in 8 seconds", 3)
        assert NoteRevision.objects.filter(note=note).count() == 2, "theirs is kept"

    def test_of_parallel_edits_one_is_stored_and_the_others_are_shown(self, owner: Person) -> None:
        note = write(owner, "base")
        clients = [visitor(owner) for _ in range(6)]

        def edit(each: tuple[int, Client]) -> tuple[int, str]:
            number, client = each
            try:
                form = {"expected_revision": 1, "content": f"wording {number}", "source": ""}
                answer = client.post(address(note), form, **PART)
                return answer.status_code, text_of(answer)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(edit, enumerate(clients)))
        assert sorted(status for status, _ in answers) == [200, 409, 409, 409, 409, 409]
        assert all(f"wording {number}" in page for number, (_, page) in enumerate(answers))

    def test_a_status_decided_on_an_old_revision_is_not_set(self, browser: Client, owner: Person) -> None:
        note = write(owner, "base")
        revise(owner, note, content="newer")
        answer = browser.post(address(note), {"expected_revision": 1, "status": "deleted"}, **PART)
        assert "It was changed meanwhile" in text_of(answer)
        assert "newer" in text_of(answer)
        note.refresh_from_db()
        assert note.status == Status.ACTIVE

    @pytest.mark.parametrize("status", ["inactive", "deleted"])
    def test_setting_aside_and_restoring(self, browser: Client, owner: Person, status: str) -> None:
        note = write(owner, "base")
        browser.post(address(note), {"expected_revision": 1, "status": status})
        note.refresh_from_db()
        assert note.status == status
        browser.post(address(note), {"expected_revision": 2, "status": "active"})
        note.refresh_from_db()
        assert (note.status, note.revision) == ("active", 3)

    @pytest.mark.parametrize(
        "form",
        [
            {"status": "active"},
            {"expected_revision": "x", "content": "y"},
            {"expected_revision": "9" * 30, "content": "y"},
            {"expected_revision": "1", "status": "nonsense"},
            {"expected_revision": "1"},
        ],
    )
    def test_a_form_that_is_none_of_ours_changes_nothing(
        self, browser: Client, owner: Person, form: dict[str, str]
    ) -> None:
        note = write(owner, "base")
        assert browser.post(address(note), form).status_code == 400
        note.refresh_from_db()
        assert note.revision == 1


class TestHistory:
    def test_any_two_revisions_are_compared(self, browser: Client, owner: Person) -> None:
        note = write(owner, "one lamp")
        revise(owner, note, content="two lamps")
        revise(owner, note, content="two bright lamps", source="keeper")
        page = text_of(browser.get(address(note)))
        assert "From revision 2 to 3" in page
        assert "<ins>bright </ins>" in page
        page = text_of(browser.get(address(note) + "?from=1&to=2"))
        assert "<del>one lamp</del><ins>two lamps</ins>" in page
        assert "Restore the wording of revision 1" in page

    @pytest.mark.parametrize("query", ["from=0&to=0", "from=99&to=x", "from=2&to=1", f"from={'9' * 40}"])
    def test_a_revision_that_is_none_shows_one_that_is(self, browser: Client, owner: Person, query: str) -> None:
        note = revise(owner, write(owner, "one"), content="two")
        assert browser.get(f"{address(note)}?{query}").status_code == 200

    def test_an_earlier_wording_is_restored_as_a_new_revision(self, browser: Client, owner: Person) -> None:
        note = write(owner, "one", source="s")
        revise(owner, note, content="two", source=None)
        answer = browser.post(address(note) + "/revisions/1/restore", {"expected_revision": 2})
        assert (answer.status_code, answer["Location"]) == (302, address(note))
        note.refresh_from_db()
        assert (note.content, note.source, note.revision) == ("one", "s", 3)

    def test_restoring_on_an_old_revision_changes_nothing(self, browser: Client, owner: Person) -> None:
        note = write(owner, "one")
        revise(owner, note, content="two")
        revise(owner, note, content="three")
        browser.post(address(note) + "/revisions/1/restore", {"expected_revision": 2})
        note.refresh_from_db()
        assert note.content == "three"
        assert browser.post(address(note) + "/revisions/9/restore", {"expected_revision": 3}).status_code == 404
        assert browser.post(address(note) + "/revisions/1/restore", {}).status_code == 400


class TestLookingThrough:
    def test_pages_hold_every_note_once(self, browser: Client, notes: str, owner: Person) -> None:
        for number in range(120):
            write(owner, f"number {number}.")
        seen: list[int] = []
        at = notes
        for _ in range(4):
            page = text_of(browser.get(at))
            seen += _numbers(page)
            older = re.search(r'href="(\?before=[^"]*)"', page)
            at = notes + older.group(1).replace("&amp;", "&") if older else ""
        assert seen == list(range(119, -1, -1))
        assert at == ""

    def test_long_texts_make_a_page_shorter(self, browser: Client, notes: str, owner: Person) -> None:
        for _ in range(20):
            write(owner, "x" * 32_000)
        page = text_of(browser.get(notes))
        assert page.count('class="note-row') == 16
        assert "Older notes" in page

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            ("lantern", {0, 1}),
            ("LANT", {0, 1}),
            ('"red lantern"', {0}),
            ("lantern -red", {1}),
            ("fog OR red", {0, 2}),
            ("archive", {2}),
            ("größe", {3}),
            ("灯台", {4}),
            ("it's", {5}),
            ("' & | ! ( ) : * \\", set()),
            ("nothing here", set()),
            ("x:* | y", set()),
            ("%_", set()),
        ],
    )
    def test_words_find_notes(self, browser: Client, notes: str, owner: Person, words: str, found: set[int]) -> None:
        texts = ["the red lantern", "a green Lantern.", "fog", "Die Größe", "灯台守", "it's so", "last"]
        for text in texts:
            write(owner, text, source="the archive" if text == "fog" else None)
        page = text_of(browser.get(notes, {"q": words}))
        shown = {i for i, text in enumerate(texts) if f">{text}<" in _unmarked(page)}
        assert shown == found
        if not found:
            assert "No note is like that" in page

    def test_found_words_are_marked_and_all_else_is_escaped(self, browser: Client, notes: str, owner: Person) -> None:
        write(owner, f"lamp {HOSTILE} Lamplight & <b>oil</b>")
        page = text_of(browser.get(notes, {"q": "lamp"}))
        assert "<mark>lamp</mark> &lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "<mark>Lamplight</mark> &amp; &lt;b&gt;oil" in page
        assert "<script>alert" not in page

    def test_what_few_of_very_many_hold_is_found_in_order(self, browser: Client, notes: str, owner: Person) -> None:
        """Behind those that are walked through, the index of words goes on, and filters hold there too."""
        for number in range(WALKED_NOTES + 60):
            note = write(owner, f"number {number}." + (" beacon" if number % 40 == 0 else ""))
            if number == 40:
                revise(owner, note, status="inactive")
        expected = list(range(0, WALKED_NOTES + 60, 40))[::-1]
        assert _numbers(text_of(browser.get(notes, {"q": "beac"}))) == expected
        active = _numbers(text_of(browser.get(notes, {"q": "beac", "status": "active"})))
        assert active == [number for number in expected if number != 40]
        assert _numbers(text_of(browser.get(notes, {"q": "beac", "status": "inactive"}))) == [40]
        before = Note.objects.get(project=owner.project, content="number 160. beacon").seq
        assert _numbers(text_of(browser.get(f"{notes}?q=beac&before={before}"))) == [120, 80, 40, 0]

    def test_only_this_projects_notes_are_found(self, browser: Client, owner: Person, other_owner: Person) -> None:
        write(owner, "shared word")
        write(other_owner, "shared word")
        second = owner.new_project("Second")
        assert "No note is like that" in text_of(browser.get(f"/projects/{second.pk}", {"q": "shared"}))
        foreign = text_of(browser.get(f"/projects/{second.pk}", {"q": str(owner.project.pk)}))
        assert "No note is like that" in foreign

    def test_status_and_writer_are_filters(self, browser: Client, notes: str, owner: Person, agent: Agent) -> None:
        write(owner, "by hand")
        note = write(owner, "by agent", agent)
        revise(owner, note, status="inactive")
        page = text_of(browser.get(notes, {"writer": str(agent.connection.pk)}))
        assert ("by agent" in page, "by hand" in page) == (True, False)
        page = text_of(browser.get(notes, {"status": "active"}))
        assert ("by agent" in page, "by hand" in page) == (False, True)
        assert f'value="{agent.connection.pk}"' in page

    @pytest.mark.parametrize(
        "query",
        [
            "before=x",
            "before=-1",
            f"before={'9' * 30}",
            "before=1&day=%3Cscript%3E",
            "status=none",
            "status=active&status=deleted",
            "writer=nobody",
            "q=%00",
            "q=%ED%A0%80",
            "q=" + "x" * 5000,
        ],
    )
    def test_no_address_breaks_the_page(self, browser: Client, notes: str, owner: Person, query: str) -> None:
        write(owner, "something")
        answer = browser.get(f"{notes}?{query}")
        assert answer.status_code == 200
        assert "<script>" not in text_of(answer)

    def test_parts_are_parts(self, browser: Client, notes: str, owner: Person) -> None:
        write(owner, "something")
        timeline = text_of(browser.get(notes, HTTP_HX_TARGET="timeline", **PART))
        assert timeline.lstrip().startswith('<div id="timeline"')
        days = text_of(browser.get(notes, {"before": 99}, HTTP_HX_TARGET="older", **PART))
        assert 'id="timeline"' not in days
        assert "something" in days
        restored = browser.get(notes, HTTP_HX_HISTORY_RESTORE_REQUEST="true", **PART)
        assert "<html" in text_of(restored)
        assert "HX-Request" in restored["Vary"]


class TestHearingOfOthers:
    def mark(self, browser: Client, notes: str) -> str:
        return field(text_of(browser.get(notes)), "since")

    def test_nothing_new_is_204(self, browser: Client, notes: str, owner: Person) -> None:
        write(owner, "old")
        assert browser.get(notes + "/notes/live", {"since": self.mark(browser, notes)}, **PART).status_code == 204

    def test_what_was_written_and_changed_comes_once(
        self, browser: Client, notes: str, owner: Person, agent: Agent
    ) -> None:
        old = write(owner, "old")
        mark = self.mark(browser, notes)
        write(owner, "new", agent)
        revise(owner, old, content="changed")
        part = text_of(browser.get(notes + "/notes/live", {"since": mark}, **PART))
        assert f'id="note-{old.pk}" hx-swap-oob="true"' in part
        assert "changed" in part
        assert 'hx-swap-oob="afterbegin:#timeline"' in part
        assert part.count(">new<") == 1
        again = browser.get(notes + "/notes/live", {"since": field(part, "since")}, **PART)
        assert again.status_code == 204

    def test_what_does_not_pass_the_filter_is_not_put_in(self, browser: Client, notes: str, owner: Person) -> None:
        mark = self.mark(browser, notes)
        write(owner, "lamp")
        write(owner, "fog")
        part = text_of(browser.get(notes + "/notes/live", {"since": mark, "q": "lamp"}, **PART))
        assert ("<mark>lamp</mark>" in part, "fog" in part) == (True, False)

    def test_very_much_is_said_in_one_line(self, browser: Client, notes: str, owner: Person) -> None:
        mark = self.mark(browser, notes)
        for number in range(201):
            write(owner, str(number))
        part = text_of(browser.get(notes + "/notes/live", {"since": mark}, **PART))
        assert "Much has changed here" in part

    def test_nothing_of_parallel_writers_is_missed(self, browser: Client, notes: str, owner: Person) -> None:
        seen: set[str] = set()
        mark = self.mark(browser, notes)

        def write_some(hand: int) -> None:
            try:
                for number in range(10):
                    write(owner, f"hand {hand} note {number}.")
            finally:
                connections.close_all()

        with ThreadPoolExecutor(4) as threads:
            running = [threads.submit(write_some, hand) for hand in range(4)]
            while True:
                done = all(each.done() for each in running)
                answer = browser.get(notes + "/notes/live", {"since": mark}, **PART)
                if answer.status_code == 200:
                    part = text_of(answer)
                    found = re.findall(r"hand \d note \d", part)
                    assert seen.isdisjoint(found)
                    seen |= set(found)
                    mark = field(part, "since")
                elif done:
                    break
        assert len(seen) == 40


class TestTenants:
    def test_foreign_deleted_and_missing_are_one_page(self, owner: Person, other_owner: Person) -> None:
        note = write(other_owner, "theirs")
        browser = visitor(owner)
        gone = owner.new_project("Gone")
        delete_project(owner_id=owner.id, project_id=gone.pk, actor=owner.hand)
        at = [f"/projects/{other_owner.project.pk}", f"/projects/{gone.pk}", f"/projects/{uuid.uuid4()}", address(note)]
        at += [address(note) + "/edit", address(note) + "/row", f"/projects/{other_owner.project.pk}/notes/live"]
        at += [f"/projects/{owner.project.pk}/notes/{note.pk}", f"/projects/{other_owner.project.pk}/settings"]
        pages = {(answer.status_code, answer.content) for answer in map(browser.get, at)}
        assert len(pages) == 1
        assert pages.pop()[0] == 404
        form = {"expected_revision": 1, "content": "mine now", "status": "deleted"}
        for path in [
            address(note),
            address(note) + "/revisions/1/restore",
            f"/projects/{other_owner.project.pk}/notes",
        ]:
            assert browser.post(path, form).status_code == 404
        assert browser.post(f"/projects/{other_owner.project.pk}/delete").status_code == 404
        note.refresh_from_db()
        assert (note.content, note.revision) == ("theirs", 1)
        assert Note.objects.filter(project=other_owner.project).count() == 1

    def test_a_key_opens_no_page(self, agent: Agent, notes: str) -> None:
        assert visitor().get(notes, HTTP_AUTHORIZATION=f"Bearer {agent.key}").status_code == 302


class TestCost:
    @pytest.mark.parametrize("count", [1, 60])
    def test_statements_do_not_grow(self, browser: Client, notes: str, owner: Person, count: int) -> None:
        for number in range(count):
            note = write(owner, f"note {number}", owner.new_agent(name=f"agent {number}") if number < 12 else None)
        for _ in range(min(count, 20)):
            revise(owner, note, content=str(uuid.uuid4()))
        bounds = {notes: 8, notes + "?q=note": 9, address(note): 9, address(note) + "/edit": 6, "/projects": 4}
        bounds |= {notes + "/settings": 4, notes + "/notes/live?since=0": 6}
        for path, most in bounds.items():
            with CaptureQueriesContext(connection) as asked:
                assert browser.get(path).status_code == 200
            assert len(asked) <= most, (path, [each["sql"][:100] for each in asked])


def _numbers(page: str) -> list[int]:
    return [int(number) for number in re.findall(r"number (\d+)\.", page)]


def _unmarked(page: str) -> str:
    return re.sub(r"</?mark>", "", page).replace("&#x27;", "'")
