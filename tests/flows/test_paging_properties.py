"""Properties: what a reading sees whatever happens meanwhile (T2-T5), and that texts stay as given (T10, A2)."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import pytest
from django.db import connections
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accounts.models import Activity
from mcp_gateway.tools import TOOLS
from memford.core.activity import Tag
from memford.core.errors import MemoryChanged, RevisionConflict
from memford.core.principal import Principal
from projects.models import Note, Project, Status
from projects.selectors import note_history
from projects.services import (
    assign_standards,
    change_project,
    create_standard,
    revise_note,
    revise_standard,
    write_note,
)
from tests.cast import Agent, Person, new_person
from tests.flows.facts import EXACT_TEXT
from tests.live import LiveServer
from tests.wire import Wire

CONTENT_MAX_CHARS: Final = 32_000
BODY_MAX_BYTES: Final = 65_536
LIMITS: Final = st.integers(1, 6) | st.just(100)

_CHARACTERS: Final = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
SHORT_TEXTS: Final = st.text(_CHARACTERS, min_size=1, max_size=20).filter(lambda text: text.strip() != "")
# Four such notes fill a page by their size alone.
FAT_TEXT: Final = "🧭" * CONTENT_MAX_CHARS


def read(principal: Principal, **arguments: object) -> dict[str, Any]:
    """Call ``memory_read`` as the gateway does, with its cursors, but without the wire."""
    tool = TOOLS["memory_read"]
    return tool.run(principal, tool.parse({"project_id": str(principal.project_id), **arguments}))


def write(principal: Principal, **arguments: object) -> dict[str, Any]:
    """Call ``memory_write`` likewise."""
    tool = TOOLS["memory_write"]
    return tool.run(principal, tool.parse({"project_id": str(principal.project_id), **arguments}))


@dataclass
class KnownNote:
    """A note as it must be now."""

    id: str
    content: str
    source: str | None
    status: str = "active"
    revision: int = 1

    def as_read(self) -> tuple[str, str, str | None, int]:
        """Return what a reader sees of it."""
        return self.id, self.content, self.source, self.revision


def as_read(note: dict[str, Any]) -> tuple[str, str, str | None, int]:
    """Return the same of a note on a page."""
    return note["id"], note["content"], note["source"], note["revision"]


@dataclass
class KnownStandard:
    """A standard as it must be now."""

    id: uuid.UUID
    title: str
    content: str
    status: str = "active"
    revision: int = 1


@dataclass
class Reading:
    """A reading under way: what it must still see, and the moment that it belongs to."""

    left: list[tuple[str, str, str | None, int]]
    reported: tuple[int, int, int]
    disturbances: int
    cursor: str | None = None


class Paging(RuleBasedStateMachine):
    """An owner and agents change a project in any order while several readings page through it."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[KnownNote] = []
        self.shelf: list[KnownStandard] = []
        self.assigned: list[KnownStandard] = []
        self.assignment_revision = 0
        self.memory_revision = 0
        self.standards_revision = 0
        self.disturbances = 0
        self.readings: list[Reading] = []
        self.names = 0

    @initialize(
        contents=st.lists(SHORT_TEXTS, min_size=3, max_size=8),
        standards=st.lists(SHORT_TEXTS, min_size=2, max_size=3),
    )
    def begin_with_notes_and_standards(self, contents: list[str], standards: list[str]) -> None:
        self.person = new_person()
        self.agent = self.person.new_agent().principal
        self.second_agent = self.person.new_agent().principal
        other = self.person.new_project("Other")
        self.other_agent = self.person.new_agent(project=other).principal
        for content in contents:
            self._submit(content, None, by_owner=False)
        for content in standards:
            self._shelve(content)
        self._assign(self.shelf[::-1])

    def _submit(self, content: str, source: str | None, *, by_owner: bool) -> None:
        writer = self.person.hand if by_owner else self.second_agent.writer
        receipt = write_note(
            owner_id=self.person.id,
            project_id=self.person.project.pk,
            writer=writer,
            content=content,
            source=source,
        )
        self.notes.append(KnownNote(str(receipt.id), content, source))
        self.memory_revision += 1

    # What does not disturb a reading.

    def _somebody_submits(self, data: st.DataObject) -> None:
        self._submit(
            data.draw(SHORT_TEXTS),
            data.draw(st.none() | st.text(_CHARACTERS, max_size=10)),
            by_owner=data.draw(st.booleans()),
        )

    def _an_agent_submits_a_long_note(self, data: st.DataObject) -> None:
        self._submit(FAT_TEXT, None, by_owner=False)

    def _another_project_is_written_and_edited(self, data: st.DataObject) -> None:
        other_id = self.other_agent.project_id
        note_id = write(self.other_agent, content="elsewhere")["note"]["id"]
        revise_note(
            owner_id=self.person.id,
            project_id=other_id,
            note_id=note_id,
            expected_revision=1,
            actor=self.person.hand,
            content="elsewhere, edited",
        )
        self.names += 1
        change_project(owner_id=self.person.id, project_id=other_id, actor=self.person.hand, name=f"Other {self.names}")

    def _a_standard_is_put_on_the_shelf(self, data: st.DataObject) -> None:
        self._shelve(data.draw(SHORT_TEXTS))

    def _shelve(self, content: str) -> None:
        made = create_standard(owner_id=self.person.id, title="Standard", content=content, actor=self.person.hand)
        self.shelf.append(KnownStandard(made.pk, "Standard", content))

    def _a_stale_edit_is_refused(self, data: st.DataObject) -> None:
        note = data.draw(st.sampled_from(self.notes))
        with pytest.raises(RevisionConflict):
            self._revise(note, expected_revision=note.revision + 1, content="never")

    # What does.

    def _revise(self, note: KnownNote, **changes: Any) -> None:
        revise_note(
            owner_id=self.person.id,
            project_id=self.person.project.pk,
            note_id=note.id,
            actor=self.person.hand,
            **changes,
        )

    def _the_owner_edits(self, data: st.DataObject) -> None:
        note, content = data.draw(st.sampled_from(self.notes)), data.draw(SHORT_TEXTS)
        self._revise(note, expected_revision=note.revision, content=content)
        note.content, note.revision = content, note.revision + 1
        self.memory_revision += 1
        self.disturbances += 1

    def _the_owner_changes_a_status(self, data: st.DataObject) -> None:
        note = data.draw(st.sampled_from(self.notes))
        status = data.draw(st.sampled_from([value for value in Status.values if value != note.status]))
        self._revise(note, expected_revision=note.revision, status=status)
        note.status, note.revision = status, note.revision + 1
        self.memory_revision += 1
        self.disturbances += 1

    def _the_owner_changes_the_project(self, data: st.DataObject) -> None:
        self.names += 1
        text = f"Lighthouse {self.names}"
        change: dict[str, str] = {data.draw(st.sampled_from(["name", "description"])): text}
        change_project(owner_id=self.person.id, project_id=self.person.project.pk, actor=self.person.hand, **change)
        self.memory_revision += 1
        self.disturbances += 1

    def _the_owner_assigns_standards(self, data: st.DataObject) -> None:
        self._assign(data.draw(st.lists(st.sampled_from(self.shelf), unique_by=lambda standard: standard.id)))

    def _assign(self, chosen: list[KnownStandard]) -> None:
        assign_standards(
            owner_id=self.person.id,
            project_id=self.person.project.pk,
            expected_revision=self.assignment_revision,
            standard_ids=[standard.id for standard in chosen],
            actor=self.person.hand,
        )
        self.assigned = chosen
        self.assignment_revision += 1
        self.standards_revision += 1
        self.disturbances += 1

    def _the_owner_edits_a_standard(self, data: st.DataObject) -> None:
        standard, content = data.draw(st.sampled_from(self.shelf)), data.draw(SHORT_TEXTS)
        self._revise_standard(standard, content=content)
        standard.content = content
        # No agent sees an edit of what is inactive or not assigned.
        if standard in self.assigned and standard.status == "active":
            self.standards_revision += 1
            self.disturbances += 1

    def _the_owner_switches_a_standard(self, data: st.DataObject) -> None:
        standard = data.draw(st.sampled_from(self.shelf))
        status = "inactive" if standard.status == "active" else "active"
        self._revise_standard(standard, status=status)
        standard.status = status
        if standard in self.assigned:
            self.standards_revision += 1
            self.disturbances += 1

    def _revise_standard(self, standard: KnownStandard, **changes: Any) -> None:
        revise_standard(
            owner_id=self.person.id,
            standard_id=standard.id,
            expected_revision=standard.revision,
            actor=self.person.hand,
            **changes,
        )
        standard.revision += 1

    EVENTS: ClassVar = {
        "somebody submits": _somebody_submits,
        "an agent submits a long note": _an_agent_submits_a_long_note,
        "another project is written and edited": _another_project_is_written_and_edited,
        "a standard is put on the shelf": _a_standard_is_put_on_the_shelf,
        "a stale edit is refused": _a_stale_edit_is_refused,
        "the owner edits": _the_owner_edits,
        "the owner changes a status": _the_owner_changes_a_status,
        "the owner changes the project": _the_owner_changes_the_project,
        "the owner assigns standards": _the_owner_assigns_standards,
        "the owner edits a standard": _the_owner_edits_a_standard,
        "the owner switches a standard": _the_owner_switches_a_standard,
    }

    @rule(data=st.data(), event=st.sampled_from(sorted(EVENTS)))
    def something_happens(self, data: st.DataObject, event: str) -> None:
        self.EVENTS[event](self, data)

    # Readings.

    @rule(limit=LIMITS)
    def a_reading_begins(self, limit: int) -> None:
        self._begin(limit)

    def _begin(self, limit: int) -> Reading:
        active = [note.as_read() for note in self.notes if note.status == "active"]
        reported = (self.memory_revision, self.standards_revision, len(self.notes))
        reading = Reading(active, reported, self.disturbances)
        self._turn_page(reading, limit)
        if reading.cursor is not None:
            self.readings.append(reading)
        return reading

    @precondition(lambda self: self.readings)
    @rule(data=st.data(), limit=LIMITS)
    def a_reading_goes_on(self, data: st.DataObject, limit: int) -> None:
        self._go_on(data.draw(st.sampled_from(self.readings)), limit)

    @rule(data=st.data(), event=st.sampled_from(sorted(EVENTS)))
    def something_happens_between_two_pages(self, data: st.DataObject, event: str) -> None:
        reading = self._begin(1)
        self.EVENTS[event](self, data)
        if reading.cursor is not None:
            self._go_on(reading, data.draw(LIMITS))

    def _go_on(self, reading: Reading, limit: int) -> None:
        if reading.disturbances != self.disturbances:
            with pytest.raises(MemoryChanged):
                read(self.agent, cursor=reading.cursor, limit=limit)
            self.readings.remove(reading)
            return
        self._turn_page(reading, limit)
        if reading.cursor is None:
            self.readings.remove(reading)

    def _turn_page(self, reading: Reading, limit: int) -> None:
        page = read(self.agent, limit=limit, **({} if reading.cursor is None else {"cursor": reading.cursor}))
        shown = [as_read(note) for note in page["notes"]]
        assert len(shown) <= limit
        assert shown or not reading.left
        # The newest of what is left, oldest first.
        assert shown == reading.left[len(reading.left) - len(shown) :]
        reading.left = reading.left[: len(reading.left) - len(shown)]
        reading.cursor = page["next_cursor"]
        assert (reading.cursor is None) == (not reading.left)
        project = page["project"]
        assert (page["memory_revision"], page["standards_revision"], project["notes_count"]) == reading.reported
        assert (project["memory_revision"], project["standards_revision"]) == reading.reported[:2]
        active = [standard for standard in self.assigned if standard.status == "active"]
        assert [(each["id"], each["title"], each["content"], each["revision"]) for each in page["standards"]] == [
            (str(standard.id), standard.title, standard.content, standard.revision) for standard in active
        ]

    @invariant()
    def counters_tell_what_happened(self) -> None:
        if not hasattr(self, "person"):
            return
        project = Project.objects.get(pk=self.person.project.pk)
        assert (project.memory_revision, project.standards_revision) == (
            self.memory_revision,
            self.standards_revision,
        )
        assert project.notes_count == project.last_seq == len(self.notes)

    def teardown(self) -> None:
        """Bring every reading to its end."""
        while self.readings:
            self._go_on(self.readings[0], 3)


