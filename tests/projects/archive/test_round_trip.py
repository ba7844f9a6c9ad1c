"""Export, import, export: nothing is lost but ids."""

import copy
import uuid
from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Activity, Owner
from memford.core.activity import Tag
from projects.archive import import_project
from projects.models import Note, Standard
from projects.selectors import note_history, read_memory
from projects.services import write_note
from tests.cast import Person, new_person
from tests.projects.archive.scenes import (
    BEGINNING,
    HOSTILE,
    archive_of,
    lived_in,
    load,
    made,
    packed,
    read,
    without_ids,
)

_CHARACTERS: Final = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
TEXTS: Final = (st.text(_CHARACTERS, min_size=1, max_size=40) | st.just(HOSTILE)).filter(
    lambda text: text.strip() != ""
)
LABELS: Final = st.none() | st.text(_CHARACTERS, max_size=20)
TIMES: Final = st.datetimes(max_value=BEGINNING.replace(tzinfo=None)).map(
    lambda time: f"{time.isoformat(timespec='microseconds')}Z"
)


def test_one_owners_project_comes_back_as_it_was(owner: Person) -> None:
    before = archive_of(owner, lived_in(owner))
    after = archive_of(owner, load(owner, before))
    assert without_ids(after) == without_ids(before)


def test_it_moves_to_another_account_with_all_but_the_account_ids(owner: Person, other_owner: Person) -> None:
    before = archive_of(owner, lived_in(owner))
    moved = archive_of(other_owner, load(other_owner, before))
    again = archive_of(other_owner, load(other_owner, moved))
    assert without_ids(again) == without_ids(moved)
    derived = uuid.uuid5(other_owner.id, str(owner.id))
    replaced = read(before.replace(str(owner.id).encode(), str(derived).encode()))
    assert without_ids(moved) == without_ids(packed(replaced))


def test_the_project_lives_on_where_it_was_imported(owner: Person) -> None:
    origin = lived_in(owner)
    project = load(owner, archive_of(owner, origin))
    for counter in ("last_seq", "notes_count", "stored_bytes"):
        assert getattr(project, counter) == getattr(origin, counter)
    page = read_memory(owner_id=owner.id, project_id=project.pk, limit=100)
    assert [note["source"] for note in page.notes] == [None, "", "a label"]
    assert len(page.standards) == 2
    write_note(owner_id=owner.id, project_id=project.pk, writer=owner.hand, content="goes on")
    assert Note.objects.get(project=project, content="goes on").seq == origin.last_seq + 1


def test_histories_are_kept_with_who_and_when(owner: Person) -> None:
    origin = lived_in(owner)
    project = load(owner, archive_of(owner, origin))
    histories = [
        note_history(owner_id=owner.id, project_id=one.pk, note_id=Note.objects.get(project=one, seq=4).pk)
        for one in (origin, project)
    ]
    assert len(histories[0]) == 4
    assert histories[0] == histories[1]


def test_the_log_tells_of_the_import_alone(owner: Person) -> None:
    archive = archive_of(owner, lived_in(owner))
    project = load(owner, archive)
    (line,) = Activity.objects.filter(owner_id=owner.id, project_id=project.pk)
    assert line.tag == Tag.PROJECT_IMPORTED
    assert line.actor_name == owner.owner.email
    assert line.detail == {
        "notes": 4,
        "standards": 3,
        "archive_project_id": str(owner.project.pk),
        "archive_sha256": read(archive)["sha256"],
    }


def test_standards_that_are_here_already_are_given_and_not_copied(owner: Person, other_owner: Person) -> None:
    archive = archive_of(owner, lived_in(owner))
    again = import_project(owner_id=owner.id, actor=owner.hand, archive=archive)
    assert (again.standards_new, again.standards_reused) == (0, 3)
    assert Standard.objects.filter(owner_id=owner.id).count() == 3
    first = import_project(owner_id=other_owner.id, actor=other_owner.hand, archive=archive)
    assert (first.standards_new, first.standards_reused) == (3, 0)


