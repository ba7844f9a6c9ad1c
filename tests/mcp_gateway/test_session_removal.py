"""Sessions that no call can find any more are removed, and no other (P3)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from django.db import connections, transaction
from django.utils import timezone

from mcp_gateway.transport.models import McpSession
from mcp_gateway.transport.session_services import REMOVAL_GRACE_SECONDS, begin_session, remove_dead_sessions
from memford.core.limits import limits
from tests.cast import Agent

GRACE = timedelta(seconds=REMOVAL_GRACE_SECONDS)
IDLE = timedelta(seconds=limits().mcp_session_idle_life_seconds)
MARGIN = timedelta(seconds=10)


def session_of(agent: Agent, **moved: timedelta) -> str:
    """Begin a session and move its times back."""
    session = begin_session(agent.principal, revision="2025-11-25", client_info=None)
    now = timezone.now()
    McpSession.objects.filter(pk=session).update(**{name: now - by for name, by in moved.items()})
    return session


def left(*sessions: str) -> set[str]:
    """Say which of these are still stored."""
    return set(McpSession.objects.filter(pk__in=sessions).values_list("pk", flat=True))


def test_only_what_ended_or_was_idle_for_long_is_removed(agent: Agent) -> None:
    fresh = session_of(agent)
    idle = session_of(agent, last_seen_at=IDLE - MARGIN)
    just_ended = session_of(agent, ended_at=GRACE - MARGIN)
    ended = session_of(agent, ended_at=GRACE + MARGIN)
    forgotten = session_of(agent, last_seen_at=IDLE + GRACE + MARGIN)
    assert remove_dead_sessions() >= 2
    assert left(fresh, idle, just_ended, ended, forgotten) == {fresh, idle, just_ended}


def test_more_than_one_lot_is_removed_lot_by_lot(agent: Agent) -> None:
    dead = [session_of(agent, ended_at=GRACE + MARGIN) for _ in range(7)]
    assert remove_dead_sessions(at_once=3) >= 7
    assert left(*dead) == set()
    assert remove_dead_sessions(at_once=3) == 0


def test_two_runs_at_once_and_a_row_in_use_disturb_nobody(agent: Agent) -> None:
    dead = [session_of(agent, ended_at=GRACE + MARGIN) for _ in range(20)]

    def run(_: int) -> int:
        try:
            return remove_dead_sessions(at_once=2)
        finally:
            connections.close_all()

    with transaction.atomic():
        McpSession.objects.select_for_update().get(pk=dead[0])
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(run, range(4)))
        assert left(*dead) == {dead[0]}
    remove_dead_sessions()
    assert left(*dead) == set()
