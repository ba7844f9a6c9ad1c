"""The project itself as a Django app: static files, system checks and the grants of the two roles."""

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class MemfordConfig(AppConfig):
    """Registers what belongs to no single floor."""

    name = "memford"
    verbose_name = "Memford"

    def ready(self) -> None:
        """Connect the checks, and give ``memford_app`` its rights after each migration."""
        from memford import checks  # noqa: F401
        from memford.grants import grant_application_role

        # Django sends this signal for apps with models only, after all tables are there; one of them is enough.
        accounts = apps.get_app_config("accounts")
        post_migrate.connect(grant_application_role, sender=accounts, dispatch_uid="memford.grants")
