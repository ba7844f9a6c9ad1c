"""What is remembered: projects, notes and standards, with every revision."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The domain's second floor, above accounts."""

    name = "projects"

    def ready(self) -> None:
        """Say what is erased with an account."""
        from memford.core.erasure import on_account_erasure
        from projects.services.erasure import erase_everything_of

        on_account_erasure(erase_everything_of)
