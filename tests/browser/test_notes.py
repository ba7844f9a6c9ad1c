"""A project's notes in a real browser: live, in place, without loss, by keyboard, and without script (W2, W3)."""

from typing import Any

import pytest

from projects.models import Note, NoteRevision
from projects.services import revise_note, write_note
from tests.browser.looks import LOOKS, Look
from tests.browser.steps import elsewhere, sign_in, sign_out
from tests.cast import Person
from tests.live import LiveServer, wait_until

HOSTILE = "<script>document.title='broken in'</script><b onclick=alert(1)>bold</b> {{ 7|add:7 }} \"'</textarea>"


def written(person: Person, content: str, **more: Any) -> Note:
    """Write a note by an agent of the owner's."""

    def write() -> Note:
        writer = person.new_agent(name="Claude Code").principal.writer
        receipt = write_note(owner_id=person.id, project_id=person.project.pk, writer=writer, content=content, **more)
        return Note.objects.get(pk=receipt.id)

    return elsewhere(write)


def revised(person: Person, note: Note, **changes: Any) -> None:
    """Change a note as it stands, as another tab of the owner's does."""

    def revise() -> None:
        revision = Note.objects.get(pk=note.pk).revision
        where: dict[str, Any] = {"owner_id": person.id, "project_id": note.project_id, "note_id": note.pk}
        revise_note(**where, expected_revision=revision, actor=person.hand, **changes)

    elsewhere(revise)


def stored(note: Note) -> Note:
    """Return a note as it is stored now."""
    return elsewhere(lambda: Note.objects.get(pk=note.pk))


def texts(person: Person) -> list[str]:
    """Return the texts of a project's notes, oldest first."""
    return elsewhere(
        lambda: list(Note.objects.filter(project=person.project).order_by("seq").values_list("content", flat=True))
    )


@pytest.fixture
def open_notes(new_page: Any, person: Person) -> Any:
    """Open the owner's notes in a browser of their own."""

    def at(**options: Any) -> Any:
        page = new_page(**options)
        sign_in(page, person.owner.email)
        page.goto(f"/projects/{person.project.pk}")
        return page

    return at


