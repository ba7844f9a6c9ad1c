"""Separate processes that edit through the services, all let go at the same moment."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

GATHERING_LIMIT_SECONDS = 30

_barrier: Any = None


@dataclass(frozen=True)
class Edit:
    """One change that one process tries."""

    owner_id: UUID
    project_id: UUID
    note_id: UUID
    expected_revision: int
    content: str


@dataclass(frozen=True)
class Outcome:
    """What became of it: the revision made, or the conflict's current one."""

    pid: int
    content: str
    revision: int | None
    current_revision: int | None


@contextmanager
def editors(count: int) -> Iterator[ProcessPoolExecutor]:
    """Start ``count`` processes with their own database connections; each must be given an edit each time."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(count)
    with ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(barrier,)) as pool:
        yield pool


def _begin(barrier: Any) -> None:
    global _barrier
    _barrier = barrier
    import django

    django.setup()


def edit(change: Edit) -> Outcome:
    """Wait for the other processes, then try the change."""
    from memford.core.errors import RevisionConflict
    from memford.core.principal import Writer
    from projects.services import revise_note

    _barrier.wait(GATHERING_LIMIT_SECONDS)
    try:
        note = revise_note(
            owner_id=change.owner_id,
            project_id=change.project_id,
            note_id=change.note_id,
            expected_revision=change.expected_revision,
            actor=Writer.owner(change.owner_id, "an owner"),
            content=change.content,
        )
    except RevisionConflict as conflict:
        current = conflict.data["current_revision"]
        assert isinstance(current, int)
        return Outcome(os.getpid(), change.content, None, current)
    return Outcome(os.getpid(), change.content, note.revision, None)