def test_a_reading_sees_one_moment_whole_and_in_order_or_is_told_that_the_memory_changed() -> None:
    run_state_machine_as_test(Paging, settings=settings(max_examples=30, stateful_step_count=25, deadline=None))


# Threads


@dataclass
class Reader:
    """Reads again and again until told to stop, and keeps what came of each reading."""

    wire: Wire
    project_id: str
    limits: Sequence[int]
    whole: list[tuple[int, int, list[tuple[str, str, str | None, int]]]] = field(default_factory=list)
    disturbed: list[int] = field(default_factory=list)

    def read_until(self, stop: threading.Event) -> None:
        """Read at least once, and once after everything has come to rest."""
        while True:
            last = stop.is_set()
            self._read()
            if last:
                return

    def _read(self) -> None:
        notes: list[tuple[str, str, str | None, int]] = []
        cursor: dict[str, Any] = {}
        began: tuple[int, int] | None = None
        for turn in range(10_000):
            limit = self.limits[turn % len(self.limits)]
            answer = self.wire.call("memory_read", {"project_id": self.project_id, "limit": limit, **cursor})
            if answer.result.get("isError"):
                assert answer.error["code"] == "memory_changed"
                assert began is not None, "a reading that begins has nothing to be disturbed in"
                self.disturbed.append(began[0])
                return
            page = answer.ok
            reported = (page["memory_revision"], page["project"]["notes_count"])
            began = began or reported
            assert reported == began
            notes = [as_read(note) for note in page["notes"]] + notes
            if page["next_cursor"] is None:
                self.whole.append((*began, notes))
                return
            cursor = {"cursor": page["next_cursor"]}