class TestWithScript:
    def test_writing_editing_and_setting_aside_happen_in_place(self, open_notes: Any, person: Person) -> None:
        page = open_notes()
        page.get_by_role("heading", name="Nothing is remembered yet").wait_for()
        page.evaluate("window.still = true")
        page.get_by_label("A new note").fill("The lamp turns in 8 seconds.")
        page.get_by_label("Source").fill("keeper")
        page.get_by_role("button", name="Write it").click()
        row = page.locator(".note-row")
        row.get_by_text("The lamp turns in 8 seconds.").wait_for()
        assert page.get_by_label("A new note").input_value() == ""
        assert page.get_by_role("heading", name="Today").count() == 1
        assert page.get_by_role("heading", name="Nothing is remembered yet").count() == 0
        row.get_by_role("link", name="Edit").click()
        row.locator("textarea:focus").wait_for()
        row.get_by_label("Text").fill("The lamp turns in 9 seconds.")
        row.get_by_role("button", name="Store as a new revision").click()
        row.get_by_text("revision 2").wait_for()
        row.get_by_role("button", name="Set inactive").click()
        row.get_by_role("button", name="Set active").wait_for()
        row.get_by_text("Delete", exact=True).click()
        row.get_by_text("you can restore it").wait_for()
        row.get_by_role("button", name="Delete the note").click()
        row.get_by_role("button", name="Restore").click()
        row.get_by_text("The lamp turns in 9 seconds.").wait_for()
        assert page.evaluate("window.still"), "the page was never loaded anew"
        assert texts(person) == ["The lamp turns in 9 seconds."]

    def test_what_others_write_and_change_appears(self, open_notes: Any, person: Person) -> None:
        note = written(person, "an old one")
        page = open_notes()
        page.get_by_text("an old one").wait_for()
        written(person, HOSTILE)
        page.get_by_text("document.title='broken in'").wait_for()
        revised(person, note, content="an old one, changed")
        page.get_by_text("an old one, changed").wait_for()
        assert page.locator(".note-row").count() == 2
        assert page.get_by_role("heading", name="Today").count() == 1
        assert "broken in" not in page.title()

    def test_a_row_that_is_edited_is_not_taken_away(self, open_notes: Any, person: Person) -> None:
        note = written(person, "base")
        page = open_notes()
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Text").fill("mine")
        revised(person, note, content="theirs")
        written(person, "a sign that the page looked")
        page.get_by_text("a sign that the page looked").wait_for()
        assert page.get_by_label("Text").input_value() == "mine"

    @pytest.mark.parametrize("way", ["keep", "replace", "merge"])
    def test_a_conflict_leaves_three_ways(self, open_notes: Any, person: Person, way: str) -> None:
        note = written(person, "the lamp turns in 8 seconds")
        page = open_notes()
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Text").fill("the big lamp turns in 8 seconds")
        revised(person, note, content="the lamp turns in 9 seconds")
        page.get_by_role("button", name="Store as a new revision").click()
        page.get_by_role("heading", name="Theirs, as it is stored").wait_for()
        assert page.locator("ins", has_text="big").count() == 1
        yours = page.get_by_label("Yours, to be stored")
        assert yours.input_value() == "the big lamp turns in 8 seconds"
        if way == "keep":
            page.get_by_role("link", name="Keep theirs").click()
            expected = "the lamp turns in 9 seconds"
        else:
            if way == "merge":
                yours.fill("the big lamp turns in 9 seconds")
            expected = yours.input_value()
            page.get_by_role("button", name="Replace theirs").click()
        page.locator(".note-row > .prose", has_text=expected).wait_for()
        assert stored(note).content == expected
        kept = elsewhere(lambda: set(NoteRevision.objects.filter(note=note).values_list("content", flat=True)))
        assert "the lamp turns in 8 seconds" in kept

    def test_nothing_is_lost_while_the_network_is_away(self, open_notes: Any, person: Person) -> None:
        page = open_notes(may_fail=True)
        page.context.set_offline(True)
        page.get_by_label("A new note").fill("typed on a train")
        page.get_by_role("button", name="Write it").click()
        page.get_by_role("alert").get_by_text("Memford cannot be reached").wait_for()
        assert page.get_by_label("A new note").input_value() == "typed on a train"
        page.context.set_offline(False)
        page.get_by_role("button", name="Write it").click()
        page.locator(".note-row", has_text="typed on a train").wait_for()
        assert texts(person) == ["typed on a train"]

    def test_an_answer_that_got_lost_does_not_double(self, open_notes: Any, person: Person) -> None:
        page = open_notes(may_fail=True)
        lost: list[Any] = []

        def lose(route: Any) -> None:
            if route.request.method == "POST" and not lost:
                lost.append(route.fetch())
                route.abort()
            else:
                route.continue_()

        page.route(f"**/projects/{person.project.pk}/notes", lose)
        page.get_by_label("A new note").fill("once")
        page.get_by_role("button", name="Write it").click()
        page.get_by_role("alert").get_by_text("Memford cannot be reached").wait_for()
        page.get_by_role("button", name="Write it").click()
        page.locator(".note-row", has_text="once").wait_for()
        wait_until(lambda: page.wait_for_timeout(20) or page.get_by_label("A new note").input_value() == "")
        assert (len(lost), texts(person)) == (1, ["once"])

    def test_nothing_is_lost_by_signing_out_elsewhere(self, open_notes: Any, person: Person) -> None:
        page = open_notes(may_fail=True)
        page.get_by_label("A new note").fill("typed before")
        other = page.context.new_page()
        other.goto("/projects")
        sign_out(other)
        page.get_by_role("button", name="Write it").click()
        page.get_by_role("alert").get_by_text("You are signed out").wait_for()
        sign_in(other, person.owner.email)
        page.get_by_role("button", name="Write it").click()
        page.locator(".note-row", has_text="typed before").wait_for()
        assert texts(person) == ["typed before"]

    def test_a_draft_survives_a_reload_and_a_stale_one_is_a_conflict(self, open_notes: Any, person: Person) -> None:
        note = written(person, "base")
        page = open_notes()
        page.get_by_label("A new note").fill("half a tho")
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Text").fill("my wording")
        revised(person, note, content="their wording")
        page.reload()
        assert page.get_by_label("A new note").input_value() == "half a tho"
        page.get_by_text("What you typed here before is back").wait_for()
        page.get_by_role("link", name="Edit").click()
        page.locator(".note-row").get_by_text("What you typed here before is back").wait_for()
        assert page.get_by_label("Text").input_value() == "my wording"
        page.get_by_role("button", name="Store as a new revision").click()
        page.get_by_role("heading", name="Theirs, as it is stored").wait_for()
        page.get_by_role("link", name="Keep theirs").click()
        page.get_by_role("link", name="Edit").click()
        assert page.get_by_label("Text").input_value() == "their wording"
        page.get_by_role("button", name="Discard it").click()
        assert page.get_by_label("A new note").input_value() == ""

    def test_finding_and_filtering_as_one_types(self, open_notes: Any, person: Person) -> None:
        written(person, "a red lantern")
        note = written(person, "a green lantern")
        revised(person, note, status="inactive")
        page = open_notes()
        page.get_by_label("Find in 2 notes").press_sequentially("lant")
        page.locator("mark", has_text="lantern").nth(1).wait_for()
        assert page.url.endswith("q=lant&status=&writer=")
        page.get_by_label("Status").select_option("inactive")
        page.locator(".note-row", has_text="red").wait_for(state="detached")
        assert page.locator(".note-row").count() == 1
        page.go_back()
        page.locator(".note-row", has_text="red").wait_for()

    def test_older_notes_come_as_one_scrolls(self, open_notes: Any, person: Person) -> None:
        def write_many() -> None:
            for number in range(130):
                write_note(
                    owner_id=person.id, project_id=person.project.pk, writer=person.hand, content=f"number {number}."
                )

        elsewhere(write_many)
        page = open_notes()
        for _ in range(40):
            if page.get_by_text("number 0.", exact=True).count():
                break
            page.mouse.wheel(0, 4000)
            page.wait_for_timeout(100)
        assert page.locator(".note-row").count() == 130
        assert page.get_by_role("heading", name="Today").count() == 1

    def test_any_two_revisions_are_compared_at_a_touch(self, open_notes: Any, person: Person) -> None:
        note = written(person, "one lamp")
        revised(person, note, content="two lamps")
        revised(person, note, content="two bright lamps")
        page = open_notes()
        page.get_by_role("link", name="History").click()
        page.locator("ins", has_text="bright").wait_for()
        page.get_by_label("From revision 1").check()
        page.get_by_role("heading", name="From revision 1 to 3").wait_for()
        page.get_by_role("button", name="Restore the wording of revision 1").click()
        page.get_by_text("The wording of revision 1 is the current one again.").wait_for()
        assert stored(note).content == "one lamp"

    def test_a_long_note_is_folded(self, open_notes: Any, person: Person) -> None:
        written(person, "\n".join(f"line {number}" for number in range(60)))
        page = open_notes()
        prose = page.locator(".note-row .prose")
        folded = prose.bounding_box()["height"]
        page.get_by_text("Show all of it").click()
        assert prose.bounding_box()["height"] > 2 * folded
        page.get_by_text("Show less").click()
        assert prose.bounding_box()["height"] == folded


