"""Two database roles: what serves requests owns nothing and cannot rewrite history."""

import pytest
from django.db import ProgrammingError, connections, transaction

from mcp_gateway.authorization.models import AccessToken
from projects.services import write_note
from tests.cast import Person

SERVING = "default"


def run(statement: str) -> None:
    """Run one statement as the role that serves, and take it back."""
    with transaction.atomic(using=SERVING), connections[SERVING].cursor() as cursor:
        cursor.execute(statement)
        transaction.set_rollback(True, using=SERVING)


def test_the_serving_role_is_not_the_owner_of_the_tables() -> None:
    with connections[SERVING].cursor() as cursor:
        cursor.execute("SELECT current_user")
        (role,) = cursor.fetchone()
        cursor.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tableowner = %s", [role])
        (owned,) = cursor.fetchone()
        cursor.execute(
            "SELECT rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = %s", [role]
        )
        (mighty,) = cursor.fetchone()
    assert role == "memford_app"
    assert owned == 0
    assert mighty is False


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE projects_noterevision SET content = 'rewritten'",
        "DELETE FROM projects_noterevision",
        "UPDATE projects_standardrevision SET content = 'rewritten'",
        "DELETE FROM accounts_activity",
        "UPDATE accounts_activity SET tag = 'x'",
        "TRUNCATE projects_note",
        "DROP TABLE projects_note",
        "CREATE TABLE planted (id int)",
        "DELETE FROM django_migrations",
        "INSERT INTO account_emailconfirmation (created, key, email_address_id) VALUES (now(), 'x', 1)",
    ],
)
def test_it_cannot_rewrite_history_nor_change_the_tables(statement: str) -> None:
    with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
        run(statement)


def test_every_tenants_row_names_its_owner() -> None:
    with connections["system"].cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'owner_id'"
        )
        tables = {row[0] for row in cursor.fetchall()}
    assert tables >= {
        "accounts_activity",
        "accounts_signinlink",
        "authorization_accesstoken",
        "authorization_grant",
        "authorization_refreshtoken",
        "connections_connection",
        "projects_note",
        "projects_noterevision",
        "projects_project",
        "projects_standard",
        "projects_standardassignment",
        "projects_standardrevision",
    }


def test_oauths_models_are_ours_and_siblings_may_share_a_source() -> None:
    from oauth2_provider.models import get_access_token_model

    assert get_access_token_model() is AccessToken
    assert not AccessToken._meta.get_field("source_refresh_token").unique


def test_both_roles_see_one_database(owner: Person) -> None:
    receipt = write_note(owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content="seen by both")
    with connections["system"].cursor() as cursor:
        cursor.execute("SELECT content FROM projects_note WHERE id = %s", [receipt.id])
        assert cursor.fetchone() == ("seen by both",)
