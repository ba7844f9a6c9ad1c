"""What an export holds, from which moment, at which cost, and how it is fetched."""

import asyncio
import hashlib
import os
import re
import subprocess
import sys
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.http import StreamingHttpResponse
from django.test.utils import CaptureQueriesContext

from memford.core.errors import NotFound
from projects.archive import export_markdown, export_project
from projects.archive import write as writing
from projects.models import Project
from projects.services import delete_project, revise_note, write_note
from tests.cast import Person
from tests.projects.archive.scenes import HOSTILE, archive_of, fill, lived_in, read

GROWTH_MAX_KIB = 48 * 1024
"""20,000 notes of 4 KiB are 80 MiB; an export that held them would need more."""


def markdown_of(person: Person) -> str:
    """Export a project for reading."""
    return b"".join(export_markdown(owner_id=person.id, project_id=person.project.pk)).decode()


def test_it_holds_what_there_is_in_order(owner: Person) -> None:
    project = lived_in(owner)
    archive = read(archive_of(owner))
    content = archive["content"]
    assert archive["counts"] == {
        "activity": len(content["activity"]),
        "note_revisions": 7,
        "notes": 4,
        "standard_revisions": 5,
        "standards": 3,
    }
    assert content["project"]["name"] == project.name
    assert [note["seq"] for note in content["notes"]] == [1, 2, 3, 4]
    assert [note["revisions"][-1]["source"] for note in content["notes"]] == [None, "", "a label", None]
    assert [note["revisions"][-1]["status"] for note in content["notes"]] == ["active", "active", "active", "deleted"]
    assert [wording["content"] for wording in content["notes"][3]["revisions"]] == ["by hand", *["reworded"] * 3]
    assert content["notes"][0]["revisions"][0]["content"] == f"{HOSTILE}None"
    assert content["notes"][0]["writer"]["name"] == "Claude 🤖"
    assert uuid.UUID(content["notes"][0]["checkpoint_id"])
    assert [len(standard["revisions"]) for standard in content["standards"]] == [1, 1, 3]
    tags = [line["tag"] for line in content["activity"]]
    assert tags[0] == "standards_assigned"
    assert tags[-1] == "project_created"


def test_the_digest_is_of_the_contents_bytes_as_they_stand(owner: Person) -> None:
    lived_in(owner)
    archive = archive_of(owner)
    begin, end = archive.index(b'"content":') + len(b'"content":'), archive.rindex(b',\n"sha256":')
    assert read(archive)["sha256"] == hashlib.sha256(archive[begin:end]).hexdigest()


def test_an_empty_project_has_an_archive_too(owner: Person) -> None:
    assert read(archive_of(owner))["content"]["notes"] == []


def test_another_owners_and_a_deleted_project_are_not_found(owner: Person, other_owner: Person) -> None:
    for export in (export_project, export_markdown):
        with pytest.raises(NotFound):
            export(owner_id=other_owner.id, project_id=owner.project.pk)
    delete_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand)
    for export in (export_project, export_markdown):
        with pytest.raises(NotFound):
            export(owner_id=owner.id, project_id=owner.project.pk)


def test_it_is_of_one_moment_whatever_happens_meanwhile(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(owner, owner.project, 5, edited=5)
    before = read(archive_of(owner))
    counted = writing._counts

    def count_and_disturb(project: Project) -> Any:
        """Write through another database connection between the first statement and the rest."""
        found = counted(project)
        disturb(owner)
        return found

    monkeypatch.setattr(writing, "_counts", count_and_disturb)
    during = read(archive_of(owner))
    assert during["content"] == before["content"]
    assert during["sha256"] == before["sha256"]
    assert len(read(archive_of(owner))["content"]["notes"]) > 5


def disturb(owner: Person) -> None:
    """Edit one note and add another, in a thread that has a database connection of its own."""
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connections

    from projects.models import Note

    def work() -> None:
        try:
            note = Note.objects.filter(project=owner.project).order_by("seq")[2]
            revise_note(
                owner_id=owner.id,
                project_id=owner.project.pk,
                note_id=note.pk,
                expected_revision=note.revision,
                content="edited meanwhile",
                actor=owner.hand,
            )
            write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content="added meanwhile")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as threads:
        threads.submit(work).result()


def test_a_transaction_that_is_open_already_is_no_snapshot(owner: Person) -> None:
    with transaction.atomic(), pytest.raises(RuntimeError):
        archive_of(owner)


