"""What an import refuses, and that it names the place; no bytes are our failure."""

import contextlib
import io
import json
import uuid
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memford.core.errors import InvalidArguments, MemfordError, QuotaExceeded
from memford.core.limits import Limits
from projects.archive import ImportResult, import_project
from projects.models import Note, Project, Standard
from projects.services import create_standard
from tests.cast import Person, new_person
from tests.projects.archive.scenes import archive_of, lived_in, load, made, packed, read

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def example() -> bytes:
    """A real archive."""
    person = new_person()
    return archive_of(person, lived_in(person))


def problems_of(person: Person, archive: bytes) -> dict[str, str]:
    """Return what an import refuses, and see that a dry run says the same and that nothing was stored."""
    before = Project.objects.filter(owner_id=person.id).count()
    with pytest.raises(InvalidArguments) as refused:
        import_project(owner_id=person.id, actor=person.hand, archive=archive)
    fields = refused.value.data["fields"]
    assert isinstance(fields, dict)
    foreseen = import_project(owner_id=person.id, actor=person.hand, archive=archive, dry_run=True)
    assert {found.place: found.problem for found in foreseen.problems} == fields
    assert Project.objects.filter(owner_id=person.id).count() == before
    json.dumps(fields).encode()
    return fields


NOTE: Final = "notes[3]"


@pytest.mark.parametrize(
    ("place", "change"),
    [
        (f"{NOTE}.revisions[0].content", lambda c: c["notes"][3]["revisions"][0].update(content="")),
        (f"{NOTE}.revisions[1].content", lambda c: c["notes"][3]["revisions"][1].update(content="x" * 32_001)),
        (f"{NOTE}.revisions[1].content", lambda c: c["notes"][3]["revisions"][1].update(content="a\0b")),
        (f"{NOTE}.revisions[1].content", lambda c: c["notes"][3]["revisions"][1].update(content="a\ud800b")),
        (f"{NOTE}.revisions[1].content", lambda c: c["notes"][3]["revisions"][1].update(content=["x"])),
        (f"{NOTE}.revisions[1].source", lambda c: c["notes"][3]["revisions"][1].update(source="x" * 121)),
        (f"{NOTE}.revisions[1].status", lambda c: c["notes"][3]["revisions"][1].update(status="gone")),
        (f"{NOTE}.revisions[1].revision", lambda c: c["notes"][3]["revisions"][1].update(revision=3)),
        (f"{NOTE}.revisions[1].revision", lambda c: c["notes"][3]["revisions"][1].update(revision=True)),
        (f"{NOTE}.revisions[1].changed_at", lambda c: c["notes"][3]["revisions"][1].update(changed_at="yesterday")),
        (
            f"{NOTE}.revisions[1].changed_at",
            lambda c: c["notes"][3]["revisions"][1].update(changed_at="2026-02-30T00:00:00.000000Z"),
        ),
        (f"{NOTE}.received_at", lambda c: c["notes"][3].update(received_at="9999-01-01T00:00:00.000000Z")),
        (f"{NOTE}.seq", lambda c: c["notes"][3].update(seq=3)),
        (f"{NOTE}.seq", lambda c: c["notes"][3].update(seq="4")),
        (f"{NOTE}.id", lambda c: c["notes"][3].update(id="4")),
        (f"{NOTE}.revisions", lambda c: c["notes"][3].update(revisions=[])),
        (f"{NOTE}.writer.kind", lambda c: c["notes"][3]["writer"].update(kind="root")),
        (f"{NOTE}.writer.name", lambda c: c["notes"][3]["writer"].update(name="\0")),
        (f"{NOTE}.writer.account_id", lambda c: c["notes"][3]["writer"].pop("account_id")),
        (f"{NOTE}.writer", lambda c: c["notes"][3].pop("writer")),
        (f"{NOTE}.writer", lambda c: c["notes"][3].update(writer=7)),
        (NOTE, lambda c: c["notes"][3].update(more=1)),
        (NOTE, lambda c: c["notes"].__setitem__(3, None)),
        ("notes[1].checkpoint_id", lambda c: c["notes"][1].update(checkpoint_id=c["notes"][0]["checkpoint_id"])),
        ("project.name", lambda c: c["project"].update(name=" ")),
        ("project.description", lambda c: c["project"].update(description=None)),
        ("standards[0].revisions[0].title", lambda c: c["standards"][0]["revisions"][0].update(title="x" * 121)),
        ("standards[0].revisions[0].content", lambda c: c["standards"][0]["revisions"][0].update(content="x" * 16_001)),
        ("standards", lambda c: c["standards"].extend(c["standards"][:1] * 50)),
        ("activity[0].detail", lambda c: c["activity"][0].update(detail={"a": {"b": {"c": {"d": 1}}}})),
        ("activity[0].actor.name", lambda c: c["activity"][0]["actor"].update(name="\udfff")),
    ],
)
def test_the_place_is_named(owner: Person, example: bytes, place: str, change: Change) -> None:
    archive = read(example)
    change(archive["content"])
    assert problems_of(owner, packed(archive)).keys() == {place}


