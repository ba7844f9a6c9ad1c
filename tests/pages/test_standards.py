"""The shelf of standards, one standard's history, and what a project is given in which order (W2, W3, A3, A4)."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from projects.models import Project, Standard, StandardRevision
from projects.selectors import assignment_of
from projects.services import assign_standards, create_standard, delete_project, revise_standard
from tests.cast import Person
from tests.pages.visiting import PART, field, text_of, visitor

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>{{ 7|add:7 }}\"'</textarea>"
SHELF = "/standards"
NEW = "/standards/new"


@pytest.fixture
def browser(owner: Person) -> Client:
    """The owner's browser."""
    return visitor(owner)


@pytest.fixture
def given_page(owner: Person) -> str:
    """The address of the project's standards."""
    return f"/projects/{owner.project.pk}/standards"


def put(person: Person, title: str = "Tone", content: str = "Plain words.") -> Standard:
    """Put a standard on the shelf."""
    return create_standard(owner_id=person.id, title=title, content=content, actor=person.hand)


def revise(person: Person, standard: Standard, **changes: Any) -> Standard:
    """Change a standard as it stands now."""
    revision = Standard.objects.get(pk=standard.pk).revision
    return revise_standard(
        owner_id=person.id, standard_id=standard.pk, expected_revision=revision, actor=person.hand, **changes
    )


def give(person: Person, *standards: Standard, project: Any = None) -> None:
    """Give a project these standards."""
    project = project or person.project
    project.refresh_from_db()
    assign_standards(
        owner_id=person.id,
        project_id=project.pk,
        expected_revision=project.assignment_revision,
        standard_ids=[each.pk for each in standards],
        actor=person.hand,
    )


def order_of(person: Person) -> list[str]:
    """Return the titles of what the project is given, in order."""
    return [each.title for each in assignment_of(owner_id=person.id, project_id=person.project.pk)[1]]


def address(standard: Standard) -> str:
    """Return a standard's address."""
    return f"/standards/{standard.pk}"


