"""What owners can do to projects, notes and standards, and what is refused."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from accounts.models import Activity
from memford.core.errors import InvalidArguments, MemfordError, NotFound, QuotaExceeded, RevisionConflict
from memford.core.limits import limits
from projects import access
from projects.models import Note, Project
from projects.selectors import (
    NoteFilter,
    assignment_of,
    list_activity,
    list_notes,
    list_projects,
    list_standards,
    note_history,
    projects_using,
    standard_history,
)
from projects.services import (
    assign_standards,
    change_project,
    create_project,
    create_standard,
    delete_project,
    restore_project,
    revise_note,
    revise_standard,
    write_note,
)
from tests.cast import Person


def note_of(person: Person, content: str = "first", source: str | None = "desk") -> Note:
    """Store a note by the owner's own hand."""
    receipt = write_note(
        owner_id=person.id, project_id=person.project.pk, writer=person.hand, content=content, source=source
    )
    return Note.objects.get(pk=receipt.id)


def revise(person: Person, note: Note, expected_revision: int, **changes: Any) -> Note:
    """Change a note by its owner's hand."""
    return revise_note(
        owner_id=person.id,
        project_id=person.project.pk,
        note_id=note.pk,
        expected_revision=expected_revision,
        actor=person.hand,
        **changes,
    )


def in_threads(work: Any, count: int) -> list[Any]:
    """Run ``work`` in as many threads at once, and return what each returned or raised."""

    def one(index: int) -> Any:
        try:
            return work(index)
        except MemfordError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


class TestNotes:
    """A2: nothing is ever overwritten."""

    def test_every_change_is_a_revision_and_the_submission_is_the_first(self, owner: Person) -> None:
        note = note_of(owner)
        revise(owner, note, 1, content="second")
        revise(owner, note, 2, source=None)
        revise(owner, note, 3, status="deleted")
        revise(owner, note, 4, status="active", content="first")
        history = note_history(owner_id=owner.id, project_id=owner.project.pk, note_id=note.pk)
        assert [(w.revision, w.content, w.source, w.status) for w in history] == [
            (1, "first", "desk", "active"),
            (2, "second", "desk", "active"),
            (3, "second", None, "active"),
            (4, "second", None, "deleted"),
            (5, "first", None, "active"),
        ]
        assert [w.changed_at for w in history] == sorted(w.changed_at for w in history)
        assert {w.changed_by_id for w in history} == {owner.id}

    def test_a_stale_revision_changes_nothing_and_tells_the_current_one(self, owner: Person) -> None:
        note = note_of(owner)
        revise(owner, note, 1, content="second")
        before = Project.objects.get(pk=owner.project.pk)
        with pytest.raises(RevisionConflict) as conflict:
            revise(owner, note, 1, content="lost")
        assert conflict.value.as_dict()["current_revision"] == 2
        after = Project.objects.get(pk=owner.project.pk)
        assert (after.memory_revision, after.stored_bytes) == (before.memory_revision, before.stored_bytes)
        assert len(note_history(owner_id=owner.id, project_id=owner.project.pk, note_id=note.pk)) == 2

    @pytest.mark.parametrize(
        "changes",
        [{}, {"content": " "}, {"content": "\0"}, {"content": "\ud800"}, {"source": "s" * 121}, {"status": "gone"}],
    )
    def test_a_bad_change_is_refused(self, owner: Person, changes: dict[str, Any]) -> None:
        with pytest.raises(InvalidArguments):
            revise(owner, note_of(owner), 1, **changes)

    def test_of_parallel_edits_one_is_accepted(self, owner: Person) -> None:
        note = note_of(owner)
        outcomes = in_threads(lambda index: revise(owner, note, 1, content=f"edit {index}"), 8)
        accepted = [outcome for outcome in outcomes if isinstance(outcome, Note)]
        assert len(accepted) == 1
        assert all(isinstance(other, RevisionConflict) for other in outcomes if other is not accepted[0])
        note.refresh_from_db()
        assert (note.revision, note.content) == (2, accepted[0].content)

    def test_the_list_shows_all_that_is_retained_newest_first(self, owner: Person) -> None:
        notes = [note_of(owner, str(number)) for number in range(3)]
        revise(owner, notes[1], 1, status="deleted")
        where: dict[str, Any] = {"owner_id": owner.id, "project_id": owner.project.pk}
        assert [note.content for note in list_notes(limit=10, **where)] == ["2", "1", "0"]
        assert [note.content for note in list_notes(limit=10, only=NoteFilter(status="deleted"), **where)] == ["1"]
        assert [note.content for note in list_notes(limit=1, before_seq=notes[2].seq, **where)] == ["1"]

    def test_each_revision_counts_as_stored_text(self, owner: Person) -> None:
        note = note_of(owner, "é" * 10, None)
        assert Project.objects.get(pk=owner.project.pk).stored_bytes == 20
        revise(owner, note, 1, content="x" * 5)
        assert Project.objects.get(pk=owner.project.pk).stored_bytes == 25
        Project.objects.filter(pk=owner.project.pk).update(stored_bytes=limits().stored_text_per_owner_max_bytes)
        with pytest.raises(QuotaExceeded):
            revise(owner, note, 2, content="more")


