"""Writing from a terminal: saved is only what was read back, and nothing is lost or doubled by being killed (C2)."""

import json
import random
import stat
import subprocess
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_gateway.connections.services import revoke_connection
from projects.models import Note
from projects.services import revise_note
from tests.cast import Agent, Person
from tests.live import LiveServer, free_port
from tests.terminal.terminal import Terminal

HARD = '  indented\r\nCRLF\n\n emoji 🗼, null-ish \\u0000, {"json": 1}\t \n'


def pending_files(terminal: Terminal) -> list[Path]:
    """Return the files of what is pending."""
    return sorted((terminal.home / "state" / "pending").glob("*.json"))


def texts(person: Person) -> list[str]:
    """Return the texts of a project's notes, oldest first."""
    return list(Note.objects.filter(project=person.project).order_by("seq").values_list("content", flat=True))


class TestSaved:
    def test_a_text_is_saved_exactly(self, keyed: Terminal, owner: Person) -> None:
        (keyed.home / "note.txt").write_bytes(HARD.encode())
        said = keyed.json("write", "note.txt", "--source", "a file")
        note = Note.objects.get(project=owner.project)
        assert (note.content, note.source, str(note.pk)) == (HARD, "a file", said["note_id"])
        assert (said["state"], said["changed_since"]) == ("saved", False)
        assert pending_files(keyed) == []
        assert keyed.run("write", "-", typed="from standard input").startswith("saved  ")
        assert texts(owner)[-1] == "from standard input"

    def test_the_same_checkpoint_is_stored_once(self, keyed: Terminal, owner: Person) -> None:
        checkpoint = str(uuid.uuid4())
        first = keyed.json("write", "--checkpoint", checkpoint, typed="once")
        again = keyed.json("write", "--checkpoint", checkpoint, typed="once")
        assert first == {**again, "created_at": first["created_at"]}
        other = keyed.json("write", "--checkpoint", checkpoint, typed="other", status=1)
        assert (other["state"], other["error"]["code"]) == ("refused", "checkpoint_conflict")
        assert Path(other["path"]).read_text().count("other") == 1
        assert texts(owner) == ["once"]

    @pytest.mark.parametrize(
        ("typed", "arguments", "words"),
        [
            ("", [], "must not be empty"),
            ("  \n", [], "must not be empty"),
            ("x" * 32_001, [], "at most 32000"),
            ("nul \x00", [], "U+0000"),
            ("x", ["--source", "s" * 121], "the source has 121"),
            ("x", ["--checkpoint", "ABC"], "the checkpoint must be"),
        ],
    )
    def test_what_no_server_takes_is_refused_before_it_is_kept(
        self, keyed: Terminal, typed: str, arguments: list[str], words: str
    ) -> None:
        answer = keyed.json("write", *arguments, typed=typed, status=1)
        assert words in answer["error"]["message"]
        assert pending_files(keyed) == []

    def test_what_is_no_utf_8_is_refused(self, keyed: Terminal) -> None:
        (keyed.home / "latin").write_bytes(b"caf\xe9")
        assert "byte 3" in keyed.json("write", "latin", status=1)["error"]["message"]
        assert "cannot be read" in keyed.json("write", "missing", status=1)["error"]["message"]