@contextmanager
def readers_at_work(server: LiveServer, agent: Agent) -> Iterator[list[Reader]]:
    """Keep readers with pages of different sizes at work until the block ends."""
    stop = threading.Event()
    readers = [Reader(Wire(server.url, agent.key), agent.project_id, limits) for limits in ([100], [7], [3, 50, 11])]
    with ThreadPoolExecutor(len(readers)) as threads:
        futures = [threads.submit(reader.read_until, stop) for reader in readers]
        try:
            yield readers
        finally:
            stop.set()
    for reader in readers:
        reader.wire.client.close()
    for future in futures:
        future.result()


def in_threads(*works: Callable[[], None]) -> None:
    """Run each work in a thread of its own, with database connections that end with it."""

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as threads:
        list(threads.map(run, works))


def submit_many(server: LiveServer, agent: Agent, count: int) -> Callable[[], None]:
    """Return the work of an agent that writes."""

    def work() -> None:
        with Wire(server.url, agent.key) as wire:
            for number in range(count):
                content = f"{agent.connection.name}: note {number}"
                assert wire.call("memory_write", {"project_id": agent.project_id, "content": content}).ok

    return work


def change_many(person: Person, changes: Sequence[dict[str, Any]], every: int, begin: int) -> Callable[[], None]:
    """Return the work of an owner's hand that changes notes here and there, deciding anew after each conflict."""

    def work() -> None:
        for turn, change in enumerate(changes):
            project = person.project.pk
            notes = list(Note.objects.filter(project=project).order_by("seq").values_list("pk", flat=True))
            note_id = notes[(begin + turn * every) % len(notes)]
            while True:
                revision = Note.objects.get(pk=note_id).revision
                try:
                    revise_note(
                        owner_id=person.id,
                        project_id=project,
                        note_id=note_id,
                        expected_revision=revision,
                        actor=person.hand,
                        **change,
                    )
                except RevisionConflict:
                    continue
                break

    return work


