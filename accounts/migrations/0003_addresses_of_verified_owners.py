"""Owners who were verified before sign-in knew addresses get theirs, verified too."""

from typing import Any

from django.db import migrations


def add_addresses(apps: Any, schema_editor: Any) -> None:
    owners = apps.get_model("accounts", "Owner").objects.using(schema_editor.connection.alias)
    addresses = apps.get_model("account", "EmailAddress").objects.using(schema_editor.connection.alias)
    for owner in owners.exclude(email_verified_at=None).iterator():
        addresses.get_or_create(
            user_id=owner.pk, email=owner.email.lower(), defaults={"verified": True, "primary": True}
        )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_invitations_and_what_accounts_log"),
        ("account", "0009_emailaddress_unique_primary_email"),
    ]

    operations = [migrations.RunPython(add_addresses, migrations.RunPython.noop)]
