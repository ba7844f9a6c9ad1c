"""Deleted projects are erased for good when their time has come, and nothing else is (A8, P3).

No other file's tests run the erasure of all that is due, so that these may say what each run does.
"""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Activity
from mcp_gateway.authorization.models import AccessToken, Grant, RefreshToken
from mcp_gateway.transport.session_services import begin_session
from memford.core.errors import NotFound, ProjectNotAvailable, QuotaExceeded
from memford.core.limits import limits
from projects.models import Note, NoteRevision, Project, Standard
from projects.services import delete_project, erase_deleted_projects, erasure, restore_project, write_note
from projects.tasks import erase_deleted_projects_task
from tests.cast import Person
from tests.live import LiveServer
from tests.oauth import OAuthClient
from tests.projects.archive.scenes import fill, lived_in
from tests.remains import rows_of

RETENTION = timedelta(seconds=limits().deleted_project_retention_seconds)
MARGIN = timedelta(minutes=1)


def delete(person: Person, *, ago: timedelta, project: Project | None = None) -> None:
    """Delete a project, and let time pass."""
    target = project or person.project
    delete_project(owner_id=person.id, project_id=target.pk, actor=person.hand)
    Project.objects.filter(pk=target.pk).update(deleted_at=timezone.now() - ago)


@pytest.fixture
def client(server: LiveServer) -> OAuthClient:
    """A registered client."""
    return OAuthClient(server.url)


def test_everything_of_a_project_goes_when_its_time_has_come(owner: Person, client: OAuthClient) -> None:
    project = lived_in(owner)
    client.refresh(client.connect(owner)["refresh_token"])
    begin_session(owner.new_agent().principal, revision="2025-11-25", client_info=None)
    before = rows_of("project_id", project.pk)
    assert before.keys() >= {
        "accounts_activity",
        "connections_connection",
        "projects_note",
        "projects_noterevision",
        "projects_standardassignment",
        "transport_mcpsession",
    }
    linked = client.connection.pk
    for model in (AccessToken, RefreshToken, Grant):
        assert model.objects.filter(connection=linked).exists()
    delete(owner, ago=RETENTION + MARGIN)
    erase_deleted_projects_task()
    assert rows_of("project_id", project.pk).keys() == {"accounts_activity"}
    assert rows_of("connection_id", linked) == {}
    assert not Project.objects.filter(pk=project.pk).exists()
    assert Standard.objects.filter(owner_id=owner.id).count() == 3


def test_the_log_keeps_that_it_was_and_how_it_ended(owner: Person) -> None:
    lived_in(owner)
    delete(owner, ago=RETENTION + MARGIN)
    erase_deleted_projects()
    lines = Activity.objects.filter(owner_id=owner.id, project_id=owner.project.pk).order_by("id")
    assert [line.tag for line in lines] == ["project_created", "project_deleted", "project_erased"]
    assert Activity.objects.filter(owner_id=owner.id, tag="standard_edited").count() == 2


def test_what_is_not_due_is_left_alone(owner: Person) -> None:
    lived_in(owner)
    kept = owner.new_project("kept")
    delete(owner, ago=RETENTION - MARGIN)
    before = rows_of("project_id", owner.project.pk)
    erase_deleted_projects()
    assert rows_of("project_id", owner.project.pk) == before
    assert Project.objects.get(pk=kept.pk).deleted_at is None
    restore_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand)