def moments_of(person: Person) -> list[list[tuple[str, str, str | None, int]]]:
    """Return what was active at each memory revision, told by the activity log and the notes' histories."""
    project_id = person.project.pk
    wordings = {
        str(note_id): {
            wording.revision: wording
            for wording in note_history(owner_id=person.id, project_id=project_id, note_id=note_id)
        }
        for note_id in Note.objects.filter(project_id=project_id).values_list("pk", flat=True)
    }
    told = Activity.objects.filter(
        project_id=project_id, tag__in=[Tag.NOTE_WRITTEN, Tag.NOTE_EDITED, Tag.NOTE_STATUS_CHANGED]
    ).order_by("id")
    now: dict[str, int] = {}
    moments: list[list[tuple[str, str, str | None, int]]] = [[]]
    for line in told:
        note_id = str(line.object_id)
        now[note_id] = 1 if line.tag == Tag.NOTE_WRITTEN else line.detail["revision"]
        current = [(note, wordings[note][revision]) for note, revision in now.items()]
        moments.append(
            [
                (note, wording.content, wording.source, wording.revision)
                for note, wording in current
                if wording.status == "active"
            ]
        )
    return moments


def check_readings(person: Person, readers: Sequence[Reader]) -> None:
    """Require of each whole reading that it is the memory at the revision it reported."""
    moments = moments_of(person)
    project = Project.objects.get(pk=person.project.pk)
    assert project.memory_revision == len(moments) - 1
    for reader in readers:
        for revision, notes_count, notes in reader.whole:
            assert notes == moments[revision]
            assert notes_count <= project.notes_count
        # Each read once more after everything had come to rest.
        assert reader.whole[-1][:2] == (project.memory_revision, project.notes_count)


