"""What the database still holds of something that was erased, whichever table it may be in."""

import uuid

from django.db import connections


def rows_of(column: str, id_: uuid.UUID) -> dict[str, int]:
    """Count the rows of every table that has such a column."""
    with connections["system"].cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = %s",
            [column],
        )
        found = {}
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT count(*) FROM "{table}" WHERE {column} = %s', [id_])
            (found[table],) = cursor.fetchone()
    return {table: count for table, count in found.items() if count}
