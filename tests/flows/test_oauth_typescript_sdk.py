"""Both official TypeScript SDKs sign in by OAuth, refresh without asking, and ask again when they must (O1-O8)."""

import json
import subprocess
import threading
from datetime import timedelta
from typing import Any, Final

import pytest
from django.utils import timezone

from mcp_gateway.authorization.models import AccessToken
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import revoke_connection
from tests.cast import Person
from tests.flows.approving import Approver, new_person_with_password
from tests.flows.facts import EXACT_TEXT
from tests.flows.test_typescript_sdk import FOLDER, RUN_LIMIT_SECONDS, packages, pytestmark
from tests.live import LiveServer
from tests.loopback import Listener, listening
from tests.oauth import query_of

__all__ = ["packages", "pytestmark"]

HOSTS: Final = (("sdk1", "newest"), ("sdk2", "newest"), ("sdk2", "probed"), ("sdk2", "pinned"))
"""The SDKs, and how each is told to connect."""


def answer(line: dict[str, Any], person: Person, listener: Listener) -> dict[str, Any]:
    """Do what the host asks for: open the browser, let an hour pass, or disconnect it."""
    live = Connection.objects.filter(owner_id=person.id, revoked_at=None)
    if "ask" in line:
        assert query_of(line["ask"])["code_challenge_method"] == "S256"
        shown = Approver(person.owner.email).open(line["ask"])
        assert shown.status_code == 200
        return {"returned": listener.arrived()}
    if "expire" in line:
        tokens = AccessToken.objects.filter(connection__in=live)
        assert tokens.update(expires=timezone.now() - timedelta(seconds=1))
    else:
        revoke_connection(owner_id=person.id, connection_id=live.get().pk, actor=person.hand)
    return {}


def converse(command: list[str], person: Person, listener: Listener) -> dict[str, Any]:
    """Run the host and answer it until it says what it has seen; nothing where it broke off."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as host:
        stop = threading.Timer(RUN_LIMIT_SECONDS, host.kill)
        stop.start()
        try:
            assert host.stdin is not None
            assert host.stdout is not None
            for text in host.stdout:
                line = json.loads(text)
                if "seen" in line:
                    seen: dict[str, Any] = line["seen"]
                    return seen
                host.stdin.write(json.dumps(answer(line, person, listener)) + "\n")
                host.stdin.flush()
        finally:
            stop.cancel()
    return {}


@pytest.mark.parametrize(("sdk", "era"), HOSTS)
def test_it_asks_once_refreshes_by_itself_and_asks_again_after_a_disconnection(
    packages: None, server: LiveServer, sdk: str, era: str
) -> None:
    person = new_person_with_password()
    with listening() as listener:
        command = ["node", str(FOLDER / "oauth.mjs"), sdk, server.mcp_url, listener.url, era, EXACT_TEXT]
        seen = converse(command, person, listener)
    project = str(person.project.pk)
    # A request and a stream of one client may meet the end of the hour at once, and then both refresh.
    assert seen.pop("differentRefreshTokens") in {4, 5, 6}
    assert seen == {
        "first": project,
        "written": EXACT_TEXT,
        "read": [EXACT_TEXT],
        "refreshed": project,
        "refreshedAfterReconnecting": project,
        "together": [[project, project]] * 3,
        "twinsRefreshed": True,
        "askedSoFar": 1,
        "afterDisconnection": project,
        "asked": 2,
    }
    old, new = Connection.objects.filter(owner_id=person.id).order_by("created_at")
    assert (old.revoked_at is not None, new.revoked_at is None) == (True, True)
