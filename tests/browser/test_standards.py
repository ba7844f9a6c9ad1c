"""Standards and activity in a real browser: with script, without, by keyboard, by mouse and by finger (W2, W3, A4)."""

from typing import Any

import pytest

from memford.core.activity import Tag
from memford.core.principal import Writer
from projects.models import Standard
from projects.selectors import assignment_of
from projects.services import assign_standards, create_standard, revise_standard, write_note
from tests.browser.looks import LOOKS, Look
from tests.browser.steps import elsewhere, expect_signed_in, sign_in
from tests.cast import Person
from tests.live import wait_until
from tests.pages.test_activity import record

LONG = "A line that is one of many, and long enough to be wrapped on a telephone.\n" * 20


def signed_in(page: Any, person: Person) -> Any:
    """Sign in, and return the page."""
    sign_in(page, person.owner.email)
    expect_signed_in(page)
    return page


def put(person: Person, title: str, content: str = "Plain words.") -> Standard:
    """Put a standard on the shelf."""
    return create_standard(owner_id=person.id, title=title, content=content, actor=person.hand)


def give(person: Person, *standards: Standard) -> None:
    """Give the project these standards."""
    person.project.refresh_from_db()
    assign_standards(
        owner_id=person.id,
        project_id=person.project.pk,
        expected_revision=person.project.assignment_revision,
        standard_ids=[each.pk for each in standards],
        actor=person.hand,
    )


def given(person: Person, *titles: str) -> list[Standard]:
    """Make standards that the project is given."""

    def make() -> list[Standard]:
        found = [put(person, title) for title in titles]
        give(person, *found)
        return found

    return elsewhere(make)


def order_of(person: Person) -> list[str]:
    """Return the titles of what the project is given, in order."""
    return elsewhere(
        lambda: [each.title for each in assignment_of(owner_id=person.id, project_id=person.project.pk)[1]]
    )


def shown(page: Any) -> list[str]:
    """Return the titles as the page orders them."""
    return list(page.locator("ol.given > li h3").all_inner_texts())


def expect_order(page: Any, person: Person, *titles: str) -> None:
    """Wait until the order is stored, and see that it is shown."""
    wait_until(lambda: page.wait_for_timeout(20) or order_of(person) == [*titles], what=f"the order {titles}")
    wait_until(lambda: page.wait_for_timeout(20) or shown(page) == [*titles], what=f"the shown order {titles}")


def page_of(person: Person, part: str = "standards") -> str:
    """Return the address of a part of the project."""
    return f"/projects/{person.project.pk}/{part}"


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_standard_from_the_shelf_to_the_project_and_back(new_page: Any, person: Person, script: bool) -> None:
    text = "{}: use plain words.\nAlways."
    page = signed_in(new_page(java_script_enabled=script), person)
    page.goto("/standards")
    page.get_by_role("heading", name="The shelf is empty").wait_for()
    for title in ("Tone", "Words"):
        page.get_by_label("A new standard").fill(title)
        page.get_by_label("Its text").fill(text.format(title))
        page.get_by_role("button", name="Put it on the shelf").click()
        page.get_by_text(f"“{title}” is on the shelf.").wait_for()
    page.goto(page_of(person))
    for title in ("Tone", "Words"):
        option = f"{title} ({len(title) + len(text.format(title))} characters)"
        page.get_by_label("Give it one more").select_option(label=option)
        page.get_by_role("button", name="Give it to the project").click()
        page.get_by_role("heading", name=title, exact=True).wait_for()
    expect_order(page, person, "Tone", "Words")
    page.get_by_role("button", name="Move up Words").click()
    expect_order(page, person, "Words", "Tone")
    page.get_by_text("Take away Tone").click()
    page.get_by_text("no longer read it").locator("visible=true").wait_for()
    page.get_by_role("button", name="Take it away Tone").click()
    expect_order(page, person, "Words")
    page.get_by_role("link", name="Words", exact=True).click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Title").fill("Short words")
    page.get_by_label("Text").fill("Words: use short words.\nAlways.")
    page.get_by_role("button", name="Store as a new revision").click()
    page.get_by_role("heading", name="Short words", exact=True).wait_for()
    page.get_by_text("Set inactive").click()
    page.get_by_role("button", name="Set the standard inactive").click()
    page.locator(".standard.is-inactive").wait_for()
    page.get_by_label("From revision 1").check()
    page.get_by_label("To revision 2").check()
    if not script:
        page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="From revision 1 to 2").wait_for()
    assert page.locator("#difference ins").first.inner_text() == "Short words"
    page.get_by_role("button", name="Restore the wording of revision 1").click()
    page.get_by_role("heading", name="Words", exact=True).wait_for()
    page.goto(page_of(person))
    page.get_by_text("inactive: agents do not read it").wait_for()


