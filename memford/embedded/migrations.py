"""Bringing the database to this version's schema, by one instance at a time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.core.management import call_command
from django.db import connections
from django.db.backends.utils import CursorWrapper
from django.db.migrations.executor import MigrationExecutor

ALIAS = "system"
_ADVISORY_LOCK = 0x6D656D66
_WAIT_SECONDS: Final = 0.1


def migrate_once() -> bool:
    """Apply what is missing, one instance at a time, and return whether anything was.

    Raises:
        django.db.Error: The database cannot be reached or a migration failed.
    """
    if not _is_behind():
        return False
    with _alone():
        # Another instance may have done it while this one waited.
        if not _is_behind():
            return False
        call_command("migrate", database=ALIAS, interactive=False, verbosity=0)
    return True


def _is_behind() -> bool:
    """Return whether any migration is missing in the database."""
    executor = MigrationExecutor(connections[ALIAS])
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _has_lock(cursor: CursorWrapper) -> bool:
    cursor.execute("SELECT pg_try_advisory_lock(%s)", [_ADVISORY_LOCK])
    row = cursor.fetchone()
    return row is not None and bool(row[0])


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the migration lock of the database, without the time limits that suit requests."""
    with connections[ALIAS].cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET lock_timeout = 0")
        # Asked for again and again: one who waits inside a statement is waited for by an index that is built beside
        # running transactions, and neither would ever end.
        while not _has_lock(cursor):
            time.sleep(_WAIT_SECONDS)
    try:
        yield
    finally:
        # The session ends with the lock and with the settings made above.
        connections[ALIAS].close()
