"""Both official TypeScript SDKs sign in by OAuth, refresh without asking, and ask again when they must (O1-O8)."""

import json
import subprocess
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mcp_gateway.authorization.models import AccessToken
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import revoke_connection
from tests.cast import Person
from tests.flows.test_typescript_sdk import FOLDER, RUN_LIMIT_SECONDS, packages
from tests.live import LiveServer
from tests.oauth import Browser, query_of

__all__ = ["packages"]


def answer(line: dict[str, Any], server: LiveServer, owner: Person) -> dict[str, Any]:
    """Do what the host asks for: approve in the browser, let an hour pass, or disconnect it."""
    live = Connection.objects.filter(owner_id=owner.id, revoked_at=None)
    if "ask" in line:
        assert query_of(line["ask"])["code_challenge_method"] == "S256"
        path = line["ask"].removeprefix(server.url)
        returned = Browser(server.url, owner.owner).decide(
            path, project=str(owner.project.pk), access="read_write", decision="approve"
        )
        return {"location": returned.headers["location"]}
    if "expire" in line:
        tokens = AccessToken.objects.filter(connection__in=live)
        assert tokens.update(expires=timezone.now() - timedelta(seconds=1))
    else:
        revoke_connection(owner_id=owner.id, connection_id=live.get().pk, actor=owner.hand)
    return {}


@pytest.mark.parametrize("sdk", ["sdk1", "sdk2"])
def test_it_asks_once_refreshes_by_itself_and_asks_again_after_a_disconnection(
    packages: None, server: LiveServer, owner: Person, sdk: str
) -> None:
    command = ["node", str(FOLDER / "oauth.mjs"), sdk, server.mcp_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as host:
        assert host.stdin is not None
        assert host.stdout is not None
        seen: dict[str, Any] = {}
        for text in host.stdout:
            line = json.loads(text)
            if "seen" in line:
                seen = line["seen"]
                break
            host.stdin.write(json.dumps(answer(line, server, owner)) + "\n")
            host.stdin.flush()
        host.wait(RUN_LIMIT_SECONDS)
    project = str(owner.project.pk)
    # A request and a stream of one client may meet the end of the hour at once, and then both refresh.
    assert seen.pop("differentRefreshTokens") in {4, 5, 6}
    assert seen == {
        "first": project,
        "refreshed": project,
        "refreshedAfterReconnecting": project,
        "askedSoFar": 1,
        "afterDisconnection": project,
        "asked": 2,
    }