def test_parallel_submissions_never_disturb_a_reading(server: LiveServer, owner: Person, agent: Agent) -> None:
    for number in range(40):
        write(agent.principal, content=f"before {number}")
    writers = [owner.new_agent(name=f"agent {number}") for number in range(3)]
    with readers_at_work(server, agent) as readers:
        in_threads(*(submit_many(server, writer, 25) for writer in writers))
    check_readings(owner, readers)
    assert Note.objects.filter(project=owner.project).count() == 115
    for reader in readers:
        assert reader.disturbed == []
        # It read while they wrote.
        assert len({revision for revision, _, _ in reader.whole}) > 1


def test_readings_among_parallel_writes_edits_and_deletions_see_one_moment_or_begin_again(
    server: LiveServer, owner: Person, agent: Agent
) -> None:
    for number in range(40):
        write(agent.principal, content=f"before {number}", source=f"source {number}")
    writers = [owner.new_agent(name=f"agent {number}") for number in range(2)]
    edits = [{"content": f"edit {number}"} for number in range(25)]
    deletions = [{"status": "deleted"}, {"status": "inactive"}, {"status": "active"}] * 8
    with readers_at_work(server, agent) as readers:
        in_threads(
            *(submit_many(server, writer, 20) for writer in writers),
            change_many(owner, edits, every=3, begin=0),
            change_many(owner, deletions, every=2, begin=39),
        )
    check_readings(owner, readers)
    last_change = (
        Activity.objects.filter(project_id=owner.project.pk, tag__in=[Tag.NOTE_EDITED, Tag.NOTE_STATUS_CHANGED])
        .order_by("id")
        .last()
    )
    assert last_change is not None
    told = Activity.objects.filter(
        project_id=owner.project.pk, tag__in=[Tag.NOTE_WRITTEN, Tag.NOTE_EDITED, Tag.NOTE_STATUS_CHANGED]
    )
    last_disturbance = told.filter(id__lte=last_change.pk).count()
    for reader in readers:
        # Only readings that began before a change may be told of one.
        assert all(began < last_disturbance for began in reader.disturbed)
    assert any(reader.disturbed for reader in readers)


# Texts