def test_the_keyboard_moves_and_keeps_its_place(new_page: Any, person: Person) -> None:
    standards = given(person, "A", "B", "C")
    page = signed_in(new_page(), person)
    page.goto(page_of(person))
    page.get_by_role("button", name="Move up C").focus()
    for order, place in ((("A", "C", "B"), 2), (("C", "A", "B"), 1)):
        page.keyboard.press("Enter")
        expect_order(page, person, *order)
        page.locator("#ordered", has_text=f"“C” is number {place} of 3.").wait_for(state="attached")
        assert page.evaluate("document.activeElement.id") == f"up-{standards[2].pk}"
    # At the edge the button stays where the focus is, and does nothing.
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == f"down-{standards[2].pk}"
    page.keyboard.press("Space")
    expect_order(page, person, "A", "C", "B")
    assert page.evaluate("document.activeElement.id") == f"down-{standards[2].pk}"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect_order(page, person, "A", "B")
    assert page.evaluate("document.activeElement.tagName") == "H2"
    page.locator("#ordered", has_text="“C” was taken away. 2 left.").wait_for(state="attached")


def middle(page: Any, title: str, part: str = ".grip") -> tuple[float, float]:
    """Return where the middle of an item, or of a part of it, is on the screen."""
    box = (
        page.locator("ol.given > li", has=page.get_by_role("heading", name=title, exact=True))
        .locator(part)
        .bounding_box()
    )
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_dragging_moves_and_escape_puts_back(new_page: Any, person: Person) -> None:
    given(person, "A", "B", "C", "D")
    page = signed_in(new_page(viewport={"width": 1000, "height": 1000}), person)
    page.goto(page_of(person))
    page.get_by_role("button", name="Move up C").focus()
    page.mouse.move(*middle(page, "D"))
    page.mouse.down()
    x, y = middle(page, "B")
    page.mouse.move(x, y - 30, steps=8)
    assert shown(page) == ["A", "D", "B", "C"]
    page.mouse.up()
    expect_order(page, person, "A", "D", "B", "C")
    page.locator("#ordered", has_text="“D” is number 2 of 4.").wait_for(state="attached")
    page.mouse.move(*middle(page, "A"))
    page.mouse.down()
    x, y = middle(page, "C")
    page.mouse.move(x, y + 30, steps=8)
    assert shown(page) == ["D", "B", "C", "A"]
    page.keyboard.press("Escape")
    page.mouse.up()
    assert shown(page) == ["A", "D", "B", "C"]
    page.mouse.move(*middle(page, "A"))
    page.mouse.down()
    page.mouse.move(x, y + 30, steps=8)
    page.mouse.up()
    expect_order(page, person, "D", "B", "C", "A")


def test_a_finger_drags_too(new_page: Any, person: Person) -> None:
    given(person, "A", "B", "C")
    page = signed_in(new_page(has_touch=True, viewport={"width": 340, "height": 1400}), person)
    page.goto(page_of(person))
    session = page.context.new_cdp_session(page)
    x, start = middle(page, "A")
    end = middle(page, "C", "xpath=.")[1] + 20

    def touch(kind: str, *points: float) -> None:
        session.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": point} for point in points]}
        )

    touch("touchStart", start)
    for step in range(1, 11):
        touch("touchMove", start + (end - start) * step / 10)
    touch("touchEnd")
    expect_order(page, person, "B", "C", "A")


