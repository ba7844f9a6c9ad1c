"""Everything of an account in one file: complete, of one moment, in bounded memory, and nothing of anybody else."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from allauth.mfa.models import Authenticator
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from accounts.closing import close_account
from accounts.models import Activity
from accounts.second_factor import SecondFactorAdapter
from mcp_gateway.connections import taking_along
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import revoke_connection
from memford.core.database import SYSTEM
from memford.core.errors import NotFound
from projects.archive import ExportUnderway, account, export_account, import_project
from projects.archive.form import printed
from projects.services import create_standard, delete_project, revise_standard, write_note
from tests.accounts.browser import PASSWORD, new_browser, sign_in
from tests.cast import Person, new_person
from tests.projects.archive.scenes import HOSTILE, archive_of, fill, lived_in
from tests.projects.archive.test_export import disturb

GROWTH_MAX_KIB = 48 * 1024
"""20,000 notes of 4 KiB are 80 MiB; an export that held them would need more."""


class Taken:
    """An account's file, unpacked."""

    def __init__(self, person: Person) -> None:
        with ZipFile(io.BytesIO(b"".join(export_account(owner_id=person.id)))) as file:
            assert file.testzip() is None
            self.files = {name: file.read(name) for name in file.namelist()}
        self.text = b"\n".join(self.files.values()).decode()

    def json(self, name: str) -> Any:
        """Return what a file of it says."""
        return json.loads(self.files[f"{name}.json"])

    @property
    def archives(self) -> dict[str, Any]:
        """The projects' archives by the projects' ids."""
        found = [json.loads(text) for name, text in self.files.items() if name.startswith("projects/")]
        return {archive["content"]["project"]["id"]: archive for archive in found}


def furnished(person: Person) -> None:
    """Give an account one of everything."""
    lived_in(person)
    other = person.new_project("Käse & Brot")
    write_note(owner_id=person.id, project_id=other.pk, writer=person.hand, content=f"kept by {person.id}")
    gone = person.new_project("Sunk")
    write_note(owner_id=person.id, project_id=gone.pk, writer=person.hand, content=f"sunk by {person.id}")
    delete_project(owner_id=person.id, project_id=gone.pk, actor=person.hand)
    lone = create_standard(owner_id=person.id, title="Unused", content=f"shelf of {person.id}", actor=person.hand)
    revise_standard(owner_id=person.id, standard_id=lone.pk, expected_revision=1, title="Lone", actor=person.hand)
    ended = person.new_agent(name="ended")
    revoke_connection(owner_id=person.id, connection_id=ended.connection.pk, actor=person.hand)


def test_it_holds_all_that_is_the_owners_and_nothing_of_another(owner: Person, other_owner: Person) -> None:
    furnished(owner)
    furnished(other_owner)
    taken = Taken(owner)
    assert [name for name in taken.files if not name.startswith("projects/")] == [
        "README.txt", "account.json", "standards.json", "connections.json", "activity.json",
    ]  # fmt: skip
    assert owner.owner.email in taken.files["README.txt"].decode()
    assert taken.json("account")["id"] == str(owner.id)
    assert set(taken.archives) == {str(project.pk) for project in owner.owner.projects.filter(deleted_at=None)}
    assert len(taken.archives) == 2
    shelf = {each["revisions"][-1]["title"]: each for each in taken.json("standards")["standards"]}
    assert len(shelf) == 4
    assert [wording["title"] for wording in shelf["Lone"]["revisions"]] == ["Unused", "Lone"]
    held = {each["id"]: each for each in taken.json("connections")["connections"]}
    assert set(held) == {str(each.pk) for each in Connection.objects.filter(owner_id=owner.id)}
    assert [each["name"] for each in held.values() if each["revoked_at"]] == ["ended"]
    for foreign in (str(other_owner.id), other_owner.owner.email, str(other_owner.project.pk)):
        assert foreign not in taken.text
    assert f"sunk by {owner.id}" not in taken.text


def test_each_projects_archive_is_the_one_that_its_own_export_gives_and_comes_back(owner: Person) -> None:
    furnished(owner)
    taken = Taken(owner)
    archive = taken.archives[str(owner.project.pk)]
    alone = json.loads(archive_of(owner))
    assert archive["content"] == alone["content"]
    assert archive["sha256"] == alone["sha256"]
    packed = next(text for name, text in taken.files.items() if str(owner.project.pk) in name)
    heir = new_person()
    assert import_project(owner_id=heir.id, actor=heir.hand, archive=packed).notes == 4


def test_every_line_of_the_log_is_in_it_once(owner: Person) -> None:
    furnished(owner)
    Activity.objects.create(owner_id=owner.id, tag="signed_in", actor_kind="owner", actor_id=owner.id, actor_name="x")
    taken = Taken(owner)
    lines = [(line["at"], line["tag"]) for line in taken.json("activity")["activity"]]
    lines += [(line["at"], line["tag"]) for each in taken.archives.values() for line in each["content"]["activity"]]
    stored = Activity.objects.filter(owner_id=owner.id)
    assert sorted(lines) == sorted((printed(line.at), line.tag) for line in stored)
    outside = {line["tag"] for line in taken.json("activity")["activity"]}
    assert {"signed_in", "standard_created", "project_deleted"} <= outside


