"""Alive, ready, and nothing under /.well-known/ that is a page (P2, O1)."""

from tests.live import LiveServer, live_server
from tests.wire import Wire


def test_alive_and_ready(server: LiveServer) -> None:
    with Wire(server.url, None) as wire:
        assert wire.client.get("/healthz").json() == {"status": "ok"}
        answer = wire.client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ready", "database": "ok", "cache": "ok"}


def test_a_missing_cache_is_degraded_and_a_missing_database_is_down() -> None:
    with live_server(REDIS_URL="redis://127.0.0.1:1") as other, Wire(other.url, None) as wire:
        answer = wire.client.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    nowhere = "postgresql://memford_app:x@127.0.0.1:1/m"
    with (
        live_server(DATABASE_URL=nowhere, MEMFORD_SYSTEM_DATABASE_URL=nowhere) as other,
        Wire(other.url, "mfk_" + "a" * 43) as wire,
    ):
        assert wire.client.get("/healthz").status_code == 200
        assert wire.client.get("/readyz").status_code == 503
        answer = wire.request("ping")
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert answer.json()["error"] == "temporarily_unavailable"