class TestProjects:
    """Projects, and their deletion (A8)."""

    def test_a_name_is_needed_and_bounded(self, owner: Person) -> None:
        for name in ("", " ", "x" * 121, "\0"):
            with pytest.raises(InvalidArguments):
                create_project(owner_id=owner.id, name=name, actor=owner.hand)
        with pytest.raises(InvalidArguments):
            change_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand, description="x" * 2001)

    def test_a_deleted_project_is_gone_and_can_be_restored(self, owner: Person) -> None:
        where: dict[str, Any] = {"owner_id": owner.id, "project_id": owner.project.pk, "actor": owner.hand}
        delete_project(**where)
        assert not list_projects(owner_id=owner.id).exists()
        for act in (delete_project, change_project):
            with pytest.raises(NotFound):
                act(**where)
        restore_project(**where)
        assert list_projects(owner_id=owner.id).get() == owner.project
        with pytest.raises(NotFound):
            restore_project(**where)

    def test_an_owner_has_a_hundred_projects_at_most_however_many_ask_at_once(self, owner: Person) -> None:
        most = limits().projects_per_owner_max
        Project.objects.bulk_create(Project(owner=owner.owner, name=str(number)) for number in range(most - 3))
        outcomes = in_threads(lambda index: create_project(owner_id=owner.id, name="x", actor=owner.hand), 6)
        assert sum(isinstance(outcome, QuotaExceeded) for outcome in outcomes) == 4
        assert list_projects(owner_id=owner.id).count() == most


class TestStandards:
    """A3, A4 and the bounds of part 1."""

    def shelf(self, owner: Person, *contents: str) -> list[uuid.UUID]:
        return [
            create_standard(owner_id=owner.id, title=f"S{index}", content=content, actor=owner.hand).pk
            for index, content in enumerate(contents)
        ]

    def assign(self, owner: Person, expected: int, ids: list[uuid.UUID], project: Project | None = None) -> Project:
        return assign_standards(
            owner_id=owner.id,
            project_id=(project or owner.project).pk,
            expected_revision=expected,
            standard_ids=ids,
            actor=owner.hand,
        )

    def revise(self, owner: Person, standard: uuid.UUID, expected: int, **changes: Any) -> Any:
        return revise_standard(
            owner_id=owner.id, standard_id=standard, expected_revision=expected, actor=owner.hand, **changes
        )

    def test_every_change_is_a_revision(self, owner: Person) -> None:
        (standard,) = self.shelf(owner, "first")
        self.revise(owner, standard, 1, content="second")
        self.revise(owner, standard, 2, title="T", status="inactive")
        with pytest.raises(RevisionConflict):
            self.revise(owner, standard, 2, content="lost")
        history = standard_history(owner_id=owner.id, standard_id=standard)
        assert [(w.revision, w.title, w.content, w.status) for w in history] == [
            (1, "S0", "first", "active"),
            (2, "S0", "second", "active"),
            (3, "T", "second", "inactive"),
        ]

    def test_the_order_is_the_owners_and_a_stale_assignment_changes_nothing(self, owner: Person) -> None:
        ids = self.shelf(owner, "a", "b", "c")
        assert self.assign(owner, 0, [ids[2], ids[0]]).assignment_revision == 1
        with pytest.raises(RevisionConflict) as conflict:
            self.assign(owner, 0, [])
        assert conflict.value.data["current_revision"] == 1
        where: dict[str, Any] = {"owner_id": owner.id, "project_id": owner.project.pk}
        assert [standard.pk for standard in assignment_of(**where)[1]] == [ids[2], ids[0]]
        assert self.assign(owner, 1, [ids[0], ids[2], ids[1]]).assignment_revision == 2
        assert [standard.pk for standard in assignment_of(**where)[1]] == [ids[0], ids[2], ids[1]]
        assert [project.pk for project in projects_using(owner_id=owner.id, standard_id=ids[1])] == [owner.project.pk]

    def test_too_many_twice_and_foreign_ones_are_refused(self, owner: Person, other_owner: Person) -> None:
        (own,) = self.shelf(owner, "a")
        (foreign,) = self.shelf(other_owner, "b")
        with pytest.raises(InvalidArguments):
            self.assign(owner, 0, [own, own])
        with pytest.raises(NotFound):
            self.assign(owner, 0, [own, foreign])
        with pytest.raises(InvalidArguments):
            self.assign(owner, 0, [uuid.uuid4() for _ in range(51)])
        assert list_standards(owner_id=owner.id).count() == 1

    def test_what_a_project_is_given_stays_within_its_size_by_assigning_and_by_editing(self, owner: Person) -> None:
        long = "x" * 15_900
        ids = self.shelf(owner, *[long] * 8, "short")
        self.assign(owner, 0, ids)
        with pytest.raises(InvalidArguments):
            self.revise(owner, ids[8], 1, content=long)
        self.revise(owner, ids[8], 1, content="still short")
        more = self.shelf(owner, long)
        with pytest.raises(InvalidArguments):
            self.assign(owner, 1, [*ids, *more])
        assert Project.objects.get(pk=owner.project.pk).assignment_revision == 1

    def test_parallel_edits_of_standards_shared_by_projects_all_end(self, owner: Person) -> None:
        ids = self.shelf(owner, "a", "b", "c", "d")
        projects = [owner.new_project(str(number)) for number in range(3)]
        for project in projects:
            self.assign(owner, 0, ids, project)
        outcomes = in_threads(lambda index: self.revise(owner, ids[index % 4], 1, content=f"edit {index}"), 8)
        assert sum(isinstance(outcome, RevisionConflict) for outcome in outcomes) == 4
        for project in projects:
            project.refresh_from_db()
            assert project.standards_revision == 5