class TestPending:
    def test_without_a_server_it_is_kept(self, keyed: Terminal) -> None:
        keyed.variables["MEMFORD_URL"] = f"http://127.0.0.1:{free_port()}"
        said = keyed.json("write", typed="typed on a train", status=3)
        assert said["state"] == "unverified"
        assert "memford flush" in keyed.said
        (path,) = pending_files(keyed)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert all(stat.S_IMODE(folder.stat().st_mode) == 0o700 for folder in (path.parent, path.parent.parent))
        assert keyed.json("pending")["pending"][0]["checkpoint_id"] == said["checkpoint_id"]
        assert keyed.json("flush", status=3)["outcomes"][0]["state"] == "unverified"

    def test_an_answer_that_got_lost_is_found_by_its_checkpoint(
        self, keyed: Terminal, owner: Person, server: LiveServer
    ) -> None:
        with _losing_answers(server) as away:
            keyed.variables["MEMFORD_URL"] = away.url
            said = keyed.json("write", typed="once", status=3)
            assert texts(owner) == ["once"], "it was stored, and nobody knows"
            away.is_losing = False
            note = Note.objects.get(project=owner.project)
            revise_note(
                owner_id=owner.id,
                project_id=owner.project.pk,
                note_id=note.pk,
                expected_revision=1,
                actor=owner.hand,
                status="deleted",
            )
            flushed = keyed.json("flush")["outcomes"][0]
        assert (flushed["state"], flushed["note_id"]) == ("saved", str(note.pk))
        assert flushed["changed_since"], "its owner deleted it meanwhile, and a retry undoes nothing"
        assert flushed["checkpoint_id"] == said["checkpoint_id"]
        assert Note.objects.get(project=owner.project).status == "deleted"

    def test_a_connection_that_may_only_read_keeps_the_text(
        self, terminal: Terminal, server: LiveServer, owner: Person
    ) -> None:
        reader = owner.new_agent(access="read_only")
        terminal.variables |= {"MEMFORD_URL": server.url, "MEMFORD_API_KEY": reader.key}
        assert terminal.json("write", typed="not lost", status=5)["state"] == "kept"
        assert json.loads(pending_files(terminal)[0].read_text())["content"] == "not lost"

    def test_a_revoked_key_keeps_the_text(self, keyed: Terminal, owner: Person, agent: Agent) -> None:
        revoke_connection(owner_id=owner.id, connection_id=agent.connection.pk, actor=owner.hand)
        assert keyed.json("write", typed="not lost", status=4)["state"] == "kept"
        assert len(pending_files(keyed)) == 1

    def test_under_another_connection_it_is_looked_for_and_never_sent_unasked(
        self, keyed: Terminal, owner: Person, agent: Agent, server: LiveServer
    ) -> None:
        with _losing_answers(server) as away:
            keyed.variables["MEMFORD_URL"] = away.url
            keyed.json("write", typed="stored, and not known", status=3)
            away.is_refusing = True
            keyed.json("write", typed="never sent", status=3)
            away.is_losing = away.is_refusing = False
            keyed.variables["MEMFORD_API_KEY"] = owner.new_agent(name="another").key
            outcomes = keyed.json("flush", status=7)["outcomes"]
            assert Counter(each["state"] for each in outcomes) == {"saved": 1, "unresolved": 1}
            assert texts(owner) == ["stored, and not known"]
            assert keyed.json("flush", "--resend")["outcomes"][0]["state"] == "saved"
        assert texts(owner) == ["stored, and not known", "never sent"]
        assert pending_files(keyed) == []

    def test_a_damaged_file_stands_in_nobodys_way(self, keyed: Terminal, owner: Person) -> None:
        folder = keyed.home / "state" / "pending"
        folder.mkdir(parents=True, mode=0o700)
        (folder / "x.json").write_text('{"half": ')
        (folder / "y.json").symlink_to("/etc/passwd")
        keyed.variables["MEMFORD_URL"], usual = f"http://127.0.0.1:{free_port()}", keyed.variables["MEMFORD_URL"]
        keyed.json("write", typed="edited by hand", status=3)
        (edited,) = [path for path in pending_files(keyed) if len(path.name) > 10]
        edited.write_text(edited.read_text().replace("by hand", "by a fool"))
        keyed.variables["MEMFORD_URL"] = usual
        assert keyed.json("write", typed="goes on")["state"] == "saved"
        found = keyed.json("pending")
        assert len(found["set_aside"]) == 3
        assert keyed.json("flush")["outcomes"] == []


class _Away:
    """A server that takes what is sent, and whose answers get lost on the way; or one that takes nothing."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_losing = True
        self.is_refusing = False


def _losing_answers(server: LiveServer) -> Any:
    """Run a proxy that passes requests on and loses the answers to writes."""
    import threading
    from contextlib import contextmanager
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    @contextmanager
    def running() -> Any:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                is_write = b"memory_write" in body and b"tools/call" in body
                if is_write and away.is_refusing:
                    self.close_connection = True
                    return
                headers = {
                    name: value
                    for name, value in self.headers.items()
                    if name.lower() not in {"host", "content-length"}
                }
                answer = httpx2.post(server.mcp_url, content=body, headers={**headers, "Host": server.url[7:]})
                if is_write and away.is_losing:
                    self.close_connection = True
                    return
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    if name.lower() not in {"connection", "content-length", "transfer-encoding", "content-encoding"}:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        away = _Away(f"http://127.0.0.1:{proxy.server_port}")
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield away
        proxy.shutdown()
        proxy.server_close()

    return running()


KILLED_TIMES = 200
AT_ONCE = 4
USUAL_MAX_SECONDS = 1.5


def test_killed_at_any_moment_nothing_is_lost_and_nothing_doubled(keyed: Terminal, owner: Person, agent: Agent) -> None:
    """Writes and flushes are killed at random moments; in the end each text that was kept is there exactly once."""
    chance = random.Random(7)
    keyed.json("write", typed="warm")
    begin = time.monotonic()
    keyed.json("write", typed="measured")
    # On a busy machine it would take minutes, and what is killed earlier is killed as well.
    usual_seconds = min(time.monotonic() - begin, USUAL_MAX_SECONDS)
    started: list[str] = []
    counts: Counter[str] = Counter()

    def one(number: int, delay: float, is_flush: bool) -> None:
        text = f"text {number} {uuid.uuid4()}"
        if not is_flush:
            started.append(text)
        process = keyed.start("flush" if is_flush else "write", stderr=subprocess.DEVNULL)
        try:
            printed, _ = process.communicate("" if is_flush else text, timeout=delay)
            counts["ended"] += 1
            if not is_flush and printed.startswith("saved"):
                said_saved.add(text)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            counts["killed"] += 1

    said_saved: set[str] = set()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for number in range(KILLED_TIMES):
            delay = chance.uniform(0.3, 1.6) * usual_seconds
            threads.submit(one, number, delay, number % 5 == 4)
    kept = {json.loads(path.read_text())["content"] for path in pending_files(keyed)}
    for _ in range(5):
        outcomes = keyed.json("flush")["outcomes"]
        if not pending_files(keyed):
            break
    assert pending_files(keyed) == [], outcomes
    stored = Counter(texts(owner))
    assert counts["killed"] > KILLED_TIMES / 10, counts
    assert all(count == 1 for count in stored.values()), "nothing is doubled"
    assert said_saved <= stored.keys(), "what was called saved is there"
    assert kept <= stored.keys(), "what was kept is there"
    assert stored.keys() <= {*started, "warm", "measured"}
    assert list((keyed.home / "state" / "pending").iterdir()) == []
