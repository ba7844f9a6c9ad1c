"""Writes and edits at the same moment, from threads and processes, on two workers and the real database (T7, A2)."""

import json
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from projects.models import Note, Project
from projects.selectors import note_history
from projects.services import write_note
from tests.cast import Agent, Person
from tests.flows.processes import Edit, edit, editors
from tests.live import LiveServer, live_server, wait_until
from tests.wire import ToolAnswer, Wire

PARALLEL = 20
EDITORS = 4
EDIT_ROUNDS = 100


@pytest.fixture(scope="module")
def two_workers(database_access: None) -> Iterator[LiveServer]:
    """A server whose calls land on either of two processes."""
    with live_server(workers=2) as running:
        wait_until(lambda: len(running.worker_pids()) == 2, what="the second worker")
        yield running


@pytest.fixture(scope="module")
def edit_processes(database_access: None) -> Iterator[ProcessPoolExecutor]:
    """Processes that edit at the same moment."""
    with editors(EDITORS) as pool:
        yield pool


def at_once[ResultT](works: Sequence[Callable[[], ResultT]]) -> list[ResultT]:
    """Run each work in a thread of its own, all let go at the same moment."""
    gate = threading.Barrier(len(works))

    def start(work: Callable[[], ResultT]) -> ResultT:
        gate.wait(30)
        return work()

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(start, works))


def send_at_once(server: LiveServer, calls: Sequence[tuple[Agent, dict[str, Any]]]) -> list[httpx2.Response]:
    """Send writes in parallel, each over a connection that was opened before."""
    clients = [Wire(server.url, agent.key) for agent, _ in calls]

    def sender(wire: Wire, agent: Agent, arguments: dict[str, Any]) -> Callable[[], httpx2.Response]:
        call = {"name": "memory_write", "arguments": {"project_id": agent.project_id, **arguments}}
        return lambda: wire.request("tools/call", call)

    try:
        for wire in clients:
            assert wire.request("ping").status_code == 200
        return at_once(
            [sender(wire, agent, arguments) for wire, (agent, arguments) in zip(clients, calls, strict=True)]
        )
    finally:
        for wire in clients:
            wire.client.close()


def answer_of(response: httpx2.Response) -> ToolAnswer:
    """Return the tool's answer of a call that was served."""
    assert response.status_code == 200, response.text
    return ToolAnswer(response.json())


def check_counters(project_id: uuid.UUID, contents: Sequence[str]) -> None:
    """Require exactly these notes, counted and numbered without gap or double (T9)."""
    project = Project.objects.get(pk=project_id)
    notes = list(Note.objects.filter(project=project).order_by("seq"))
    assert Counter(note.content for note in notes) == Counter(contents)
    assert [note.seq for note in notes] == list(range(1, len(contents) + 1))
    assert project.notes_count == project.memory_revision == project.last_seq == len(contents)
    assert project.stored_bytes == sum(len(note.content.encode()) + len((note.source or "").encode()) for note in notes)


@pytest.mark.parametrize("attempt", range(5))
def test_twenty_parallel_identical_writes_make_one_note_and_twenty_equal_receipts(
    two_workers: LiveServer, agent: Agent, attempt: int
) -> None:
    wish = {"content": f"once 🧭 {attempt}", "source": "a race", "checkpoint_id": str(uuid.uuid4())}
    responses = send_at_once(two_workers, [(agent, wish)] * PARALLEL)
    receipts = {response.json()["result"]["content"][0]["text"].encode() for response in responses}
    assert len(receipts) == 1
    note = answer_of(responses[0]).ok["note"]
    assert note["content"] == wish["content"]
    assert str(Note.objects.get(project_id=agent.project_id).pk) == note["id"]
    check_counters(agent.connection.project_id, [str(wish["content"])])


def test_parallel_writes_of_several_agents_leave_no_gap_and_no_double(two_workers: LiveServer, owner: Person) -> None:
    agents = [owner.new_agent(name=f"agent {number}") for number in range(5)]
    wishes = [
        [(agent, {"content": f"{agent.connection.name}, note {number}"}) for number in range(20)] for agent in agents
    ]

    def write_all(calls: Sequence[tuple[Agent, dict[str, Any]]]) -> list[str]:
        with Wire(two_workers.url, calls[0][0].key) as wire:
            return [
                wire.call("memory_write", {"project_id": agent.project_id, **arguments}).ok["note"]["id"]
                for agent, arguments in calls
            ]

    halves = [part for wish in wishes for part in (wish[:10], wish[10:])]
    ids = at_once([lambda part=part: write_all(part) for part in halves])  # type: ignore[misc]
    assert len({note_id for written in ids for note_id in written}) == 100
    check_counters(owner.project.pk, [arguments["content"] for wish in wishes for _, arguments in wish])
    # Each agent's own notes stand in the order in which that agent wrote them on each of its connections.
    for part, written in zip(halves, ids, strict=True):
        notes = Note.objects.in_bulk([uuid.UUID(note_id) for note_id in written])
        seqs = [notes[uuid.UUID(note_id)].seq for note_id in written]
        assert seqs == sorted(seqs)
        assert {note.writer_id for note in notes.values()} == {part[0][0].connection.pk}


