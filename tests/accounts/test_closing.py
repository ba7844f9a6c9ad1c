"""A closed account lets nobody in from that moment, and is erased for good when its time has come (W1, P3)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone

from accounts import closing
from accounts.closing import close_account, erase_closed_accounts, restore_account
from accounts.models import Activity, Owner
from accounts.services import ensure_owner, issue_sign_in_link, redeem_sign_in_link
from accounts.tasks import erase_closed_accounts_task
from mcp_gateway.connections.authentication import InvalidCredential, authenticate
from memford.core.errors import NotFound
from memford.core.limits import limits
from projects.archive import export_project, import_project
from projects.models import Project, Standard
from projects.services import create_project, delete_project, erasure, restore_project
from tests.accounts.browser import PASSWORD, is_signed_in, mails_to, new_browser, sign_in, signed_up
from tests.cast import Agent, Person, unique_email
from tests.events import EventReader, begin_session, subscribe
from tests.live import LiveServer, wait_until
from tests.oauth import OAuthClient
from tests.projects.archive.scenes import fill, lived_in
from tests.remains import rows_of
from tests.wire import Wire

RETENTION = timedelta(seconds=limits().deleted_project_retention_seconds)
MARGIN = timedelta(minutes=1)


def close(person: Person, *, ago: timedelta = timedelta()) -> None:
    """Close an account, and let time pass."""
    close_account(owner_id=person.id, actor=person.hand)
    Owner.objects.filter(pk=person.id).update(closed_at=timezone.now() - ago)


def test_every_browser_is_out_and_gets_in_by_no_way() -> None:
    address = unique_email()
    person = Person(ensure_owner(email=address, password=PASSWORD))
    here, there = new_browser(), new_browser()
    sign_in(here, address)
    sign_in(there, address)
    link = issue_sign_in_link(owner=person.owner)
    close(person)
    for browser in (here, there):
        assert not is_signed_in(browser)
        assert browser.get("/api/me").status_code == 401
    again = new_browser()
    sign_in(again, address)
    assert not is_signed_in(again)
    with pytest.raises(NotFound):
        redeem_sign_in_link(secret=link.rpartition("/")[2])
    before = len(mails_to(address))
    again.post("/accounts/password/reset/", {"email": address})
    assert not any("/password/reset/key/" in mail.body for mail in mails_to(address)[before:])


def test_a_session_that_no_list_knows_lets_nobody_in_either() -> None:
    address = unique_email()
    person = Person(ensure_owner(email=address, password=PASSWORD))
    browser = new_browser()
    sign_in(browser, address)
    Owner.objects.filter(pk=person.id).update(is_active=False)
    assert not is_signed_in(browser)


def test_every_connection_is_refused_at_its_next_call(owner: Person, agent: Agent, server: LiveServer) -> None:
    client = OAuthClient(server.url)
    tokens = client.connect(owner)
    assert client.works(tokens["access_token"])
    assert authenticate(agent.key).principal.owner_id == owner.id
    late = client.code(owner)
    close(owner)
    with pytest.raises(InvalidCredential):
        authenticate(agent.key)
    assert not client.works(tokens["access_token"])
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert client.exchange(late).json()["error"] == "invalid_grant"


def test_its_streams_end_within_the_change_check(wire: Wire, agent: Agent, owner: Person) -> None:
    session = begin_session(wire)
    subscribe(wire, session, agent.project_id)
    with EventReader(wire, session) as stream:
        wait_until(lambda: stream.events, what="the first byte")
        close(owner)
        stream.wait_for_end(3)
        assert stream.well_formed


def test_nothing_is_made_in_a_closed_account_and_it_is_closed_once(owner: Person) -> None:
    archive = b"".join(export_project(owner_id=owner.id, project_id=owner.project.pk))
    close(owner)
    with pytest.raises(NotFound):
        create_project(owner_id=owner.id, name="late", actor=owner.hand)
    for dry_run in (True, False):
        with pytest.raises(NotFound):
            import_project(owner_id=owner.id, actor=owner.hand, archive=archive, dry_run=dry_run)
    with pytest.raises(NotFound):
        close_account(owner_id=owner.id, actor=owner.hand)
    assert Activity.objects.filter(owner_id=owner.id, tag="account_closed").count() == 1


def test_an_operator_opens_it_again_as_it_was(owner: Person, agent: Agent) -> None:
    with pytest.raises(CommandError):
        call_command("restore_account", owner.owner.email)
    close(owner, ago=RETENTION - MARGIN)
    erase_closed_accounts()
    call_command("restore_account", owner.owner.email.upper())
    assert authenticate(agent.key).principal.owner_id == owner.id
    line = Activity.objects.filter(owner_id=owner.id).latest("id")
    assert (line.tag, line.actor_kind) == ("account_restored", "operator")


def test_an_account_that_was_only_deactivated_is_neither_restored_nor_erased(owner: Person) -> None:
    Owner.objects.filter(pk=owner.id).update(is_active=False)
    with pytest.raises(CommandError):
        call_command("restore_account", owner.owner.email)
    erase_closed_accounts()
    assert Owner.objects.filter(pk=owner.id).exists()


def test_everything_of_it_goes_and_its_address_is_free(owner: Person, other_owner: Person, server: LiveServer) -> None:
    lived_in(owner)
    owner.new_project("second")
    OAuthClient(server.url).connect(owner)
    issue_sign_in_link(owner=owner.owner)
    assert len(rows_of("owner_id", owner.id)) >= 10
    close(owner, ago=RETENTION + MARGIN)
    kept = rows_of("owner_id", other_owner.id)
    erase_closed_accounts_task()
    assert rows_of("owner_id", owner.id) == {}
    assert rows_of("user_id", owner.id) == {}
    assert not Owner.objects.filter(pk=owner.id).exists()
    assert not EmailAddress.objects.filter(email=owner.owner.email).exists()
    assert rows_of("owner_id", other_owner.id) == kept
    assert is_signed_in(signed_up(owner.owner.email))


def test_its_address_stays_taken_until_then(owner: Person) -> None:
    close(owner)
    browser = new_browser()
    browser.post("/accounts/signup/", {"email": owner.owner.email, "password1": PASSWORD})
    assert Owner.objects.get(email=owner.owner.email).pk == owner.id


def in_threads(work: Any, count: int) -> list[Any]:
    """Run work at once with itself."""

    def run(index: int) -> Any:
        try:
            return work(index)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def test_several_runs_at_once_beside_the_projects_own(owner: Person, other_owner: Person) -> None:
    projects = []
    for person in (owner, other_owner):
        for number in range(3):
            projects.append(person.new_project(str(number)))
            fill(person, projects[-1], 20, edited=20)
        close(person, ago=RETENTION + MARGIN)
    Project.objects.filter(owner_id__in=[owner.id, other_owner.id]).update(erasure_began_at=timezone.now())

    def act(index: int) -> None:
        if index:
            erase_closed_accounts(at_once=7)
        else:
            for project in projects:
                erasure._erase_or_log(project.pk, 5)

    in_threads(act, 4)
    erase_closed_accounts()
    assert not Owner.objects.filter(pk__in=[owner.id, other_owner.id]).exists()
    assert rows_of("owner_id", owner.id) == rows_of("owner_id", other_owner.id) == {}


def test_what_was_cut_off_is_not_restored_and_is_ended_by_the_next_run(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived_in(owner)
    close(owner, ago=RETENTION + MARGIN)
    with monkeypatch.context() as patched:
        patched.setattr(closing, "_remove_activity", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            erase_closed_accounts()
    assert not Project.objects.filter(owner_id=owner.id).exists()
    with pytest.raises(NotFound):
        restore_account(owner_id=owner.id, actor=owner.hand)
    erase_closed_accounts()
    assert not Owner.objects.filter(pk=owner.id).exists()
    assert not Standard.objects.filter(owner_id=owner.id).exists()


def test_a_project_is_restored_after_its_account(owner: Person) -> None:
    delete_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand)
    close(owner)
    with pytest.raises(NotFound):
        restore_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand)
    restore_account(owner_id=owner.id, actor=owner.hand)
    restore_project(owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand)
