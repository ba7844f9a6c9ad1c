"""``manage.py restore_project <id>``: bring a deleted project back, while it is not erased (A8)."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memford.core.errors import NotFound
from memford.core.principal import Writer
from projects.models import Project
from projects.services import restore_project


class Command(BaseCommand):
    """Restores one project with its notes, connections and keys as they were."""

    help = "Bring a deleted project back, with its connections, while it is not erased."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the project's id."""
        parser.add_argument("project_id", type=UUID)

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore, or say why not.

        Raises:
            CommandError: There is no deleted project of this id, or its erasure has begun, or its account is closed.
        """
        project = Project.objects.filter(pk=options["project_id"]).first()
        try:
            if project is None:
                raise NotFound
            restore_project(owner_id=project.owner_id, project_id=project.pk, actor=Writer.operator("restore_project"))
        except NotFound:
            raise CommandError(
                "There is no deleted project with this id that can be restored: it is live, its erasure has begun, "
                "or its account is closed (then restore_account comes first)."
            ) from None
        self.stdout.write(f"Restored {project.name!r}.")
