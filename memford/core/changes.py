"""Word of a change, for those of this process who want it sooner than the database would tell them.

Nothing depends on it: who misses it finds the change at the next look (R5).
"""

from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.db import transaction

_listeners: list[Callable[[UUID], None]] = []


def on_change(listener: Callable[[UUID], None]) -> None:
    """Call ``listener`` with a project's id after each change, in the thread that made it; it must return at once."""
    _listeners.append(listener)


def announce_change(project_id: UUID) -> None:
    """Tell the listeners that a project changed, once the transaction has ended well."""
    if _listeners:
        transaction.on_commit(partial(_tell, project_id))


def _tell(project_id: UUID) -> None:
    for listener in _listeners:
        listener(project_id)