def test_nothing_in_it_opens_anything(owner: Person) -> None:
    agent = owner.new_agent()
    owner.owner.set_password(PASSWORD)
    owner.owner.save()
    secret = "JBSWY3DPEHPK3PXP"
    sealed = SecondFactorAdapter().encrypt(secret)
    Authenticator.objects.create(user=owner.owner, type=Authenticator.Type.TOTP, data={"secret": sealed})
    Authenticator.objects.create(
        user=owner.owner, type=Authenticator.Type.WEBAUTHN, data={"name": "Pier", "credential": {"id": "credential-id"}}
    )
    browser = new_browser()
    sign_in(browser, owner.owner.email)
    key = browser.session.session_key or "none"
    taken = Taken(owner)
    for hidden in (agent.key, agent.connection.key_digest or "-", secret, sealed, "credential-id", key):
        assert hidden not in taken.text
    assert "pbkdf2" not in taken.text.replace(HOSTILE, "")
    factors = [(each["kind"], each["name"]) for each in taken.json("account")["second_factors"]]
    assert factors == [("totp", None), ("webauthn", "Pier")]


def test_where_one_is_signed_in_is_in_it(owner: Person) -> None:
    owner.owner.set_password(PASSWORD)
    owner.owner.save()
    sign_in(new_browser(headers={"User-Agent": "Lantern 1"}), owner.owner.email)
    (session,) = Taken(owner).json("account")["login_sessions"]
    assert session["user_agent"] == "Lantern 1"


def test_names_of_files_are_safe_everywhere(owner: Person) -> None:
    for name in ("../../etc/passwd", "C:\\con <script>", "測試", "x" * 120):
        owner.new_project(name)
    names = [name for name in Taken(owner).files if name.startswith("projects/")]
    assert len(names) == 5
    for name in names:
        file = name.removeprefix("projects/")
        assert file.replace("-", "").replace(".json", "").isalnum()
        assert file.isascii()
        assert len(file) < 100


def test_it_is_of_one_moment_whatever_happens_meanwhile(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(owner, owner.project, 5, edited=5)
    before = Taken(owner)
    described = account._account

    def describe_and_disturb(person: Any) -> Any:
        """Write through another database connection before any project is read."""
        disturb(owner)
        return described(person)

    monkeypatch.setattr(account, "_account", describe_and_disturb)
    during = Taken(owner)
    assert {key: each["content"] for key, each in during.archives.items()} == {
        key: each["content"] for key, each in before.archives.items()
    }
    monkeypatch.undo()
    assert len(Taken(owner).archives[str(owner.project.pk)]["content"]["notes"]) == 6


def test_the_size_of_lots_changes_nothing(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    furnished(owner)
    whole = Taken(owner)
    monkeypatch.setattr(account, "STANDARDS_AT_ONCE", 1)
    monkeypatch.setattr(taking_along, "CONNECTIONS_AT_ONCE", 1)
    lots = Taken(owner)
    for name in ("standards", "connections", "activity"):
        assert lots.json(name) == whole.json(name)


def test_only_one_is_made_at_a_time(owner: Person, other_owner: Person) -> None:
    with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
        cursor.execute(account._CLAIM, [str(owner.id)])
        with pytest.raises(ExportUnderway):
            export_account(owner_id=owner.id)
        export_account(owner_id=other_owner.id).close()
    export_account(owner_id=owner.id).close()


def test_a_closed_account_is_not_found(owner: Person) -> None:
    close_account(owner_id=owner.id, actor=owner.hand)
    with pytest.raises(NotFound):
        export_account(owner_id=owner.id)


def statements(person: Person) -> int:
    """Count what one export asks the database."""
    with CaptureQueriesContext(connection) as captured:
        export_account(owner_id=person.id).close()
    return len(captured)


def test_statements_grow_by_lots_and_by_projects(owner: Person, other_owner: Person) -> None:
    fill(owner, owner.project, 10, edited=10)
    few = statements(owner)
    # Begin, isolation, owner, claim, projects, factors, sessions, standards, connections, log twice, commit: once.
    # A project costs its archive's, and one for finding it in the log.
    assert few <= 24
    fill(other_owner, other_owner.project, 1_000, edited=1_000)
    for number in range(100):
        create_standard(owner_id=other_owner.id, title=str(number), content="x", actor=other_owner.hand)
    for number in range(20):
        other_owner.new_agent(name=str(number))
    # Four lots of notes and of wordings more, and one look each whether there are more standards and lines of the log.
    assert statements(other_owner) <= few + 4 * 2 + 2


MEASURE = """
import os, resource, sys, uuid
import django
django.setup()
from projects.archive import export_account
small, big = (uuid.UUID(text) for text in sys.argv[1:])

def work(owner, path):
    with open(path, "wb") as file:
        for chunk in export_account(owner_id=owner):
            file.write(chunk)

work(small, os.devnull)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
work(big, os.environ["TAKEN"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_account(owner: Person, other_owner: Person, tmp_path: Path) -> None:
    fill(other_owner, other_owner.project, 400, content="x" * 4_096)
    for _ in range(2):
        fill(owner, owner.new_project(), 10_000, content="y" * 4_096)
    taken = tmp_path / "taken.zip"
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(other_owner.id), str(owner.id)],
        env={**os.environ, "TAKEN": str(taken)},
        capture_output=True,
        text=True,
        check=True,
    )
    with ZipFile(taken) as file:
        assert sum(each.file_size for each in file.infolist()) > 80 * 1024 * 1024
    assert int(ran.stdout) < GROWTH_MAX_KIB