class TestIsolation:
    """Foreign and missing are one error (T8, A-rules)."""

    def test_access_gives_the_owner_their_own_and_others_nothing(self, owner: Person, other_owner: Person) -> None:
        note = note_of(owner)
        standard = create_standard(owner_id=owner.id, title="T", content="x", actor=owner.hand)
        assert access.project_of(owner.id, str(owner.project.pk)) == owner.project
        assert access.note_of(owner.id, owner.project.pk, note.pk) == note
        assert access.standard_of(owner.id, standard.pk) == standard
        for person in (other_owner.id, uuid.uuid4()):
            for look in (
                lambda who: access.project_of(who, owner.project.pk),
                lambda who: access.note_of(who, owner.project.pk, note.pk),
                lambda who: access.standard_of(who, standard.pk),
                lambda who: note_history(owner_id=who, project_id=owner.project.pk, note_id=note.pk),
                lambda who: list_activity(owner_id=who, project_id=owner.project.pk, limit=1),
            ):
                with pytest.raises(NotFound):
                    look(person)
        for bad in ("", "x", "\0", "é", str(owner.project.pk) + "0"):
            with pytest.raises(NotFound):
                access.project_of(owner.id, bad)

    def test_a_note_is_not_found_through_another_project(self, owner: Person) -> None:
        note, second = note_of(owner), owner.new_project("Second")
        with pytest.raises(NotFound):
            access.note_of(owner.id, second.pk, note.pk)

    def test_no_service_touches_what_is_anothers(self, owner: Person, other_owner: Person) -> None:
        note = note_of(owner)
        standard = create_standard(owner_id=owner.id, title="T", content="x", actor=owner.hand)
        who: dict[str, Any] = {"owner_id": other_owner.id, "actor": other_owner.hand}
        where: dict[str, Any] = {**who, "project_id": owner.project.pk}
        acts: list[Callable[[], object]] = [
            lambda: revise_note(note_id=note.pk, expected_revision=1, content="planted", **where),
            lambda: change_project(name="taken", **where),
            lambda: delete_project(**where),
            lambda: restore_project(**where),
            lambda: assign_standards(expected_revision=0, standard_ids=[], **where),
            lambda: revise_standard(standard_id=standard.pk, expected_revision=1, content="planted", **who),
            lambda: write_note(
                owner_id=other_owner.id, project_id=owner.project.pk, writer=other_owner.hand, content="planted"
            ),
        ]
        for act in acts:
            with pytest.raises(MemfordError) as refused:
                act()
            assert refused.value.status == 404
        note.refresh_from_db()
        assert (note.content, note.revision) == ("first", 1)


def test_the_activity_log_tells_who_did_what_without_content(owner: Person) -> None:
    note = note_of(owner, "a secret plan", "a secret source")
    revise(owner, note, 1, content="another secret plan")
    revise(owner, note, 2, status="inactive")
    change_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand, description="secret")
    owner.new_agent()
    lines = list_activity(owner_id=owner.id, project_id=owner.project.pk, limit=50)
    assert [line.tag for line in lines] == [
        "key_created",
        "project_changed",
        "note_status_changed",
        "note_edited",
        "note_written",
        "project_created",
    ]
    assert {line.actor_id for line in lines} == {owner.id}
    assert lines[3].object_id == note.pk
    printed = str([line.detail for line in lines])
    assert "secret" not in printed
    assert "mfk_" not in printed


def test_a_refused_act_leaves_no_line(owner: Person) -> None:
    note = note_of(owner)
    before = Activity.objects.filter(owner_id=owner.id).count()
    with pytest.raises(RevisionConflict):
        revise(owner, note, 9, content="x")
    assert Activity.objects.filter(owner_id=owner.id).count() == before
