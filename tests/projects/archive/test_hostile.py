"""An archive that is made to cost much is refused while it costs little."""

import json
import time
from typing import Any

import pytest

from projects.archive import import_project
from projects.archive.reader import OPENINGS_MAX
from tests.cast import Person

HEAD = (
    b'{"format":"memford-project","version":1,"exported_at":"2026-02-01T00:00:00.000000Z","counts":{"activity":0,'
    b'"note_revisions":0,"notes":0,"standard_revisions":0,"standards":0},"content":{"activity":['
)


def problems(person: Person, archive: bytes) -> list[Any]:
    """Return what a dry run says."""
    return import_project(owner_id=person.id, actor=person.hand, archive=archive, dry_run=True).problems


def test_a_line_of_the_log_may_not_be_huge(owner: Person) -> None:
    (problem,) = problems(owner, HEAD + b"[" + b"{}," * 3_000_000 + b"{}]")
    assert problem.place == "activity[0]"
    assert "brackets" in problem.problem or "characters" in problem.problem


def test_no_element_may_become_very_many_objects(owner: Person) -> None:
    note = b'],"notes":[' + b"[" + b"[]," * (OPENINGS_MAX + 10) + b"[]]"
    (problem,) = problems(owner, HEAD + note)
    assert "brackets" in problem.problem


def test_what_is_known_to_be_bad_is_not_read_to_its_end(owner: Person) -> None:
    started = time.monotonic()
    found = problems(owner, HEAD + b"1," * 4_000_000 + b"1]")
    assert len(found) == 20
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("text", ["{" * 32_000, "[" * 32_000, "}{" * 16_000])
def test_a_note_full_of_braces_is_none_of_that(owner: Person, text: str) -> None:
    from projects.archive import export_project
    from projects.services import write_note

    for _ in range(20):
        write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content=text)
    archive = b"".join(export_project(owner_id=owner.id, project_id=owner.project.pk))
    assert json.loads(archive)["counts"]["notes"] == 20
    assert problems(owner, archive) == []
