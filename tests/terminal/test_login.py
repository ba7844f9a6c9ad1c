"""Signing in from a terminal, staying signed in, and which credential is used where (C1, C4)."""

import contextlib
import json
import os
import pty
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import revoke_connection
from tests.cast import Agent, Person
from tests.live import LiveServer, live_server
from tests.terminal.conftest import with_browser
from tests.terminal.terminal import Terminal


def secrets_of(terminal: Terminal) -> Path:
    """Return the file that holds the only login's secrets."""
    (path,) = (terminal.home / "config").glob("secrets-*.json")
    return path


def aged(terminal: Terminal) -> None:
    """Let the stored access token have ended, by this machine's clock."""
    path = secrets_of(terminal)
    secrets = json.loads(path.read_text())
    path.write_text(json.dumps({**secrets, "expires_at": time.time() - 1}))


def test_signing_in_reading_and_signing_out(at_browser: Terminal, server: LiveServer, person: Person) -> None:
    made = at_browser.json("login", "--url", server.url + "/mcp")
    assert made["login"]["project_name"] == "Lighthouse"
    assert made["login"]["access"] == "read_write"
    assert f"{server.url}/authorize?" in at_browser.said
    assert "Lighthouse" in at_browser.run("read")
    assert "* " + server.url in at_browser.run("status")
    connection = Connection.objects.get(project=person.project, kind="oauth")
    assert connection.name == "Memford in a terminal"
    assert at_browser.json("logout")["revoked"]
    connection.refresh_from_db()
    assert connection.revoked_at is not None
    assert at_browser.json("read", status=4)["error"]["code"] == "signed_out"
    assert not list((at_browser.home / "config").glob("secrets-*"))


def test_what_is_stored_is_the_users_alone(at_browser: Terminal, server: LiveServer) -> None:
    at_browser.run("login", "--url", server.url)
    config = at_browser.home / "config"
    assert stat.S_IMODE(config.stat().st_mode) == 0o700
    for path in config.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert "mfr_" in secrets_of(at_browser).read_text()
    assert "mfr_" not in (config / "logins.json").read_text()


def test_a_keyring_is_used_where_there_is_one(at_browser: Terminal, server: LiveServer) -> None:
    ring = at_browser.home / "ring.json"
    at_browser.variables |= {
        "MEMFORD_CREDENTIALS": "",
        "PYTHON_KEYRING_BACKEND": "tests.terminal.ring.Ring",
        "TEST_RING": str(ring),
    }
    assert "keyring" in at_browser.run("login", "--url", server.url)
    assert "mfr_" in ring.read_text()
    assert not list((at_browser.home / "config").glob("secrets-*"))
    at_browser.run("read")
    at_browser.run("logout")
    assert "mfr_" not in ring.read_text()


def test_denying_leaves_nothing(terminal: Terminal, server: LiveServer, person: Person) -> None:
    answer = with_browser(terminal, person, decision="deny").json("login", "--url", server.url, status=4)
    assert answer["error"]["code"] == "signed_out"
    assert terminal.json("status")["logins"] == []


def test_without_a_browser_the_address_is_pasted(terminal: Terminal, server: LiveServer, person: Person) -> None:
    process = terminal.start("login", "--url", server.url, "--no-browser", "--json")
    assert process.stderr is not None
    assert process.stdin is not None
    address = next(line.strip() for line in process.stderr if "/authorize?" in line)
    from tests.flows.approving import Approver

    sent_to = Approver(person.owner.email).decide(address)
    process.stdin.write(f"nonsense\n{sent_to}\n")
    process.stdin.flush()
    printed, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert json.loads(printed)["login"]["project_name"] == "Lighthouse"
    assert "That is not the address" in said