def test_a_drag_that_is_too_late_overwrites_nothing(new_page: Any, person: Person) -> None:
    standards = given(person, "A", "B", "C")
    page = signed_in(new_page(viewport={"width": 1000, "height": 1000}), person)
    page.goto(page_of(person))
    elsewhere(lambda: give(person, standards[1], standards[0]))
    page.mouse.move(*middle(page, "C"))
    page.mouse.down()
    x, y = middle(page, "A")
    page.mouse.move(x, y - 30, steps=8)
    page.mouse.up()
    page.get_by_text("These standards were changed meanwhile").wait_for()
    assert (shown(page), order_of(person)) == (["B", "A"], ["B", "A"])
    assert page.evaluate("document.activeElement.className") == "notice"
    page.get_by_role("button", name="Replace what stands here with yours").click()
    expect_order(page, person, "C", "A", "B")


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_an_edit_that_lost_a_race_loses_nothing(new_page: Any, person: Person, script: bool) -> None:
    standard = elsewhere(lambda: put(person, "Tone", "use plain words"))

    def rival(content: str, revision: int) -> None:
        revise_standard(
            owner_id=person.id, standard_id=standard.pk, expected_revision=revision, actor=person.hand, content=content
        )

    page = signed_in(new_page(java_script_enabled=script), person)
    page.goto(f"/standards/{standard.pk}/edit")
    page.get_by_label("Text").fill("use plain, kind words")
    elsewhere(lambda: rival("use short words", 1))
    page.get_by_role("button", name="Store as a new revision").click()
    page.get_by_role("heading", name="Theirs, as it is stored").wait_for()
    assert "use short words" in page.locator(".beside").inner_text()
    page.get_by_label("Yours, to be stored as it is or merged first").fill("use short, kind words")
    page.get_by_role("button", name="Replace theirs with this").click()
    page.locator(".standard .prose", has_text="use short, kind words").wait_for()
    page.goto(f"/standards/{standard.pk}/edit")
    page.get_by_label("Text").fill("mine")
    elsewhere(lambda: rival("theirs", 3))
    page.get_by_role("button", name="Store as a new revision").click()
    page.get_by_role("link", name="Keep theirs, drop yours").click()
    page.locator(".standard .prose", has_text="theirs").wait_for()
    page.get_by_role("link", name="Edit").click()
    assert page.get_by_label("Text").input_value() == "theirs", "the draft is given up"


def test_what_is_typed_survives_a_reload_and_a_signing_out(new_page: Any, person: Person) -> None:
    page = signed_in(new_page(may_fail=True), person)
    page.goto("/standards")
    page.get_by_label("A new standard").fill("Tone")
    page.get_by_label("Its text").fill("long thought about")
    page.reload()
    page.get_by_text("What you typed here before is back.").wait_for()
    assert page.get_by_label("Its text").input_value() == "long thought about"
    cookies = page.context.cookies()
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Put it on the shelf").click()
    page.get_by_text("You are signed out.").wait_for()
    page.context.add_cookies(cookies)
    page.get_by_role("button", name="Put it on the shelf").click()
    page.get_by_text("“Tone” is on the shelf.").wait_for()
    assert page.get_by_label("Its text").input_value() == "", "what was stored is no draft any more"