def visible(page: str) -> str:
    """Return a page's words as they are read, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))


class TestTheShelf:
    def test_an_empty_shelf_teaches(self, browser: Client) -> None:
        assert "The shelf is empty" in text_of(browser.get(SHELF))

    def test_a_standard_is_put_on_it_exactly_as_typed(self, browser: Client, owner: Person) -> None:
        answer = browser.post(NEW, {"title": "Tone", "content": " plain\r\n  words 🗼\r\n"})
        assert (answer.status_code, answer["Location"]) == (302, SHELF)
        stored = Standard.objects.get(owner=owner.owner)
        assert (stored.title, stored.content) == ("Tone", " plain\n  words 🗼\n")
        page = text_of(browser.get(SHELF))
        assert "words 🗼" in page
        assert "In use nowhere yet" in page

    def test_the_address_of_the_form_leads_to_the_shelf(self, browser: Client) -> None:
        assert browser.get(NEW)["Location"] == SHELF
        assert browser.post(SHELF).status_code == 405

    def test_a_part_is_told_to_go_on(self, browser: Client) -> None:
        answer = browser.post(NEW, {"title": "Tone", "content": "x"}, **PART)
        assert (answer.status_code, answer["HX-Redirect"]) == (200, SHELF)

    @pytest.mark.parametrize("headers", [{}, PART], ids=["page", "part"])
    @pytest.mark.parametrize(
        ("title", "content", "said"),
        [
            ("", "kept words", "This must not be empty or blank."),
            ("x" * 121, "kept words", "This has 121 code points; at most 120 are accepted."),
            ("kept words", "x" * 16_001, "This has 16001 code points; at most 16000 are accepted."),
            ("kept words", " \r\n ", "This must not be empty or blank."),
            ("kept words\x00", "x", "This contains U+0000"),
        ],
    )
    def test_what_is_refused_stays_in_the_form(
        self, browser: Client, owner: Person, headers: dict[str, Any], title: str, content: str, said: str
    ) -> None:
        answer = browser.post(NEW, {"title": title, "content": content}, **headers)
        page = text_of(answer)
        assert answer.status_code == 400
        assert said in page
        assert "kept words" in page
        assert page.count('aria-invalid="true"') == 1
        assert ("<html" in page) == (headers == {})
        assert not Standard.objects.filter(owner=owner.owner).exists()

    def test_the_last_changed_comes_first_with_where_each_is_used(self, browser: Client, owner: Person) -> None:
        first, second = put(owner, "First"), put(owner, "Second")
        gone, other = owner.new_project("Gone"), owner.new_project("Harbour")
        for project in (owner.project, gone, other):
            give(owner, first, project=project)
        delete_project(owner_id=owner.id, project_id=gone.pk, actor=owner.hand)
        revise(owner, first, content="newer")
        page = text_of(browser.get(SHELF))
        assert page.index(f"standard-{first.pk}") < page.index(f"standard-{second.pk}")
        assert "In use in Harbour, Lighthouse" in visible(page)
        assert f'href="/projects/{other.pk}/standards">Harbour</a>' in page
        assert "Gone" not in page

    def test_very_many_uses_are_cut_short(self, browser: Client, owner: Person) -> None:
        standard = put(owner)
        for number in range(12):
            give(owner, standard, project=owner.new_project(f"Project {number:02}"))
        assert "Project 09 and 2 more" in visible(text_of(browser.get(SHELF)))
        assert "Project 10, Project 11" in visible(text_of(browser.get(address(standard))))

    def test_every_standard_of_a_large_shelf_is_reached_once(self, browser: Client, owner: Person) -> None:
        for number in range(130):
            put(owner, f"number {number}.")
        for _ in range(5):
            put(owner, "long", "x" * 16_000)
        seen: list[int] = []
        at: str | None = SHELF
        headers: dict[str, Any] = {}
        while at:
            page = text_of(browser.get(at, **headers))
            seen += [int(each) for each in re.findall(r">number (\d+)\.</a>", page)]
            found = re.search(r'href="(\?after=\d+)"', page)
            at, headers = SHELF + found.group(1) if found else None, PART
        assert seen == list(range(129, -1, -1))

    def test_long_texts_make_a_page_shorter(self, browser: Client, owner: Person) -> None:
        for _ in range(35):
            put(owner, "long", "x" * 16_000)
        page = text_of(browser.get(SHELF))
        assert page.count('class="note-row') == 32
        assert "More of the shelf" in page

    @pytest.mark.parametrize("query", ["after=x", "after=-1", f"after={'9' * 30}", "after=999999"])
    def test_no_address_breaks_the_shelf(self, browser: Client, owner: Person, query: str) -> None:
        put(owner)
        assert browser.get(f"{SHELF}?{query}").status_code == 200

    def test_setting_inactive_and_active_again(self, browser: Client, owner: Person) -> None:
        standard = put(owner)
        give(owner, standard)
        page = text_of(browser.get(SHELF))
        assert "The agents of the projects that use it no longer read it" in page
        answer = browser.post(address(standard), {"expected_revision": 1, "status": "inactive"})
        assert answer["Location"] == f"/standards#standard-{standard.pk}"
        row = text_of(browser.post(address(standard), {"expected_revision": 2, "status": "active"}, **PART))
        assert row.lstrip().startswith(f'<li class="note-row is-active" id="standard-{standard.pk}"')
        assert "In use in Lighthouse" in visible(row)
        standard.refresh_from_db()
        assert (standard.status, standard.revision) == ("active", 3)

    def test_a_status_decided_on_an_old_revision_is_not_set(self, browser: Client, owner: Person) -> None:
        standard = put(owner)
        revise(owner, standard, content="newer words")
        form = {"expected_revision": 1, "status": "inactive"}
        row = text_of(browser.post(address(standard), form, **PART))
        assert "It was changed meanwhile" in row
        assert "newer words" in row
        browser.post(address(standard), {**form, "from": "standard"})
        assert "It was changed meanwhile" in text_of(browser.get(address(standard)))
        standard.refresh_from_db()
        assert standard.status == "active"


class TestOneStandard:
    def test_an_edit_is_a_new_revision(self, browser: Client, owner: Person) -> None:
        standard = put(owner, "Tone", "before")
        answer = browser.post(address(standard), {"expected_revision": 1, "title": "Voice", "content": "after"})
        assert (answer.status_code, answer["Location"]) == (302, address(standard))
        standard.refresh_from_db()
        assert (standard.title, standard.content, standard.revision) == ("Voice", "after", 2)
        old = StandardRevision.objects.get(standard=standard)
        assert (old.title, old.content) == ("Tone", "before")

    @pytest.mark.parametrize("stored", ["a\r\nb", "a\nb", "a\rb", "\na", "a\r\nb\nc"])
    def test_a_text_that_nobody_changed_stays_to_the_byte(self, browser: Client, owner: Person, stored: str) -> None:
        standard = put(owner, "two\nlines", stored)
        sent = re.sub("\r\n|\r|\n", "\r\n", stored)
        browser.post(address(standard), {"expected_revision": 1, "title": "new", "content": sent})
        browser.post(address(standard), {"expected_revision": 2, "title": "new", "content": "other"})
        standard.refresh_from_db()
        assert (standard.title, standard.content, standard.revision) == ("new", "other", 3)
        assert [each.content for each in StandardRevision.objects.filter(standard=standard)] == [stored, stored]

    def test_nothing_changed_makes_no_revision(self, browser: Client, owner: Person) -> None:
        standard = put(owner, "two\nlines", "a\r\nb")
        form = {"expected_revision": 1, "title": "twolines", "content": "a\r\nb"}
        assert browser.post(address(standard), form).status_code == 302
        standard.refresh_from_db()
        assert (standard.revision, standard.title) == (1, "two\nlines")

    @pytest.mark.parametrize("headers", [{}, PART], ids=["page", "part"])
    def test_what_is_refused_stays_in_the_form(self, browser: Client, owner: Person, headers: dict[str, Any]) -> None:
        standard = put(owner)
        revise(owner, standard, content="newer")
        form = {"expected_revision": 2, "title": " ", "content": "kept words"}
        answer = browser.post(address(standard), form, **headers)
        page = text_of(answer)
        assert answer.status_code == 400
        assert "kept words</textarea>" in page
        assert "This must not be empty or blank." in page
        assert field(page, "expected_revision") == "2"
        assert ("<html" in page) == (headers == {})

    def test_what_would_be_too_long_for_a_project_is_said(self, browser: Client, owner: Person) -> None:
        standards = [put(owner, "t", "x" * 15_999) for _ in range(7)] + [put(owner, "t", "x" * 10_000)]
        give(owner, *standards)
        form = {"expected_revision": 1, "title": "t", "content": "x" * 16_000}
        answer = browser.post(address(standards[-1]), form)
        assert answer.status_code == 400
        said = "This would take a project beyond the 128000 code points that its standards may hold in all."
        assert said in text_of(answer)

    @pytest.mark.parametrize("headers", [{}, PART], ids=["page", "part"])
    def test_a_lost_race_shows_both_texts_and_three_ways_on(
        self, browser: Client, owner: Person, headers: dict[str, Any]
    ) -> None:
        standard = put(owner, "The tone", "use plain words")
        revise(owner, standard, title="The voice", content="use short words")
        mine = {"expected_revision": 1, "title": "The tone we use", "content": "use plain, kind words"}
        answer = browser.post(address(standard), mine, **headers)
        page = text_of(answer)
        assert answer.status_code == 409
        assert ("<html" in page) == (headers == {})
        assert f"{owner.owner.email} changed this standard" in visible(page)
        assert "use short words" in page
        assert "use plain, kind words</textarea>" in page
        assert 'value="The tone we use"' in page
        assert "<del>voice</del><ins>tone we use</ins>" in page
        assert "<del>short</del><ins>plain, kind</ins>" in page
        assert "Keep theirs, drop yours" in page
        standard.refresh_from_db()
        assert standard.content == "use short words"
        form = {**mine, "expected_revision": field(page, "expected_revision")}
        assert browser.post(address(standard), form).status_code == 302
        standard.refresh_from_db()
        assert (standard.title, standard.content, standard.revision) == (mine["title"], mine["content"], 3)
        assert StandardRevision.objects.filter(standard=standard, content="use short words").exists(), "theirs is kept"

    def test_of_parallel_edits_one_is_stored_and_the_others_are_shown(self, owner: Person) -> None:
        standard = put(owner)
        clients = [visitor(owner) for _ in range(6)]

        def rewrite(each: tuple[int, Client]) -> tuple[int, str]:
            number, client = each
            try:
                form = {"expected_revision": 1, "title": "Tone", "content": f"wording {number}"}
                answer = client.post(address(standard), form, **PART)
                return answer.status_code, text_of(answer)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(rewrite, enumerate(clients)))
        assert sorted(status for status, _ in answers) == [200, 409, 409, 409, 409, 409]
        assert all(f"wording {n}" in page for n, (status, page) in enumerate(answers) if status == 409)

    @pytest.mark.parametrize(
        "form",
        [
            {"status": "active"},
            {"expected_revision": "x", "content": "y"},
            {"expected_revision": "9" * 30, "content": "y"},
            {"expected_revision": "1", "status": "deleted"},
            {"expected_revision": "1"},
            {"expected_revision": "1", "content": "no title"},
        ],
    )
    def test_a_form_that_is_none_of_ours_changes_nothing(
        self, browser: Client, owner: Person, form: dict[str, str]
    ) -> None:
        standard = put(owner)
        assert browser.post(address(standard), form).status_code == 400
        assert browser.post(address(standard), form, **PART).status_code == 400
        standard.refresh_from_db()
        assert standard.revision == 1

    def test_any_two_revisions_are_compared(self, browser: Client, owner: Person) -> None:
        standard = put(owner, "One lamp", "one lamp")
        assert "This is its first wording" in text_of(browser.get(address(standard)))
        revise(owner, standard, title="Two lamps", content="two lamps")
        revise(owner, standard, content="two bright lamps", status="inactive")
        page = text_of(browser.get(address(standard)))
        assert "From revision 2 to 3" in page
        assert "<ins>bright </ins>" in page
        assert "<del>active</del> <ins>inactive</ins>" in page
        page = text_of(browser.get(address(standard) + "?from=1&to=2"))
        assert "<del>One lamp</del><ins>Two lamps</ins>" in page
        assert "<del>one lamp</del><ins>two lamps</ins>" in page
        assert "Restore the wording of revision 1" in page

    @pytest.mark.parametrize("query", ["from=0&to=0", "from=99&to=x", "from=2&to=1", f"from={'9' * 40}"])
    def test_a_revision_that_is_none_shows_one_that_is(self, browser: Client, owner: Person, query: str) -> None:
        standard = revise(owner, put(owner), content="two")
        assert browser.get(f"{address(standard)}?{query}").status_code == 200

    def test_an_earlier_wording_is_restored_as_a_new_revision(self, browser: Client, owner: Person) -> None:
        standard = put(owner, "One", "one")
        revise(owner, standard, title="Two", content="two")
        answer = browser.post(address(standard) + "/revisions/1/restore", {"expected_revision": 2})
        assert (answer.status_code, answer["Location"]) == (302, address(standard))
        standard.refresh_from_db()
        assert (standard.title, standard.content, standard.revision) == ("One", "one", 3)

    def test_restoring_on_an_old_revision_changes_nothing(self, browser: Client, owner: Person) -> None:
        standard = put(owner, "One", "one")
        revise(owner, standard, content="two")
        revise(owner, standard, content="three")
        browser.post(address(standard) + "/revisions/1/restore", {"expected_revision": 2})
        assert "The standard was changed meanwhile" in text_of(browser.get(address(standard)))
        standard.refresh_from_db()
        assert standard.content == "three"
        for revision, form, status in ((9, {"expected_revision": 3}, 404), (1, {}, 400), (2**70, {}, 404)):
            answer = browser.post(f"{address(standard)}/revisions/{revision}/restore", form)
            assert answer.status_code == status

    def test_whatever_is_stored_is_escaped(self, browser: Client, owner: Person, given_page: str) -> None:
        standard = put(owner, HOSTILE[:100], HOSTILE)
        revise(owner, standard, content=HOSTILE + "!")
        give(owner, standard)
        form = {"expected_revision": 1, "title": HOSTILE[:100], "content": HOSTILE + "?"}
        pages = [browser.get(at) for at in (SHELF, address(standard), address(standard) + "/edit", given_page)]
        pages += [browser.get(f"{address(standard)}?from=1&to=2"), browser.post(address(standard), form)]
        for answer in pages:
            page = text_of(answer)
            assert "&lt;script&gt;alert(1)" in page
            assert "<script>alert" not in page
            assert "<img src=x" not in page
            assert "{{ 7|add:7 }}" in page


class TestGiving:
    @pytest.fixture
    def three(self, owner: Person) -> list[Standard]:
        """Three standards that the project is given."""
        found = [put(owner, title) for title in ("A", "B", "C")]
        give(owner, *found)
        return found

    def form(self, browser: Client, given_page: str, **deed: Any) -> dict[str, Any]:
        """Fill in the form as the page shows it."""
        page = text_of(browser.get(given_page))
        return {"order": field(page, "order"), "expected_revision": field(page, "expected_revision"), **deed}

    def test_an_empty_page_teaches(self, browser: Client, owner: Person, given_page: str) -> None:
        page = text_of(browser.get(given_page))
        assert "None is given yet" in page
        assert "Put one on the shelf" in page
        put(owner)
        assert "Give it the first one below" in text_of(browser.get(given_page))

    def test_one_from_the_shelf_is_given(self, browser: Client, owner: Person, given_page: str) -> None:
        standard, other = put(owner, "Tone", "1234567890"), put(owner, "Other", "x" * 2_000)
        form = self.form(browser, given_page, give=str(standard.pk))
        answer = browser.post(given_page, form)
        assert (answer.status_code, answer["Location"]) == (302, f"{given_page}#given-{standard.pk}")
        assert order_of(owner) == ["Tone"]
        page = text_of(browser.get(given_page))
        assert "1 of 50 standards, 14 of 128,000 characters" in page
        assert "“Tone” is number 1 of 1." in page
        assert f'<option value="{other.pk}">Other (2,005 characters)</option>' in page
        assert f'value="{standard.pk}">' not in page.split('id="give"')[1]

    @pytest.mark.parametrize(
        ("deed", "which", "order", "said"),
        [
            ("up", 1, "BAC", "“B” is number 1 of 3."),
            ("up", 2, "ACB", "“C” is number 2 of 3."),
            ("down", 0, "BAC", "“A” is number 2 of 3."),
            ("away", 1, "AC", "“B” was taken away. 2 left."),
        ],
    )
    @pytest.mark.parametrize("headers", [{}, PART], ids=["page", "part"])
    def test_each_button_does_one_thing(
        self,
        browser: Client,
        owner: Person,
        given_page: str,
        three: list[Standard],
        deed: str,
        which: int,
        order: str,
        said: str,
        headers: dict[str, Any],
    ) -> None:
        form = self.form(browser, given_page, **{deed: str(three[which].pk)})
        answer = browser.post(given_page, form, **headers)
        assert order_of(owner) == list(order)
        if headers:
            page = text_of(answer)
            assert page.lstrip().startswith('<div id="given"')
            assert f'<span hx-swap-oob="innerHTML:#ordered">{said}</span>' in page
            assert ("autofocus" in page) == (deed == "away")
        else:
            assert said in text_of(browser.get(answer["Location"].partition("#")[0]))

    @pytest.mark.parametrize(("deed", "which"), [("up", 0), ("down", 2)])
    def test_at_the_edge_nothing_changes(
        self, browser: Client, owner: Person, given_page: str, three: list[Standard], deed: str, which: int
    ) -> None:
        form = self.form(browser, given_page, **{deed: str(three[which].pk)})
        assert browser.post(given_page, form).status_code == 302
        owner.project.refresh_from_db()
        assert (order_of(owner), owner.project.assignment_revision) == (["A", "B", "C"], 1)

    def test_a_dragged_order_is_stored(
        self, browser: Client, owner: Person, given_page: str, three: list[Standard]
    ) -> None:
        ids = [str(each.pk) for each in three]
        form = self.form(browser, given_page) | {"order": " ".join(ids[::-1]), "moved": ids[2]}
        part = text_of(browser.post(given_page, form, **PART))
        assert order_of(owner) == ["C", "B", "A"]
        assert "“C” is number 1 of 3." in part

    @pytest.mark.parametrize("headers", [{}, PART], ids=["page", "part"])
    def test_a_stale_order_shows_how_it_stands_and_overwrites_nothing(
        self, browser: Client, owner: Person, given_page: str, three: list[Standard], headers: dict[str, Any]
    ) -> None:
        form = self.form(browser, given_page, up=str(three[2].pk))
        give(owner, three[1], three[0])
        answer = browser.post(given_page, form, **headers)
        page = text_of(answer)
        assert answer.status_code == 409
        assert order_of(owner) == ["B", "A"]
        assert "These standards were changed meanwhile" in page
        assert "You wanted:</p><ol><li>A</li><li>C</li><li>B</li></ol>" in page
        assert page.index(f"given-{three[1].pk}") < page.index(f"given-{three[0].pk}")
        assert ("<html" in page) == (headers == {})
        yours = {"order": field(page, "order"), "expected_revision": field(page, "expected_revision")}
        assert browser.post(given_page, yours).status_code == 302
        assert order_of(owner) == ["A", "C", "B"]

    def test_of_parallel_moves_one_is_stored(
        self, browser: Client, owner: Person, given_page: str, three: list[Standard]
    ) -> None:
        form = self.form(browser, given_page)
        clients = [visitor(owner) for _ in range(6)]

        def move(each: tuple[int, Client]) -> int:
            number, client = each  # some want the same, others something else
            try:
                deed = {"down": str(three[number % 2].pk)} if number % 3 else {"away": str(three[2].pk)}
                return client.post(given_page, form | deed, **PART).status_code
            finally:
                connections.close_all()

        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(move, enumerate(clients)))
        assert sorted(answers) == [200, 409, 409, 409, 409, 409]
        owner.project.refresh_from_db()
        assert owner.project.assignment_revision == 2

    def test_the_same_move_between_two_looks_is_a_conflict(
        self,
        browser: Client,
        owner: Person,
        given_page: str,
        three: list[Standard],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The order and its revision are looked at together: what another just stored is not taken for one's own."""
        form = self.form(browser, given_page, down=str(three[0].pk))

        def after_another(**of: Any) -> tuple[Project, list[Standard]]:
            monkeypatch.undo()
            assert visitor(owner).post(given_page, form, **PART).status_code == 200
            return assignment_of(**of)

        monkeypatch.setattr("projects.pages.standards.assignment_of", after_another)
        assert browser.post(given_page, form, **PART).status_code == 409

    def test_inactive_ones_are_marked(
        self, browser: Client, owner: Person, given_page: str, three: list[Standard]
    ) -> None:
        assert "agents do not read it" not in text_of(browser.get(given_page))
        revise(owner, three[0], status="inactive")
        assert text_of(browser.get(given_page)).count("inactive: agents do not read it") == 1

    def test_no_more_than_fifty_are_given(self, browser: Client, owner: Person, given_page: str) -> None:
        standards = [put(owner, f"{number}") for number in range(51)]
        give(owner, *standards[:49])
        assert browser.post(given_page, self.form(browser, given_page, give=standards[49].pk)).status_code == 302
        answer = browser.post(given_page, self.form(browser, given_page, give=standards[50].pk))
        assert answer.status_code == 400
        assert "This names 51 standards; at most 50 are accepted." in text_of(answer)
        assert len(order_of(owner)) == 50

    def test_no_more_code_points_are_given_than_a_page_carries(
        self, browser: Client, owner: Person, given_page: str
    ) -> None:
        standards = [put(owner, "t", "x" * 15_999) for _ in range(8)] + [put(owner, "t", "x")]
        give(owner, *standards[:7])
        assert browser.post(given_page, self.form(browser, given_page, give=standards[7].pk)).status_code == 302
        assert "128,000 of 128,000 characters" in text_of(browser.get(given_page))
        answer = browser.post(given_page, self.form(browser, given_page, give=standards[8].pk), **PART)
        assert answer.status_code == 400
        assert "This would take a project beyond the 128000 code points" in text_of(answer)
        assert len(order_of(owner)) == 8

    @pytest.mark.parametrize(
        ("form", "status"),
        [
            ({}, 400),
            ({"expected_revision": "1"}, 302),
            ({"expected_revision": "x", "order": ""}, 400),
            ({"expected_revision": "1", "order": "x"}, 400),
            ({"expected_revision": "1", "order": "", "give": ""}, 400),
            ({"expected_revision": "1", "order": "", "give": "x"}, 400),
            ({"expected_revision": "1", "order": "", "up": str(uuid.uuid4())}, 404),
            ({"expected_revision": "1", "order": "", "give": str(uuid.uuid4())}, 404),
            ({"expected_revision": "1", "order": f"{uuid.UUID(int=1)} {uuid.UUID(int=1)}"}, 400),
            ({"expected_revision": "1", "order": " ".join(str(uuid.UUID(int=n)) for n in range(60))}, 400),
        ],
    )
    def test_a_form_that_is_none_of_ours_breaks_nothing(
        self,
        browser: Client,
        owner: Person,
        given_page: str,
        three: list[Standard],
        form: dict[str, str],
        status: int,
    ) -> None:
        assert browser.post(given_page, form).status_code == status
        assert len(order_of(owner)) == (0 if status == 302 else 3)


