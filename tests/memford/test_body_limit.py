"""Nobody fills the disk by sending: what is too long is refused while it arrives (part 1)."""

from collections.abc import Iterator

import httpx2
import pytest

from memford.body_limit import BODY_MAX_BYTES
from tests.live import LiveServer, live_server
from tests.oauth import send

PIECE = b"x" * 65_536


def pieces(total: int) -> Iterator[bytes]:
    """Send a body in chunks, without announcing its length."""
    sent = 0
    while sent < total:
        yield PIECE
        sent += len(PIECE)


def refused(url: str, total: int, **headers: str) -> bool:
    """Say whether a chunked body is refused; a server that has answered may hang up on the rest."""
    try:
        answer = send("POST", url, content=pieces(total), headers={"Content-Type": "application/json", **headers})
    except (httpx2.WriteError, httpx2.RemoteProtocolError):
        return True
    return answer.status_code == 413


@pytest.mark.parametrize("path", ["/accounts/login/", "/api/projects", "/token", "/register", "/nothing"])
def test_a_body_in_chunks_is_counted(server: LiveServer, path: str) -> None:
    assert refused(f"{server.url}{path}", BODY_MAX_BYTES + len(PIECE))
    assert not refused(f"{server.url}{path}", len(PIECE))


def test_an_announced_length_is_refused_before_it_is_sent(server: LiveServer) -> None:
    answer = send("POST", f"{server.url}/api/projects", content=b"x" * (BODY_MAX_BYTES + 1))
    assert answer.status_code == 413
    assert answer.json()["code"] == "request_too_large"
    assert answer.json()["error"] == "request_too_large"


def test_an_archive_may_be_longer_and_has_its_own_limit() -> None:
    with live_server(MEMFORD_ARCHIVE_MAX_BYTES=str(4_194_304)) as server:
        url = f"{server.url}/api/projects/import"
        assert not refused(url, BODY_MAX_BYTES + len(PIECE), Cookie="sessionid=x")
        assert refused(url, 4_194_304 + len(PIECE), Cookie="sessionid=x")
        assert refused(url, BODY_MAX_BYTES + len(PIECE)), "nobody is signed in"