def statements(person: Person) -> int:
    """Count what one export asks the database."""
    with CaptureQueriesContext(connection) as captured:
        archive_of(person)
    return len(captured)


def test_statements_grow_by_lots_and_not_by_notes(owner: Person, other_owner: Person) -> None:
    fill(owner, owner.project, 10, edited=10)
    fill(other_owner, other_owner.project, 1_000, edited=1_000)
    few, many = statements(owner), statements(other_owner)
    # Begin, isolation, project, counts, activity twice, notes twice, revisions, standards, commit.
    assert few <= 12
    # Four lots more, each of two hundred notes and their two hundred replaced wordings.
    assert many <= few + 4 * 2


def test_a_note_with_many_revisions_is_read_lot_by_lot(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    lived_in(owner)
    whole = read(archive_of(owner))["content"]
    for name in ("NOTES_AT_ONCE", "REVISIONS_AT_ONCE", "ACTIVITY_AT_ONCE"):
        monkeypatch.setattr(writing, name, 1)
    assert read(archive_of(owner))["content"] == whole


MEASURE = """
import os, resource, sys, uuid
import django
django.setup()
from projects.archive import export_project
from projects.archive.load import import_project
from memford.core.principal import Writer
owner, big, small = (uuid.UUID(text) for text in sys.argv[1:])

def work(project):
    size = 0
    for chunk in export_project(owner_id=owner, project_id=project):
        size += len(chunk)
    spool = export_project(owner_id=owner, project_id=project)
    with open(os.environ["ARCHIVE"], "w+b") as file:
        for chunk in spool:
            file.write(chunk)
        import_project(owner_id=owner, actor=Writer.owner(owner, "x"), archive=file)
    return size

work(small)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
size = work(big)
print(size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_project(owner: Person, tmp_path: Any) -> None:
    small = owner.new_project("small")
    fill(owner, small, 400, content="x" * 4_096)
    fill(owner, owner.project, 20_000, content="y" * 4_096)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(owner.id), str(owner.project.pk), str(small.pk)],
        env={**os.environ, "ARCHIVE": str(tmp_path / "archive")},
        capture_output=True,
        text=True,
        check=True,
    )
    size, growth = map(int, ran.stdout.split())
    assert size > 80 * 1024 * 1024
    assert growth < GROWTH_MAX_KIB
    assert Project.objects.filter(owner_id=owner.id, notes_count=20_000).count() == 2


def test_it_is_streamed_from_an_event_loop_in_chunks(owner: Person) -> None:
    fill(owner, owner.project, 400, content="x" * 4_096)
    spool = export_project(owner_id=owner.id, project_id=owner.project.pk)

    async def fetch() -> list[bytes]:
        response = StreamingHttpResponse(spool.as_async())
        assert response.is_async
        try:
            return [chunk async for chunk in response]
        finally:
            response.close()

    chunks = asyncio.run(fetch())
    assert max(map(len, chunks)) <= 65_536
    assert sum(map(len, chunks)) == spool.size
    assert len(read(b"".join(chunks))["content"]["notes"]) == 400


def test_who_leaves_early_leaves_nothing_behind(owner: Person) -> None:
    fill(owner, owner.project, 400, content="x" * 4_096)
    before = open_files()
    spool = export_project(owner_id=owner.id, project_id=owner.project.pk)
    assert open_files() > before

    async def leave() -> None:
        response = StreamingHttpResponse(spool.as_async())
        await anext(aiter(response))
        response.close()

    asyncio.run(leave())
    assert open_files() == before
    assert list(spool) == []


def open_files() -> int:
    """Count this process's open temporary files."""
    count = 0
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            count += "(deleted)" in str(file.readlink())
    return count


def test_markdown_holds_every_text_and_no_text_breaks_out(owner: Person) -> None:
    lived_in(owner)
    text = "````\n# not a heading\n`````"
    write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content=text, source="a\n# b")
    markdown = markdown_of(owner)
    assert f"``````text\n{text}\n``````\n" in markdown
    assert f"{HOSTILE}None" in markdown
    assert "# b" not in re.sub(r"``+text\n.*?\n``+\n", "", markdown, flags=re.DOTALL).replace("\\# b", "")
    assert re.findall(r"^### Note (\d+)$", markdown, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    assert re.findall(r"^## Standard: (\w+)", markdown, re.MULTILINE) == ["Standard", "Standard", "Renamed"]
