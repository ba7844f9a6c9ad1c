"""The two database roles, and how a worker thread meets a database connection.

``default`` is ``memford_app``, which serves owners and agents. ``system`` is ``memford_system``, which
migrates, looks credentials up and runs jobs. Both name the same database.
"""

import select
from typing import Any, Final

from django.db import connections

APP: Final = "default"
SYSTEM: Final = "system"

RETRY_AFTER_SECONDS: Final = 2
"""When a program may ask again after the database could not answer (G7)."""


class MigrationsAsSystem:
    """Database router: tables are made and owned by ``memford_system`` alone."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        """Refuse to migrate through the role that serves requests."""
        return db == SYSTEM

    def allow_relation(self, obj1: Any, obj2: Any, **hints: Any) -> bool | None:
        """Both aliases are one database, so any two rows may be related."""
        return True


def drop_dead_connections() -> None:
    """Close this thread's database connections that the server has ended, so that the next use opens new ones.

    An idle connection has nothing to say: if its socket is readable, the server has closed it or is about to.
    Asking the kernel costs no round trip, and it happens before a statement is sent, so nothing is ever
    sent twice.
    """
    for wrapper in connections.all(initialized_only=True):
        raw = wrapper.connection
        if raw is None:
            continue
        if raw.closed or raw.broken or _is_readable(raw.fileno()):
            wrapper.close()


def _is_readable(file_descriptor: int) -> bool:
    poller = select.poll()
    poller.register(file_descriptor, select.POLLIN | select.POLLHUP | select.POLLERR)
    return bool(poller.poll(0))