def test_the_same_checkpoint_of_another_connection_is_unrelated(
    two_workers: LiveServer, owner: Person, other_owner: Person
) -> None:
    checkpoint = str(uuid.uuid4())
    agents = [
        owner.new_agent(),
        owner.new_agent(),
        owner.new_agent(project=owner.new_project("Second")),
        other_owner.new_agent(),
    ]
    calls = [(agent, {"content": "mine", "checkpoint_id": checkpoint}) for agent in agents for _ in range(4)]
    responses = send_at_once(two_workers, calls)
    receipts: dict[uuid.UUID, set[str]] = {}
    for (agent, _), response in zip(calls, responses, strict=True):
        note = answer_of(response).ok["note"]
        assert note["writer"]["id"] == str(agent.connection.pk)
        receipts.setdefault(agent.connection.pk, set()).add(json.dumps(note))
    assert [len(own) for own in receipts.values()] == [1, 1, 1, 1]
    check_counters(owner.project.pk, ["mine", "mine"])
    check_counters(other_owner.project.pk, ["mine"])


@pytest.mark.parametrize("attempt", range(5))
def test_of_different_contents_under_one_checkpoint_exactly_one_wins(
    two_workers: LiveServer, agent: Agent, attempt: int
) -> None:
    checkpoint = str(uuid.uuid4())
    wishes = [{"content": f"version {number}", "checkpoint_id": checkpoint} for number in range(10)]
    # The source is part of what is compared: absent and empty differ.
    wishes += [{**wishes[0], "source": ""}, {**wishes[0], "source": "elsewhere"}]
    answers = [answer_of(response) for response in send_at_once(two_workers, [(agent, wish) for wish in wishes])]
    won = [number for number, answer in enumerate(answers) if not answer.result.get("isError")]
    assert len(won) == 1
    winner = wishes[won[0]]
    for number, answer in enumerate(answers):
        if number not in won:
            assert answer.error["code"] == "checkpoint_conflict"
    note = Note.objects.get(project_id=agent.project_id)
    assert (note.content, note.source) == (winner["content"], winner.get("source"))
    assert str(note.pk) == answers[won[0]].ok["note"]["id"]
    check_counters(agent.connection.project_id, [winner["content"]])


def test_a_retry_in_the_middle_of_edits_returns_the_first_receipt_and_undoes_nothing(
    two_workers: LiveServer, edit_processes: ProcessPoolExecutor, owner: Person, agent: Agent
) -> None:
    wish = {"content": "as first written", "source": "s", "checkpoint_id": str(uuid.uuid4())}
    (first,) = send_at_once(two_workers, [(agent, wish)])
    note = Note.objects.get(project=owner.project)
    changes = [Edit(owner.id, owner.project.pk, note.pk, 1, f"edited by {number}") for number in range(EDITORS)]
    outcomes = edit_processes.map(edit, changes)
    retries = send_at_once(two_workers, [(agent, wish)] * PARALLEL)
    (accepted,) = [outcome for outcome in outcomes if outcome.revision is not None]
    texts = {response.json()["result"]["content"][0]["text"] for response in [first, *retries]}
    assert len(texts) == 1
    note.refresh_from_db()
    assert (note.content, note.revision) == (accepted.content, 2)
    assert Project.objects.get(pk=owner.project.pk).memory_revision == 2


def test_of_parallel_edits_with_one_expected_revision_exactly_one_is_accepted_a_hundred_times(
    edit_processes: ProcessPoolExecutor, owner: Person
) -> None:
    note_id = write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content="revision 1").id
    contents = ["revision 1"]
    for expected in range(1, EDIT_ROUNDS + 1):
        changes = [
            Edit(owner.id, owner.project.pk, note_id, expected, f"round {expected}, editor {number}")
            for number in range(EDITORS)
        ]
        outcomes = list(edit_processes.map(edit, changes))
        # The processes stood at one line: each of them tried once.
        assert len({outcome.pid for outcome in outcomes}) == EDITORS
        (accepted,) = [outcome for outcome in outcomes if outcome.revision is not None]
        assert accepted.revision == expected + 1
        refused = [outcome for outcome in outcomes if outcome.revision is None]
        assert [outcome.current_revision for outcome in refused] == [expected + 1] * (EDITORS - 1)
        contents.append(accepted.content)
    history = note_history(owner_id=owner.id, project_id=owner.project.pk, note_id=note_id)
    assert [wording.content for wording in history] == contents
    assert [wording.revision for wording in history] == list(range(1, EDIT_ROUNDS + 2))
    project = Project.objects.get(pk=owner.project.pk)
    # One submission and a hundred edits; no refused edit left a trace in the counters.
    assert (project.memory_revision, project.edit_revision) == (EDIT_ROUNDS + 1, EDIT_ROUNDS)
    assert project.stored_bytes == sum(len(content.encode()) for content in contents)