def test_the_shelf_changes_in_place(new_page: Any, person: Person) -> None:
    elsewhere(lambda: [put(person, f"Title {number:03}", LONG if number == 104 else "short") for number in range(105)])
    page = signed_in(new_page(), person)
    page.goto("/standards")
    page.get_by_text("Show all of it").click()
    page.get_by_text("Show less").wait_for()
    page.get_by_text("Set inactive Title 103").click()
    page.get_by_role("button", name="Set the standard inactive").locator("visible=true").click()
    page.get_by_role("button", name="Set active Title 103").wait_for()
    page.get_by_text("Show less").wait_for()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.get_by_role("link", name="Title 000", exact=True).wait_for()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_activity_is_read_to_its_end(new_page: Any, person: Person, script: bool) -> None:
    elsewhere(lambda: [record(person) for _ in range(120)])
    page = signed_in(new_page(java_script_enabled=script), person)
    page.goto(page_of(person, "activity"))
    if not script:
        page.get_by_role("link", name="Older activity").click()
    else:
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.get_by_text("made the project").wait_for()
    if script:
        assert page.locator(".log > li").count() == 121


def test_activity_comes_by_itself_and_leads_to_its_note(new_page: Any, person: Person) -> None:
    page = signed_in(new_page(), person)
    page.goto(page_of(person, "activity"))
    agent = elsewhere(lambda: person.new_agent(name="a keeper"))
    elsewhere(
        lambda: write_note(
            owner_id=person.id, project_id=person.project.pk, writer=agent.principal.writer, content="The lamp is lit."
        )
    )
    line = page.locator(".log > li", has_text="wrote a note")
    line.wait_for()
    assert "a keeper key wrote a note" in line.inner_text()
    assert page.locator("#log h2").count() == 1, "the day goes on under one heading"
    line.get_by_role("link", name="a note").click()
    page.get_by_text("The lamp is lit.").wait_for()


@pytest.mark.parametrize("kind", LOOKS)
def test_the_pages_look_right(new_page: Any, look: Look, person: Person, kind: str) -> None:
    page = signed_in(new_page(**LOOKS[kind]), person)
    paths = ["/standards", page_of(person), page_of(person, "activity"), "/activity"]
    for path in paths:
        page.goto(path)
        look(page)

    def fill() -> Standard:
        long_title = "A rather long title that has to be wrapped on a telephone and goes on " + "W" * 50
        standards = [put(person, long_title, LONG), put(person, "Tone"), put(person, "Spare")]
        give(person, *standards[:2])
        for revision, content in enumerate(["Plain words, W" + "W" * 100, "Plain short words"], start=1):
            where: dict[str, Any] = {"owner_id": person.id, "standard_id": standards[0].pk, "actor": person.hand}
            revise_standard(**where, expected_revision=revision, title=f"Title {revision}", content=content)
        revise_standard(
            owner_id=person.id, standard_id=standards[1].pk, expected_revision=1, actor=person.hand, status="inactive"
        )
        agent = person.new_agent(name="W" * 80)
        writer = Writer("oauth", agent.connection.pk, "W" * 80, person.id)
        record(person, Tag.TOKEN_REUSED, actor=writer, object_id=agent.connection.pk)
        record(person, Tag.CONNECTION_APPROVED, name="W" * 80, access="read_only", redirect_host="w" * 80)
        return standards[0]

    standard = elsewhere(fill)
    for path in [*paths, f"/standards/{standard.pk}", f"/standards/{standard.pk}/edit"]:
        page.goto(path)
        for summary in page.locator("main summary").all():
            summary.click()
        look(page)
    page.get_by_label("Text").fill(" ")
    page.get_by_role("button", name="Store as a new revision").click()
    page.get_by_text("This must not be empty or blank.").wait_for()
    look(page)
    page.get_by_label("Text").fill("mine")
    elsewhere(
        lambda: revise_standard(
            owner_id=person.id, standard_id=standard.pk, expected_revision=3, actor=person.hand, content="theirs"
        )
    )
    page.get_by_role("button", name="Store as a new revision").click()
    page.get_by_role("heading", name="Theirs, as it is stored").wait_for()
    look(page)
    page.goto(page_of(person))
    elsewhere(lambda: give(person, standard))
    page.get_by_role("button", name="Move up Tone").click()
    page.get_by_text("These standards were changed meanwhile").wait_for()
    look(page)