class TestTenants:
    def test_foreign_and_missing_are_one_page(self, owner: Person, other_owner: Person) -> None:
        theirs = put(other_owner, "Theirs", "their words")
        give(other_owner, theirs)
        browser = visitor(owner)
        foreign_page = f"/projects/{other_owner.project.pk}/standards"
        at = [address(theirs), address(theirs) + "/edit", f"/standards/{uuid.uuid4()}", foreign_page]
        pages = {(answer.status_code, answer.content) for answer in map(browser.get, at)}
        assert len(pages) == 1
        assert pages.pop()[0] == 404
        form = {"expected_revision": 1, "title": "Mine", "content": "mine", "status": "inactive", "order": ""}
        for path in (address(theirs), address(theirs) + "/revisions/1/restore", foreign_page):
            assert browser.post(path, form).status_code == 404
        mine = f"/projects/{owner.project.pk}/standards"
        assert browser.post(mine, {"expected_revision": 0, "order": "", "give": theirs.pk}).status_code == 404
        stale = browser.post(mine, {"expected_revision": 7, "order": theirs.pk})
        assert "Theirs" not in text_of(stale)
        theirs.refresh_from_db()
        assert (theirs.content, theirs.revision) == ("their words", 1)
        assert "Theirs" not in text_of(browser.get(SHELF))

    def test_a_stranger_is_led_to_sign_in_and_loses_nothing(self, owner: Person, given_page: str) -> None:
        standard = put(owner)
        stranger = visitor()
        for path in (SHELF, address(standard), address(standard) + "/edit", given_page):
            assert stranger.get(path)["Location"] == f"/accounts/login/?next={path}"
            assert stranger.get(path, **PART).status_code == 401
        answer = stranger.post(address(standard), {"expected_revision": 1, "title": "typed", "content": HOSTILE})
        page = text_of(answer)
        assert answer.status_code == 401
        assert 'value="typed"' in page
        assert "&lt;script&gt;alert(1)" in page
        ids = f"{standard.pk} {uuid.UUID(int=1)}"
        page = text_of(stranger.post(given_page, {"expected_revision": 0, "order": ids, "give": standard.pk}))
        assert field(page, "order") == ids, "the whole order is sent again, or none"

    @pytest.mark.parametrize("path", [NEW, "/standards/{}", "/standards/{}/revisions/1/restore", "{}/standards"])
    def test_a_form_without_its_token_is_refused(self, owner: Person, path: str) -> None:
        standard = put(owner)
        client = visitor(owner, enforce_csrf_checks=True)
        at = path.format(standard.pk if path.startswith("/") else f"/projects/{owner.project.pk}")
        answer = client.post(
            at, {"title": "x", "content": "x", "expected_revision": 1}, HTTP_ORIGIN="https://evil.example"
        )
        assert answer.status_code == 403


class TestCost:
    @pytest.mark.parametrize("count", [1, 50])
    def test_statements_do_not_grow(self, browser: Client, owner: Person, given_page: str, count: int) -> None:
        standards = [put(owner, f"title {number}") for number in range(count)]
        others = [owner.new_project(f"Project {number}") for number in range(min(count, 15))]
        give(owner, *standards)
        for project in others:
            give(owner, *standards[:5], project=project)
        for number in range(count):
            revise(owner, standards[0], content=f"wording {number}")
        one = address(standards[0])
        bounds = {SHELF: 6, one: 7, one + "/edit": 6, given_page: 7}
        for path, most in bounds.items():
            with CaptureQueriesContext(connection) as asked:
                assert browser.get(path).status_code == 200
            assert len(asked) <= most, (path, [each["sql"][:100] for each in asked])