class TestStayingSignedIn:
    def test_an_ended_token_is_renewed_without_asking(self, at_browser: Terminal, server: LiveServer) -> None:
        at_browser.run("login", "--url", server.url)
        before = json.loads(secrets_of(at_browser).read_text())["tokens"]
        aged(at_browser)
        at_browser.variables["BROWSER"] = "false"
        at_browser.run("read")
        after = json.loads(secrets_of(at_browser).read_text())["tokens"]
        assert before["refresh_token"] != after["refresh_token"]
        assert stat.S_IMODE(secrets_of(at_browser).stat().st_mode) == 0o600

    def test_of_many_processes_one_renews(self, at_browser: Terminal, server: LiveServer, person: Person) -> None:
        at_browser.run("login", "--url", server.url)
        connection = Connection.objects.get(project=person.project, kind="oauth")
        for _ in range(3):
            before = _refresh_tokens(connection)
            aged(at_browser)
            processes = [at_browser.start("read", "--json") for _ in range(6)]
            assert [_end(process) for process in processes] == [0] * 6
            assert _refresh_tokens(connection) == before + 1
        connection.refresh_from_db()
        assert connection.revoked_at is None

    def test_a_token_that_ends_at_the_server_first_is_renewed(self, at_browser: Terminal) -> None:
        with live_server(MEMFORD_ACCESS_TOKEN_LIFE_SECONDS="1") as server:
            at_browser.run("login", "--url", server.url)
            path = secrets_of(at_browser)
            secrets = json.loads(path.read_text())
            # This machine's clock is behind: it takes the token for good.
            path.write_text(json.dumps({**secrets, "expires_at": time.time() + 3_600}))
            _wait_for_end(secrets["tokens"]["access_token"], server)
            at_browser.run("read")
            assert json.loads(path.read_text())["tokens"] != secrets["tokens"]

    def test_a_disconnected_login_says_what_to_do(
        self, at_browser: Terminal, server: LiveServer, person: Person
    ) -> None:
        at_browser.run("login", "--url", server.url)
        connection = Connection.objects.get(project=person.project, kind="oauth")
        revoke_connection(owner_id=person.id, connection_id=connection.pk, actor=person.hand)
        answer = at_browser.json("read", status=4)
        assert f"memford login --url {server.url}" in answer["error"]["message"]


def _refresh_tokens(connection: Connection) -> int:
    from mcp_gateway.authorization.models import RefreshToken

    return RefreshToken.objects.using("system").filter(connection=connection).count()


def _end(process: subprocess.Popen[str]) -> int:
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return process.returncode


def _wait_for_end(token: str, server: LiveServer) -> None:
    import httpx2

    from tests.live import wait_until

    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    wait_until(lambda: httpx2.post(server.mcp_url, json=ping, headers=headers).status_code == 401)