def test_standards_that_are_too_long_together_are_refused(owner: Person, example: bytes) -> None:
    archive = read(example)
    for standard in archive["content"]["standards"]:
        standard["revisions"][-1]["content"] = "x" * 16_000
    archive["content"]["standards"] *= 3
    assert problems_of(owner, packed(archive)).keys() == {"standards"}


@pytest.mark.parametrize(
    ("place", "archive"),
    [
        ("archive", b""),
        ("archive", b"null"),
        ("archive", b"[]"),
        ("archive", b"{}"),
        ("archive", b"\xef\xbb\xbf{}"),
        ("archive", b"\xff\xfe{"),
        ("archive", b'{"version":1}'),
        ("archive", b'{"format"'),
        ("format", b'{"format":"another"}'),
        ("format", b'{"format":"\\ud800"}'),
        ("format", b'{"format":NaN}'),
        ("format", b'{"format":1e400}'),
        ("format", b'{"format":' + b"9" * 5_000 + b"}"),
        ("format", b'{"format":' + b"[" * 200_000),
        ("format", b'{"format":' + b'{"a":' * 200_000),
        ("format", b'{"format":{"a":1,"a":2}}'),
        ("version", b'{"format":"memford-project","version":2}'),
        ("version", b'{"format":"memford-project","version":true}'),
        ("version", b'{"format":"memford-project","version":"1"}'),
    ],
)
def test_what_is_no_archive_is_told_so(owner: Person, place: str, archive: bytes) -> None:
    assert problems_of(owner, archive).keys() == {place}


@pytest.mark.parametrize(
    "text", [b"NaN", b"-Infinity", b"1.5", b"1e5", b"99999999999999999999", b'{"a":1,"a":1}', b"[" * 900]
)
def test_values_that_no_archive_holds_are_refused_where_they_stand(owner: Person, example: bytes, text: bytes) -> None:
    assert problems_of(owner, example.replace(b'"seq":2', b'"seq":' + text)).keys() == {"notes[1]"}


def test_a_changed_content_does_not_fit_its_digest(owner: Person, example: bytes) -> None:
    assert problems_of(owner, example.replace(b"reworded", b"reversed")).keys() == {"sha256"}
    digest: str = read(example)["sha256"]
    assert problems_of(owner, example.replace(digest.encode(), digest.upper().encode())).keys() == {"sha256"}
    assert problems_of(owner, example.replace(digest[:-1].encode(), b"")).keys() == {"sha256"}


def test_wrong_counts_are_named(owner: Person, example: bytes) -> None:
    archive = read(example)
    archive["counts"]["notes"] += 1
    assert problems_of(owner, packed(archive, recount=False)).keys() == {"counts.notes"}


def test_what_was_cut_short_or_goes_on_is_refused(owner: Person, example: bytes) -> None:
    for cut in range(0, len(example) - 2, 997):
        problems_of(owner, example[:cut])
    assert problems_of(owner, example + b"{}").keys() == {"archive"}


def test_a_file_that_was_laid_out_anew_is_the_same_archive(owner: Person, example: bytes) -> None:
    load(owner, json.dumps(read(example), indent=3, ensure_ascii=False).encode())
    load(owner, json.dumps(read(example), indent="\t").encode())


def test_a_file_that_cannot_be_read_twice_is_taken_too(owner: Person, example: bytes) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation

    result = import_project(owner_id=owner.id, actor=owner.hand, archive=Pipe(example))
    assert Note.objects.filter(project=made(result)).count() == 4


class Changing(io.BytesIO):
    """A file that holds something else when it is read again."""

    def __init__(self, first: bytes, then: bytes) -> None:
        super().__init__(first)
        self._then = then
        self._reads = 0

    def seek(self, *position: int) -> int:
        self._reads += 1
        if self._reads == 2:
            super().__init__(self._then)
        return super().seek(*position)


def test_a_file_that_changes_while_it_is_read_stores_nothing(owner: Person, example: bytes) -> None:
    archive = read(example)
    archive["content"]["standards"].append(archive["content"]["standards"][0])
    archive["content"]["notes"][0]["revisions"][0]["content"] = "another"
    broken = read(example)
    broken["content"]["notes"][0]["revisions"] = []
    for then in (b"", example[:-500], packed(archive), packed(broken)):
        with pytest.raises(InvalidArguments):
            import_project(owner_id=owner.id, actor=owner.hand, archive=Changing(example, then))
    assert Project.objects.filter(owner_id=owner.id).count() == 1


def test_many_problems_are_not_all_told(owner: Person, example: bytes) -> None:
    archive = read(example)
    archive["content"]["notes"] = [7] * 1_000
    assert len(problems_of(owner, packed(archive))) == 20