def test_a_standard_that_agents_would_read_otherwise_is_not_taken(owner: Person) -> None:
    lived_in(owner)
    archive = archive_of(owner)
    Standard.objects.filter(owner_id=owner.id, title="Renamed").update(status="active")
    result = import_project(owner_id=owner.id, actor=owner.hand, archive=archive)
    assert (result.standards_new, result.standards_reused) == (1, 2)


def test_two_standards_alike_in_one_archive_stay_two(owner: Person, other_owner: Person) -> None:
    lived_in(owner)
    archive = read(archive_of(owner))
    standards = archive["content"]["standards"]
    standards.append({**copy.deepcopy(standards[0]), "id": str(uuid.uuid4())})
    result = import_project(owner_id=owner.id, actor=owner.hand, archive=packed(archive))
    assert (result.standards_new, result.standards_reused) == (1, 3)
    load(other_owner, packed(archive))


def test_storage_is_counted_as_if_it_had_been_written_here(owner: Person, other_owner: Person) -> None:
    lived_in(owner)
    result = import_project(owner_id=other_owner.id, actor=other_owner.hand, archive=archive_of(owner))
    there, here = (Owner.objects.get(pk=one.id) for one in (owner, other_owner))
    assert here.standards_bytes == there.standards_bytes
    assert result.stored_bytes == here.standards_bytes + made(result).stored_bytes


def by(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "kind": draw(st.sampled_from(["owner", "oauth", "key"])),
        "id": str(draw(st.uuids(version=5))),
        "name": draw(st.text(_CHARACTERS, max_size=20)),
    }


@st.composite
def wordings(draw: st.DrawFn, label: str, labels: st.SearchStrategy[Any], statuses: list[str]) -> list[dict[str, Any]]:
    """Draw the revisions of a note or a standard."""
    return [
        {
            "revision": revision,
            label: draw(labels),
            "content": draw(TEXTS),
            "status": draw(st.sampled_from(statuses)),
            "changed_at": draw(TIMES),
            "changed_by": by(draw),
        }
        for revision in range(1, draw(st.integers(1, 3)) + 1)
    ]


@st.composite
def archives(draw: st.DrawFn) -> bytes:
    """Draw an archive as another instance could have made it."""
    notes = [
        {
            "id": str(draw(st.uuids())),
            "seq": seq,
            "received_at": draw(TIMES),
            "checkpoint_id": draw(st.none() | st.uuids().map(str)),
            "writer": {**by(draw), "account_id": str(draw(st.uuids(version=5)))},
            "revisions": draw(wordings("source", LABELS, ["active", "inactive", "deleted"])),
        }
        for seq in range(1, draw(st.integers(0, 4)) + 1)
    ]
    standards = [
        {
            "id": str(draw(st.uuids())),
            "created_at": draw(TIMES),
            "revisions": draw(
                wordings("title", TEXTS.map(lambda text: text[:60]).filter(str.strip), ["active", "inactive"])
            ),
        }
        for _ in range(draw(st.integers(0, 2)))
    ]
    project = {
        "id": str(draw(st.uuids())),
        "name": draw(TEXTS.filter(lambda text: len(text) <= 120)),
        "description": draw(st.text(_CHARACTERS, max_size=60)),
        "created_at": draw(TIMES),
    }
    return packed(
        {
            "format": "memford-project",
            "version": 1,
            "exported_at": "2026-01-31T12:00:00.000000Z",
            "counts": {},
            "content": {"activity": [], "notes": notes, "project": project, "standards": standards},
            "sha256": "",
        }
    )


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(archives())
def test_whatever_is_in_an_archive_comes_out_of_it_again(archive: bytes) -> None:
    person = new_person()
    assert without_ids(archive_of(person, load(person, archive))) == without_ids(archive)
