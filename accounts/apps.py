"""Owners, their sign-in, and the log of what happened to what is theirs."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """The lowest floor of the domain: whose it is."""

    name = "accounts"

    def ready(self) -> None:
        """Connect what the library tells of."""
        from accounts import receivers  # noqa: F401