class TestWhichCredential:
    def test_a_key_of_the_environment(self, keyed: Terminal, agent: Agent) -> None:
        assert keyed.json("projects")["projects"][0]["id"] == agent.project_id
        shown = keyed.json("status")
        assert shown["here"]["connection"].startswith("key:")
        assert agent.key not in json.dumps(shown) + keyed.said

    def test_a_bad_key_is_signed_out(self, keyed: Terminal) -> None:
        keyed.variables["MEMFORD_API_KEY"] = "mfk_not_a_key"
        assert keyed.json("read", status=4)["error"]["code"] == "signed_out"
        assert "mfk_not" not in keyed.said

    def test_a_key_goes_to_no_server_that_a_repository_names(self, keyed: Terminal, server: LiveServer) -> None:
        del keyed.variables["MEMFORD_URL"]
        (keyed.home / ".memford.toml").write_text(f'url = "{server.url}"\n')
        answer = keyed.json("read", status=1)
        assert "set MEMFORD_URL as well" in answer["error"]["message"]

    def test_a_repository_names_server_and_project(
        self, at_browser: Terminal, server: LiveServer, person: Person
    ) -> None:
        person.new_project("Second")
        at_browser.run("login", "--url", server.url)
        with_browser(at_browser, person, project="Second").run("login", "--url", server.url)
        assert at_browser.json("projects")["projects"][0]["name"] == "Second"
        deep = at_browser.home / "repository" / "deep"
        deep.mkdir(parents=True)
        (at_browser.home / "repository" / ".memford.toml").write_text(f'url = "{server.url}"\nproject = "Lighthouse"\n')
        at_browser.here = deep
        assert at_browser.json("projects")["projects"][0]["name"] == "Lighthouse"
        assert at_browser.json("projects", "--project", "Second")["projects"][0]["name"] == "Second"
        assert ".memford.toml" in at_browser.json("status")["here"]["why"]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('key = "mfk_x"', "holds a secret"),
            ('url = "https://mfk_x@example.com"', "holds a secret"),
            ("url = 3", "may say url and project"),
            ('colour = "red"', "colour"),
            ("not toml", "cannot be read as TOML"),
            ('url = "javascript:alert(1)"', "is not the address of a server"),
        ],
    )
    def test_a_file_that_cannot_be_used_is_refused(self, terminal: Terminal, text: str, words: str) -> None:
        (terminal.home / ".memford.toml").write_text(text)
        assert words in terminal.json("read", status=1)["error"]["message"]

    def test_nobody_is_signed_in(self, terminal: Terminal) -> None:
        assert "memford login" in terminal.json("read", status=4)["error"]["message"]
        assert "memford login" in terminal.json("status")["here"]["problem"]


