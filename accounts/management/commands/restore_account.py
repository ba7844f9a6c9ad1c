"""``manage.py restore_account <e-mail>``: open a closed account again, while it is not erased."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.closing import restore_account
from accounts.models import Owner
from memford.core.errors import NotFound
from memford.core.principal import Writer


class Command(BaseCommand):
    """Restores one account with all that is its own."""

    help = "Open a closed account again, with its projects and connections, while it is not erased."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the account's address."""
        parser.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore, or say why not.

        Raises:
            CommandError: There is no closed account of this address, or its erasure has begun.
        """
        owner = Owner.objects.filter(email__iexact=options["email"]).first()
        try:
            if owner is None:
                raise NotFound
            restore_account(owner_id=owner.pk, actor=Writer.operator("restore_account"))
        except NotFound:
            raise CommandError(
                "There is no closed account with this address that can be restored: it is open, "
                "or its erasure has begun."
            ) from None
        self.stdout.write(f"Restored the account of {owner.email}.")