def limited(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    """Put other limits in force."""
    changed = Limits(**values)  # type: ignore[arg-type]
    for module in ("projects.archive.load", "projects.archive.reader", "projects.services.rules"):
        monkeypatch.setattr(f"{module}.limits", lambda: changed)


def test_a_file_that_is_too_large_is_refused_without_reading_on(
    owner: Person, example: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, archive_max_bytes=1_024)
    assert problems_of(owner, example).keys() == {"archive"}


def test_a_note_that_is_too_large_is_refused(owner: Person, example: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, archive_element_max_chars=1_024)
    monkeypatch.setattr("projects.archive.reader.CHUNK_BYTES", 512)
    assert problems_of(owner, example).keys() == {"notes[3]"}


@pytest.mark.parametrize("limit", [{"projects_per_owner_max": 1}, {"stored_text_per_owner_max_bytes": 100}])
def test_quota_is_held_and_foreseen(
    owner: Person, example: bytes, monkeypatch: pytest.MonkeyPatch, limit: dict[str, int]
) -> None:
    limited(monkeypatch, **limit)
    with pytest.raises(QuotaExceeded):
        import_project(owner_id=owner.id, actor=owner.hand, archive=example)
    foreseen = import_project(owner_id=owner.id, actor=owner.hand, archive=example, dry_run=True)
    assert [found.place for found in foreseen.problems] == ["archive"]
    assert Project.objects.filter(owner_id=owner.id).count() == 1
    assert not Standard.objects.filter(owner_id=owner.id).exists()


def test_a_dry_run_says_what_would_happen_and_stores_nothing(owner: Person, example: bytes) -> None:
    last = read(example)["content"]["standards"][0]["revisions"][-1]
    create_standard(owner_id=owner.id, title=last["title"], content=last["content"], actor=owner.hand)
    foreseen = import_project(owner_id=owner.id, actor=owner.hand, archive=example, dry_run=True)
    assert Project.objects.filter(owner_id=owner.id).count() == 1
    assert Standard.objects.filter(owner_id=owner.id).count() == 1
    result = import_project(owner_id=owner.id, actor=owner.hand, archive=example)
    assert foreseen == ImportResult(
        project_id=None,
        project_name="Lighthouse",
        notes=4,
        note_revisions=7,
        standards_new=2,
        standards_reused=1,
        stored_bytes=result.stored_bytes,
        sha256=read(example)["sha256"],
        problems=[],
    )


def test_nobody_takes_another_accounts_identity_on(owner: Person, other_owner: Person, example: bytes) -> None:
    archive = read(example)
    forged = {"kind": "owner", "id": str(other_owner.id), "name": other_owner.owner.email}
    for note in archive["content"]["notes"]:
        note["writer"] = {**forged, "account_id": str(other_owner.id)}
        note["revisions"][0]["changed_by"] = forged
    for standard in archive["content"]["standards"]:
        standard["revisions"][0]["changed_by"] = forged
    project = load(owner, packed(archive))
    assert str(other_owner.id).encode() not in archive_of(owner, project)


def test_checkpoints_that_would_meet_after_ids_are_replaced_are_told(owner: Person, example: bytes) -> None:
    archive = read(example)
    first, second = archive["content"]["notes"][:2]
    stranger = uuid.uuid4()
    for note, id_ in ((first, stranger), (second, uuid.uuid5(owner.id, str(stranger)))):
        note["checkpoint_id"] = first["checkpoint_id"]
        note["writer"].update(kind="owner", id=str(id_))
    assert problems_of(owner, packed(archive)).keys() == {"notes[1].checkpoint_id"}


def attempt(person: Person, archive: bytes) -> None:
    """Import as a door would: what is refused is an error of ours."""
    try:
        import_project(owner_id=person.id, actor=person.hand, archive=archive, dry_run=False)
    except MemfordError as error:
        assert error.status < 500  # noqa: PT017


JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("\ud800") | st.just("\0"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.just("\udfff"), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def person() -> Person:
    """Somebody who tries everything."""
    return new_person()


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_no_value_at_any_place_is_our_failure(data: st.DataObject, person: Person, example: bytes) -> None:
    archive = read(example)
    place: Any = archive
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 7)) == 0:
            break
        place = inner
    place[key] = data.draw(JSON)
    with contextlib.suppress(ValueError, TypeError, KeyError):
        archive["sha256"] = json.loads(packed(json.loads(json.dumps(archive)), recount=False))["sha256"]
    attempt(person, json.dumps(archive).encode())


@settings(max_examples=300, deadline=None)
@given(at=st.integers(0, 10**6), bytes_=st.binary(max_size=4), gone=st.integers(0, 4))
def test_no_bytes_at_any_place_are_our_failure(
    at: int, bytes_: bytes, gone: int, person: Person, example: bytes
) -> None:
    at %= len(example)
    attempt(person, example[:at] + bytes_ + example[at + gone :])