def _elsewhere(function: Callable[[], None]) -> None:
    """Ask the database in a thread, which keeps no connection to it."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(function).result()
        thread.submit(connections.close_all).result()


def _on_a_terminal(terminal: Terminal, *arguments: str) -> str:
    """Run the command on a terminal of its own and return what it shows there."""
    ours, theirs = pty.openpty()
    process = terminal.start(*arguments, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65_536):
            shown += piece
    os.close(ours)
    assert process.wait(30) == 0
    return shown.decode()


class TestReadingAndChecking:
    def test_everything_is_read_in_order(self, keyed: Terminal, owner: Person, agent: Agent) -> None:
        from projects.services import write_note

        for number in range(130):
            write_note(
                owner_id=owner.id, project_id=owner.project.pk, writer=agent.principal.writer, content=f"note {number}."
            )
        page = keyed.json("read", "--all")
        assert [note["content"] for note in page["notes"]] == [f"note {number}." for number in range(130)]
        newest = keyed.json("read", "--limit", "5")
        assert [note["content"] for note in newest["notes"]] == [f"note {number}." for number in range(125, 130)]
        printed = keyed.run("read", "--limit", "5")
        assert printed.index("note 125.") < printed.index("note 129.")
        assert "memford read --all" in printed

    def test_a_terminal_is_shown_what_would_steer_it(self, keyed: Terminal, owner: Person, agent: Agent) -> None:
        from projects.services import write_note

        evil = "\x1b]0;title\x07\x1b[2J\u202egnp.exe \x9b31m plain 🗼"
        write_note(owner_id=owner.id, project_id=owner.project.pk, writer=agent.principal.writer, content=evil)
        assert evil in keyed.run("read"), "a pipe gets it to the letter"
        for arguments in (["read"], ["read", "--json"]):
            shown = _on_a_terminal(keyed, *arguments)
            assert "plain" in shown
            assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)

    def test_reading_everything_begins_anew_with_bounded_patience(
        self, server: LiveServer, owner: Person, agent: Agent
    ) -> None:
        from memford.client import Memory
        from memford.client.errors import Impatient
        from projects.services import change_project, write_note

        for number in range(120):
            write_note(
                owner_id=owner.id, project_id=owner.project.pk, writer=agent.principal.writer, content=str(number)
            )
        changes = iter(range(1_000))

        def change(read: int, total: int) -> None:
            if read < total and next(changes) < patience:
                change_project(
                    owner_id=owner.id, project_id=owner.project.pk, actor=owner.hand, description=f"{next(changes)}"
                )

        with Memory(server.url, key=agent.key) as memory:
            patience = 2
            page = memory.read_all(
                agent.project_id, on_page=lambda read, total: _elsewhere(lambda: change(read, total))
            )
            assert [note.content for note in page.notes] == [str(number) for number in range(120)]
            patience = 1_000
            with pytest.raises(Impatient):
                memory.read_all(agent.project_id, on_page=lambda read, total: _elsewhere(lambda: change(read, total)))

    def test_watching_prints_what_comes(self, keyed: Terminal, owner: Person, agent: Agent) -> None:
        from projects.services import write_note

        where: dict[str, Any] = {"owner_id": owner.id, "project_id": owner.project.pk, "writer": agent.principal.writer}
        write_note(**where, content="old")
        process = keyed.start("read", "--watch", "--json")
        assert process.stdout is not None
        assert process.stderr is not None
        assert [note["content"] for note in json.loads(process.stdout.readline())["notes"]] == ["old"]
        assert "Watching" in process.stderr.readline()
        write_note(**where, content="new")
        assert json.loads(process.stdout.readline())["content"] == "new"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=15)
        assert process.returncode == 130

    def test_checking_what_is_well(self, keyed: Terminal, agent: Agent) -> None:
        found = keyed.json("check")
        assert found["ok"]
        words = {each["what"]: each["found"] for each in found["findings"]}
        assert agent.project_id in words["project"]
        assert words["protocol"] == "2026-07-28"
        assert "memory_write" in words["tools"]

    @pytest.mark.parametrize(
        ("changes", "status", "words"),
        [
            ({"MEMFORD_URL": "http://127.0.0.1:9"}, 6, "cannot be reached"),
            ({"MEMFORD_API_KEY": "mfk_wrong"}, 4, "Sign in again"),
            ({"MEMFORD_API_KEY": ""}, 4, "memford login"),
            ({"MEMFORD_PROJECT": "Another"}, 1, "Sign in for that project"),
        ],
    )
    def test_each_problem_has_one_thing_to_do(
        self, keyed: Terminal, changes: dict[str, str], status: int, words: str
    ) -> None:
        keyed.variables |= changes
        found = keyed.json("check", status=status)
        assert not found["ok"]
        assert [words in each["do"] for each in found["findings"] if each["do"]] == [True]

    def test_help_is_quick_and_teaches(self, terminal: Terminal) -> None:
        code = "import sys, memford.cli; print(sorted({'django', 'mcp', 'pydantic', 'httpx2'} & set(sys.modules)))"
        done = subprocess.run(
            [sys.executable, "-c", code], env=terminal.environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "[]"
        assert "memford login --url https://memford.example.com" in terminal.run("login", "--help")


def test_the_client_for_scripts(server: LiveServer, agent: Agent) -> None:
    """As docs/terminal.md shows it."""
    from memford.client import ClientError, Memory

    with Memory(server.url, key=agent.key) as memory:
        project = memory.project()
        checkpoint = "6f1a4e9c-6c0e-4f0e-9d55-0b8f5b2f6a10"
        receipts = [
            memory.write(project.id, "The lamp turns once.", source="keeper", checkpoint_id=checkpoint)
            for _ in range(2)
        ]
        assert receipts[0] == receipts[1]
        assert [note.content for note in memory.read_all(project.id).notes] == ["The lamp turns once."]
        with pytest.raises(ClientError) as refused:
            memory.write(project.id, "Another text.", checkpoint_id=checkpoint)
        assert refused.value.code == "checkpoint_conflict"
        assert len(memory.read_page(project.id, limit=1).notes) == 1
    with pytest.raises(ClientError, match="Sign in again"), Memory(server.url, key="mfk_wrong"):
        pass
