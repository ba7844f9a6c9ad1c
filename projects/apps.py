"""What is remembered: projects, notes and standards, with every revision."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The domain's second floor, above accounts."""

    name = "projects"