def test_the_storage_is_the_owners_again(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    full = owner.new_project("full")
    write_note(owner_id=owner.id, project_id=full.pk, writer=owner.hand, content="x" * 1_000)
    small = limits().model_copy(update={"stored_text_per_owner_max_bytes": 1_500})
    monkeypatch.setattr("projects.services.notes.limits", lambda: small)
    more: dict[str, Any] = {"owner_id": owner.id, "project_id": owner.project.pk, "writer": owner.hand}
    delete(owner, ago=RETENTION + MARGIN, project=full)
    with pytest.raises(QuotaExceeded):
        write_note(**more, content="y" * 1_000)
    erase_deleted_projects()
    write_note(**more, content="y" * 1_000)


def test_lots_are_bounded_and_all_are_taken(owner: Person) -> None:
    fill(owner, owner.project, 25, edited=25)
    for _ in range(5):
        owner.new_agent()
    delete(owner, ago=RETENTION + MARGIN)
    with CaptureQueriesContext(connections["system"]) as captured:
        assert erase_deleted_projects(at_once=10) >= 1
    assert rows_of("project_id", owner.project.pk).keys() == {"accounts_activity"}
    # Three lots and an empty one of notes, and likewise of their revisions.
    for table in ("projects_note", "projects_noterevision"):
        assert sum(f"DELETE FROM {table} " in query["sql"] for query in captured) == 4


def cut_off(monkeypatch: pytest.MonkeyPatch, *, at: int) -> None:
    """Let the next erasure end in the middle, as if the worker was killed."""
    real, count = erasure._hold, iter(range(1_000))

    def hold(project_id: uuid.UUID) -> uuid.UUID | None:
        if next(count) == at:
            raise KeyboardInterrupt
        return real(project_id)

    monkeypatch.setattr(erasure, "_hold", hold)


@pytest.mark.parametrize("at", [*range(0, 13, 2), 13])
def test_what_was_cut_off_is_not_restored_and_is_ended_by_the_next_run(
    owner: Person, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    fill(owner, owner.project, 25, edited=25)
    owner.new_agent()
    delete(owner, ago=RETENTION + MARGIN)
    with monkeypatch.context() as patched:
        cut_off(patched, at=at)
        with pytest.raises(KeyboardInterrupt):
            erase_deleted_projects(at_once=10)
    with pytest.raises(NotFound):
        restore_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand)
    erase_deleted_projects()
    assert rows_of("project_id", owner.project.pk).keys() == {"accounts_activity"}


def in_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """Run work at once with itself."""

    def run(index: int) -> Any:
        try:
            return work(index)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def test_several_runs_at_once_erase_each_project_once(owner: Person) -> None:
    gone = [owner.new_project(str(number)) for number in range(6)]
    for project in gone:
        fill(owner, project, 30, edited=30)
        delete(owner, ago=RETENTION + MARGIN, project=project)
    in_threads(lambda _: erase_deleted_projects(at_once=5), 4)
    erase_deleted_projects()
    assert not Project.objects.filter(pk__in=[project.pk for project in gone]).exists()
    assert Activity.objects.filter(owner_id=owner.id, tag="project_erased").count() == 6
    assert not NoteRevision.objects.filter(project_id__in=[project.pk for project in gone]).exists()


def test_restoring_and_erasing_at_once_give_a_whole_project_or_none(owner: Person) -> None:
    for _ in range(10):
        project = owner.new_project()
        fill(owner, project, 20, edited=20)
        delete(owner, ago=RETENTION + MARGIN, project=project)
        where: dict[str, Any] = {"owner_id": owner.id, "project_id": project.pk, "actor": owner.hand}

        def act(index: int, where: dict[str, Any] = where) -> bool:
            if index:
                return bool(erase_deleted_projects(at_once=5))
            try:
                restore_project(**where)
            except NotFound:
                return False
            return True

        restored = in_threads(act, 2)[0]
        erase_deleted_projects()
        assert Note.objects.filter(project_id=project.pk).count() == (20 if restored else 0)
        assert NoteRevision.objects.filter(project_id=project.pk).count() == (20 if restored else 0)
        assert Project.objects.filter(pk=project.pk).exists() == restored


def test_writers_of_other_projects_do_not_wait(owner: Person) -> None:
    fill(owner, owner.project, 200, edited=200)
    live = owner.new_project("live")
    delete(owner, ago=RETENTION + MARGIN)

    def act(index: int) -> None:
        if index == 0:
            erase_deleted_projects(at_once=3)
            return
        for number in range(20):
            write_note(owner_id=owner.id, project_id=live.pk, writer=owner.hand, content=f"{index} {number}")
            with pytest.raises(ProjectNotAvailable):
                write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content="late")

    in_threads(act, 3)
    erase_deleted_projects()
    assert Note.objects.filter(project=live).count() == 40
    assert rows_of("project_id", owner.project.pk).keys() == {"accounts_activity"}


def test_a_project_in_the_hands_of_another_holds_up_no_other(owner: Person) -> None:
    held, free = owner.new_project(), owner.new_project()
    for project in (held, free):
        delete(owner, ago=RETENTION + MARGIN, project=project)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=held.pk)
        in_threads(lambda _: erase_deleted_projects(), 1)
        assert Project.objects.filter(pk=held.pk).exists()
        assert not Project.objects.filter(pk=free.pk).exists()
    erase_deleted_projects()
    assert not Project.objects.filter(pk=held.pk).exists()


def test_an_operator_restores_what_is_not_erased(owner: Person) -> None:
    said = StringIO()
    with pytest.raises(CommandError):
        call_command("restore_project", str(owner.project.pk))
    delete(owner, ago=RETENTION - MARGIN)
    call_command("restore_project", str(owner.project.pk), stdout=said)
    assert "Lighthouse" in said.getvalue()
    line = Activity.objects.filter(owner_id=owner.id, project_id=owner.project.pk).latest("id")
    assert (line.tag, line.actor_kind) == ("project_restored", "operator")
    delete(owner, ago=RETENTION + MARGIN)
    erase_deleted_projects()
    with pytest.raises(CommandError):
        call_command("restore_project", str(owner.project.pk))
