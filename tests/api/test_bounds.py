"""A list costs the same few statements at ten notes and at a hundred thousand, and no lost update slips through."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memford.core.database import SYSTEM
from projects.models import Note
from tests.api.caller import Caller
from tests.cast import Person
from tests.live import ROOT
from tests.oauth import login_cookie

MANY = 100_000

_FILL = """
INSERT INTO projects_note (id, owner_id, project_id, seq, content, content_bytes, status, revision, received_at,
       updated_at, writer_kind, writer_id, writer_name, writer_account_id, changed_by_kind, changed_by_id,
       changed_by_name)
SELECT gen_random_uuid(), %(owner)s, %(project)s, n, 'note ' || n, 10, CASE WHEN n %% 100 = 0 THEN 'inactive' ELSE
       'active' END, 1, now(), now(), 'owner', %(owner)s, 'x', %(owner)s, 'owner', %(owner)s, 'x'
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) n
"""


def fill(person: Person, first: int, last: int) -> None:
    """Put notes into a project by one statement."""
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"owner": person.id, "project": person.project.pk, "first": first, "last": last})


def forget(person: Person) -> None:
    """Take the notes out again, as only the other role may."""
    Note.objects.using(SYSTEM).filter(project=person.project).delete()


@pytest.fixture
def client(owner: Person) -> Client:
    """The owner's browser, inside this process, so that statements can be counted."""
    client = Client(headers={"Origin": "http://localhost:8000"})
    client.cookies["sessionid"] = login_cookie(owner.owner)
    return client


def statements(client: Client, path: str) -> int:
    """Count what a request costs."""
    with CaptureQueriesContext(connections["default"]) as capture:
        assert client.get(path).status_code == 200
    return len(capture)


@pytest.fixture(params=[10, MANY])
def filled(request: pytest.FixtureRequest, owner: Person) -> Iterator[Person]:
    """An owner whose project holds few notes, or very many."""
    fill(owner, 1, request.param)
    yield owner
    forget(owner)


def test_lists_cost_a_bounded_number_of_statements(client: Client, filled: Person) -> None:
    notes = f"/api/projects/{filled.project.pk}/notes"
    # The login session, its owner, the project and the page; and the submissions of what was edited.
    assert statements(client, f"{notes}?limit=100") <= 5
    assert statements(client, f"{notes}?status=inactive") <= 5
    assert statements(client, "/api/projects") <= 3
    assert statements(client, "/api/standards") <= 3
    assert statements(client, "/api/tokens") <= 4
    assert statements(client, "/api/connections") <= 4
    assert statements(client, f"/api/projects/{filled.project.pk}/activity") <= 4


def test_a_rare_status_is_found_without_reading_all_others(owner: Person) -> None:
    fill(owner, 1, 20_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE projects_note")
        cursor.execute(
            "EXPLAIN (FORMAT JSON, ANALYZE) SELECT * FROM projects_note WHERE owner_id = %s AND project_id = %s"
            " AND status = 'inactive' ORDER BY seq DESC LIMIT 51",
            [owner.id, owner.project.pk],
        )
        plan = json.dumps(cursor.fetchone()[0])
    assert "note_set_aside_by_seq" in plan
    forget(owner)


def test_of_two_patches_with_one_revision_one_is_taken_a_hundred_times_over(api: Caller, owner: Person) -> None:
    notes = f"projects/{owner.project.pk}/notes"
    paths = [f"{notes}/{api.post(notes, {'content': f'note {number}'})['id']}" for number in range(100)]
    command = [sys.executable, "-m", "tests.api.rival", api.url, str(api.cookie)]
    processes = [
        subprocess.Popen([*command, name, *paths], cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        for name in ("one", "two")
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    outcomes: list[list[int]] = [[], []]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for number, process in enumerate(processes):
        outcomes[number] = json.loads(process.communicate(timeout=60)[0])
    pairs: list[Any] = list(zip(*outcomes, strict=True))
    assert {tuple(sorted(pair)) for pair in pairs} == {(200, 409)}
    for path, (one, _) in zip(paths, pairs, strict=True):
        note = api.get(path)
        assert (note["content"], note["revision"]) == ("one" if one == 200 else "two", 2)
        assert len(api.get(f"{path}/revisions")["revisions"]) == 2
