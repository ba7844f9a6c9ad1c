"""The hot statements' common words: how times and writers are printed, and how a statement is run."""

from collections.abc import Mapping
from typing import Any, Final

from django.db import connections

from memford.core.database import APP


def utc(column: str) -> str:
    """Return SQL that prints a time in UTC as RFC 3339 with microseconds, the same wherever it is printed."""
    return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


WRITER: Final = (
    "json_build_object('kind', writer_kind, 'id', writer_id, 'name', writer_name, 'account_id', writer_account_id)"
)


def fetch_row(statement: str, parameters: Mapping[str, Any], using: str = APP) -> tuple[Any, ...] | None:
    """Run one statement and return its first row, or ``None``."""
    with connections[using].cursor() as cursor:
        cursor.execute(statement, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row
