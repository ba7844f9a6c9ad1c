"""Both TypeScript SDKs at a real server: 1.x by handshake, 2.x in both eras; each checks results strictly.

The scripts in ``typescript/`` report what their client saw as one line of JSON, and it is judged here. The packages
are installed once per machine from the lock file.
"""

import fcntl
import json
import shutil
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cast import Agent, Person, new_person
from tests.flows import facts
from tests.live import LiveServer

FOLDER: Final = Path(__file__).parent / "typescript"
INSTALL_LIMIT_SECONDS: Final = 300
RUN_LIMIT_SECONDS: Final = 60
SOURCE: Final = " flows, §1 🗒 "

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or shutil.which("npm") is None,
    reason="the TypeScript SDKs need node and npm, and this machine lacks one of them",
)


@dataclass(frozen=True)
class Client:
    """One of the SDKs, and how it is told to connect."""

    script: str
    era: str

    def __str__(self) -> str:
        return f"{self.script}, {self.era}"

    @property
    def is_stateless(self) -> bool:
        """Whether it speaks 2026-07-28."""
        return self.era in {"probed", "pinned"}

    @property
    def revision(self) -> str:
        """The revision that must be in force."""
        return "2026-07-28" if self.is_stateless else self.era


CLIENTS: Final = (
    Client("sdk1.mjs", "2025-11-25"),
    Client("sdk2.mjs", "2025-11-25"),
    Client("sdk2.mjs", "2025-06-18"),
    Client("sdk2.mjs", "2025-03-26"),
    Client("sdk2.mjs", "probed"),
    Client("sdk2.mjs", "pinned"),
)
Seen = dict[str, Any]


@pytest.fixture(scope="session")
def packages() -> None:
    """Install what the lock file names, once; several test processes wait for one another."""
    wanted = (FOLDER / "package-lock.json").read_bytes()
    with (FOLDER / ".install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = FOLDER / "node_modules" / ".installed-from"
        if installed.exists() and installed.read_bytes() == wanted:
            return
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(
            command, cwd=FOLDER, capture_output=True, text=True, timeout=INSTALL_LIMIT_SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        installed.write_bytes(wanted)


def run_client(client: Client, server: LiveServer, key: str, **more: object) -> Seen:
    """Run a client's script and return what it saw."""
    asked = {"url": server.mcp_url, "key": key, "era": client.era, **more}
    done = subprocess.run(
        ["node", str(FOLDER / client.script)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=RUN_LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen: Seen = json.loads(done.stdout)
    return seen


@dataclass(frozen=True)
class Walk:
    """What one client saw on its way through everything, and what it was asked to write."""

    client: Client
    agent: Agent
    checkpoint_id: str
    seen: Seen


@pytest.fixture(scope="module", params=CLIENTS, ids=str)
def walk(request: pytest.FixtureRequest, packages: None, server: LiveServer) -> Walk:
    """Send each client once through all steps, with an owner and a stranger of its own."""
    client: Client = request.param
    agent, stranger, checkpoint_id = new_person().new_agent(), new_person().new_agent(), str(uuid.uuid4())
    seen = run_client(
        client,
        server,
        agent.key,
        otherProjectId=stranger.project_id,
        content=facts.EXACT_TEXT,
        source=SOURCE,
        checkpointId=checkpoint_id,
    )
    assert seen["connectFailure"] is None
    return Walk(client, agent, checkpoint_id, seen)


def test_the_client_gets_the_revision_it_asks_for(walk: Walk) -> None:
    assert walk.seen["protocolVersion"] == walk.client.revision


def test_the_client_is_told_whom_it_reached_and_how_to_behave(walk: Walk) -> None:
    seen = walk.seen
    facts.check_server(seen["serverInfo"], seen["instructions"], seen["capabilities"])


def test_three_tools_are_listed_with_schemas_and_annotations(walk: Walk) -> None:
    facts.check_tools(walk.seen["tools"])


def test_a_note_is_listed_for_written_once_and_read_back_exactly(walk: Walk) -> None:
    seen = walk.seen
    (project,) = facts.check_success(seen["projects"])["projects"]
    assert project["id"] == walk.agent.project_id
    receipt = facts.check_success(seen["written"])
    assert receipt["checkpoint_id"] == walk.checkpoint_id
    assert receipt["note"]["content"] == facts.EXACT_TEXT
    assert facts.check_success(seen["writtenAgain"]) == receipt
    assert facts.text_of(seen["writtenAgain"]) == facts.text_of(seen["written"])
    page = facts.check_success(seen["page"])
    (note,) = page["notes"]
    assert note["content"] == facts.EXACT_TEXT
    assert note["source"] == SOURCE
    assert note["id"] == receipt["note"]["id"]
    assert (page["memory_revision"], page["project"]["notes_count"]) == (1, 1)


def test_the_resource_is_listed_and_reads_as_the_first_page(walk: Walk) -> None:
    seen = walk.seen
    uri = facts.check_resources(seen["resources"], seen["templates"], walk.agent.project_id)
    (contents,) = seen["resource"]["contents"]
    assert contents["uri"] == uri
    assert contents["mimeType"] == "application/json"
    assert json.loads(contents["text"]) == facts.check_success(seen["page"])


def test_an_unknown_resource_is_an_error_in_the_words_of_the_revision(walk: Walk) -> None:
    # The newer client makes an error of its own of what names the address that was asked for, whatever the revision.
    typed = walk.client.is_stateless or walk.client.script == "sdk2.mjs"
    assert walk.seen["unknownResource"]["code"] == (-32602 if typed else -32002)


def test_a_failed_call_is_a_result_with_its_code(walk: Walk) -> None:
    codes = {
        "conflict": "checkpoint_conflict",
        "blank": "invalid_arguments",
        "foreign": "project_not_available",
        "badCursor": "invalid_cursor",
    }
    for step, code in codes.items():
        facts.check_error(walk.seen[step], code)


def test_an_unknown_tool_is_an_error(walk: Walk) -> None:
    assert walk.seen["unknownTool"]["code"] == -32602


@pytest.mark.parametrize("client", CLIENTS, ids=str)
def test_a_wrong_key_is_refused_and_the_client_says_so(
    packages: None, server: LiveServer, agent: Agent, client: Client
) -> None:
    seen = run_client(client, server, agent.key.swapcase().replace("MFK_", "mfk_"))
    assert seen["connectFailure"] is not None
    assert set(seen["statuses"]) == {"POST 401"}


@pytest.mark.parametrize("client", CLIENTS, ids=str)
def test_a_read_only_connection_reads_and_is_refused_to_write(
    packages: None, server: LiveServer, owner: Person, client: Client
) -> None:
    reader = owner.new_agent(access="read_only")
    seen = run_client(client, server, reader.key, readOnly=True)
    assert seen["connectFailure"] is None
    (project,) = facts.check_success(seen["projects"])["projects"]
    assert project["id"] == reader.project_id
    assert seen["writeRefused"] is not None
    assert seen["statuses"].count("POST 403") == 1
    assert facts.check_success(seen["page"])["notes"] == []