class TestByKeyboard:
    def test_writing_editing_and_deleting(self, open_notes: Any, person: Person) -> None:
        note = written(person, "base")
        page = open_notes()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        _tab_to(page, "#write-content")
        page.keyboard.type("by keys alone")
        page.keyboard.press("Control+Enter")
        page.locator(".note-row", has_text="by keys alone").wait_for()
        _tab_to(page, f"#note-{note.pk} a[href$=edit]")
        page.keyboard.press("Enter")
        page.locator(f"#note-{note.pk} textarea:focus").wait_for()
        page.keyboard.press("Control+A")
        page.keyboard.type("changed")
        page.keyboard.press("Control+Enter")
        page.locator(f"#note-{note.pk}", has_text="revision 2").wait_for()
        _tab_to(page, f"#note-{note.pk} .ask summary")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.locator(f"#note-{note.pk}.is-deleted").wait_for()
        assert (stored(note).content, stored(note).status) == ("changed", "deleted")


def _tab_to(page: Any, selector: str) -> None:
    """Press Tab until what is meant has the focus, which must be visible."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"{selector} is not reached by Tab")


class TestWithoutScript:
    def test_everything_can_be_done(self, open_notes: Any, person: Person) -> None:
        page = open_notes(java_script_enabled=False)
        page.get_by_label("A new note").fill("written without script")
        page.get_by_role("button", name="Write it").click()
        row = page.locator(".note-row")
        row.get_by_text("written without script").wait_for()
        row.get_by_role("link", name="Edit").click()
        page.get_by_label("Text").fill("changed without script")
        page.get_by_role("button", name="Store as a new revision").click()
        row.get_by_text("changed without script").wait_for()
        row.get_by_role("button", name="Set inactive").click()
        row.get_by_text("Delete", exact=True).click()
        row.get_by_role("button", name="Delete the note").click()
        row.get_by_role("button", name="Restore").click()
        page.get_by_label("Find in 1 note").fill("without")
        page.get_by_role("button", name="Show", exact=True).click()
        page.locator("mark", has_text="without").wait_for()
        row.get_by_role("link", name="History").click()
        page.get_by_label("From revision 1").check()
        page.get_by_label("To revision 2").check()
        page.get_by_role("button", name="Compare").click()
        page.locator("ins", has_text="changed").wait_for()
        page.get_by_role("button", name="Restore the wording of revision 1").click()
        page.get_by_text("The wording of revision 1 is the current one again.").wait_for()
        assert texts(person) == ["written without script"]

    def test_a_conflict_loses_neither_text(self, open_notes: Any, person: Person) -> None:
        note = written(person, "base")
        page = open_notes(java_script_enabled=False)
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Text").fill("mine")
        revised(person, note, content="theirs")
        page.get_by_role("button", name="Store as a new revision").click()
        page.get_by_role("heading", name="Changed meanwhile").wait_for()
        assert page.get_by_text("theirs", exact=True).first.is_visible()
        page.get_by_role("button", name="Replace theirs with this").click()
        page.locator(".note-row", has_text="mine").wait_for()
        assert stored(note).revision == 3

    def test_nothing_is_lost_by_having_been_signed_out(self, open_notes: Any, person: Person) -> None:
        page = open_notes(java_script_enabled=False)
        page.get_by_label("A new note").fill("typed before\n\nin two parts")
        page.context.clear_cookies(name="sessionid")
        page.get_by_role("button", name="Write it").click()
        page.get_by_role("heading", name="You are signed out").wait_for()
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Sign in in a new tab").click()
        sign_in(opened.value, person.owner.email)
        page.get_by_role("button", name="Send it again").click()
        page.get_by_role("heading", name="That page was too old").wait_for()
        page.get_by_role("button", name="Send it again").click()
        page.locator(".note-row", has_text="in two parts").wait_for()
        assert texts(person) == ["typed before\n\nin two parts"]

    def test_what_was_typed_is_there_after_going_back(self, open_notes: Any, person: Person, site: LiveServer) -> None:
        page = open_notes(java_script_enabled=False)
        page.get_by_label("A new note").fill("typed on a train")
        page.context.set_offline(True)
        page.get_by_role("button", name="Write it").click()
        page.wait_for_url("chrome-error://**")
        page.context.set_offline(False)
        page.go_back()
        assert page.get_by_label("A new note").input_value() == "typed on a train"


@pytest.mark.parametrize("kind", LOOKS)
def test_the_pages_look_right(open_notes: Any, person: Person, look: Look, kind: str) -> None:
    page = open_notes(**LOOKS[kind])
    look(page)
    note = written(person, "base " * 400, source="a source")
    revised(person, note, content="changed " * 400)
    revised(person, note, status="inactive")
    revised(person, written(person, "gone"), status="deleted")
    written(person, f"{HOSTILE} {'W' * 300}", source="W" * 120)
    at = page.url
    for path in [at, f"{at}?q=changed", f"{at}?q=nothing", f"{at}/notes/{note.pk}", f"{at}/settings", "/projects"]:
        page.goto(path)
        look(page)
    page.goto(f"{at}?status=inactive")
    page.get_by_text("Delete", exact=True).click()
    look(page)
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill("mine")
    look(page)
    revised(person, note, content="theirs")
    page.get_by_role("button", name="Store as a new revision").click()
    page.get_by_role("heading", name="Theirs, as it is stored").wait_for()
    look(page)
    page.get_by_label("A new note").fill("x" * 32_001)
    page.get_by_role("button", name="Write it").click()
    page.get_by_text("at most 32000 are accepted").wait_for()
    look(page)