def _long(piece: str, length: int) -> str:
    return (piece * (length // len(piece) + 1))[:length]


# Long texts are made of a repeated piece: what matters is the length and which characters stand at the seams.
TEXTS: Final = SHORT_TEXTS | st.builds(_long, SHORT_TEXTS, st.integers(1, CONTENT_MAX_CHARS)).filter(
    lambda text: text.strip() != ""
)


@pytest.fixture(scope="module")
def scribe(database_access: None) -> Agent:
    """One agent for all examples of a property; each example looks at its own note."""
    return new_person().new_agent()


@given(text=TEXTS, source=st.none() | st.text(_CHARACTERS, max_size=120))
@example(text=FAT_TEXT, source="🗒" * 120)
@example(text="a" * CONTENT_MAX_CHARS, source="")
@example(text=f" {'é' * (CONTENT_MAX_CHARS - 2)}\n", source=" ")
@example(text=EXACT_TEXT, source="\r\n")
@example(text="null", source="0")
@example(text='"\\u0000"', source="\\")
@example(text="\ufeff\ufffe\uffff\U0010fffe", source="\x7f\x80\x9f")
@example(text="\x01\x1f\u200b", source=None)
@settings(max_examples=80, deadline=None)
def test_any_text_is_read_back_exactly_as_it_was_written(scribe: Agent, text: str, source: str | None) -> None:
    given_source = {} if source is None else {"source": source}
    checkpoint = str(uuid.uuid4())
    first = write(scribe.principal, content=text, checkpoint_id=checkpoint, **given_source)
    assert (first["note"]["content"], first["note"]["source"]) == (text, source)
    note = read(scribe.principal, limit=1)["notes"][0]
    assert (note["id"], note["content"], note["source"]) == (first["note"]["id"], text, source)
    assert write(scribe.principal, content=text, checkpoint_id=checkpoint, **given_source) == first


@given(text=TEXTS)
@example(text=EXACT_TEXT)
@settings(max_examples=40, deadline=None)
def test_any_text_that_fits_a_request_crosses_the_wire_exactly(server: LiveServer, scribe: Agent, text: str) -> None:
    arguments = {"project_id": scribe.project_id, "content": text}
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_write", "arguments": arguments},
    }
    escaped, plain = json.dumps(message).encode(), json.dumps(message, ensure_ascii=False).encode()
    with Wire(server.url, scribe.key) as wire:
        for body in (escaped, plain):
            response = wire.send(body)
            if len(body) > BODY_MAX_BYTES:
                assert response.status_code == 413
                continue
            written = response.json()["result"]["structuredContent"]["note"]
            assert written["content"] == text
            page = wire.call("memory_read", {"project_id": scribe.project_id, "limit": 1}).ok
            assert (page["notes"][0]["id"], page["notes"][0]["content"]) == (written["id"], text)


@dataclass(frozen=True)
class Change:
    """A change of a note that is tried: whether its expected revision is right, and what it sets."""

    off_by: int
    changes: dict[str, Any]


CHANGES: Final = st.builds(
    Change,
    off_by=st.sampled_from([0, 0, 0, -1, 1]),
    changes=st.fixed_dictionaries(
        {},
        optional={
            "content": SHORT_TEXTS,
            "source": st.none() | st.text(_CHARACTERS, max_size=10),
            "status": st.sampled_from(Status.values),
        },
    ).filter(bool),
)


@given(submitted=SHORT_TEXTS, tried=st.lists(CHANGES, max_size=8))
@settings(max_examples=40, deadline=None)
def test_n_accepted_edits_leave_n_plus_one_revisions_each_exactly_as_given(
    scribe: Agent, submitted: str, tried: list[Change]
) -> None:
    principal = scribe.principal
    receipt = write_note(
        owner_id=principal.owner_id,
        project_id=principal.project_id,
        writer=principal.writer,
        content=submitted,
    )
    wanted: list[dict[str, Any]] = [{"content": submitted, "source": None, "status": "active"}]

    def attempt(change: Change) -> None:
        revise_note(
            owner_id=principal.owner_id,
            project_id=principal.project_id,
            note_id=receipt.id,
            expected_revision=len(wanted) + change.off_by,
            actor=principal.writer,
            **change.changes,
        )

    for change in tried:
        if change.off_by:
            with pytest.raises(RevisionConflict) as refused:
                attempt(change)
            assert refused.value.data["current_revision"] == len(wanted)
        else:
            attempt(change)
            wanted.append({**wanted[-1], **change.changes})
    history = note_history(owner_id=principal.owner_id, project_id=principal.project_id, note_id=receipt.id)
    assert [wording.revision for wording in history] == list(range(1, len(wanted) + 1))
    assert [
        {"content": wording.content, "source": wording.source, "status": wording.status} for wording in history
    ] == wanted
    current = Note.objects.get(pk=receipt.id)
    assert (current.revision, current.content) == (len(wanted), wanted[-1]["content"])
