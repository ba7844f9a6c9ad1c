"""What the role that serves owners and agents may do: its rights, renewed after each migration.

``memford_app`` owns no table. It may read and write tenants' rows, but history and the activity log it may
only add to: they are append-only for everything that answers requests. Erasing is ``memford_system``'s.
"""

from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.db import connections

from memford.core.database import APP, SYSTEM

APPEND_ONLY: Final = frozenset({"projects_noterevision", "projects_standardrevision", "accounts_activity"})
# Unused, since a mail holds a code; deleting an address looks into it all the same.
NOTHING_ADDED: Final = frozenset({"account_emailconfirmation"})
READ_ONLY: Final = frozenset({"django_migrations", "django_content_type", "auth_permission"})


def grant_application_role(using: str, **kwargs: Any) -> None:
    """Give ``memford_app`` its rights on every table of an installed app, and take all others away."""
    role = settings.DATABASES[APP]["USER"]
    if using != SYSTEM or role == settings.DATABASES[SYSTEM]["USER"]:
        return
    connection = connections[using]
    names = set(connection.introspection.table_names())
    known = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    quoted = connection.ops.quote_name(role)
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {quoted}")
        cursor.execute(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {quoted}")
        for name in sorted(names & (known | READ_ONLY)):
            table = connection.ops.quote_name(name)
            cursor.execute(f"REVOKE ALL ON {table} FROM {quoted}")
            cursor.execute(f"GRANT {_rights(name)} ON {table} TO {quoted}")


def _rights(table: str) -> str:
    if table in READ_ONLY:
        return "SELECT"
    if table in APPEND_ONLY:
        return "SELECT, INSERT"
    if table in NOTHING_ADDED:
        return "SELECT, DELETE"
    return "SELECT, INSERT, UPDATE, DELETE"
