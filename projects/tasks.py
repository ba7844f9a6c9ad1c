"""Periodic work on projects (A8, P3)."""

import structlog
from celery import shared_task

from projects.services import erase_deleted_projects

log = structlog.get_logger(__name__)


@shared_task(name="projects.erase_deleted_projects")
def erase_deleted_projects_task() -> None:
    """Erase projects that were deleted long enough ago."""
    log.info("projects_erased", count=erase_deleted_projects())
