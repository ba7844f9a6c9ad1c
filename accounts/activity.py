"""Writing the activity log: called by the services of every floor, inside their transaction."""

from typing import Any
from uuid import UUID

from accounts.models import Activity
from memford.core.activity import Tag
from memford.core.database import APP
from memford.core.principal import Writer


def record_activity(
    *,
    owner_id: UUID,
    tag: Tag,
    actor: Writer,
    project_id: UUID | None = None,
    object_id: UUID | None = None,
    using: str = APP,
    **detail: Any,
) -> None:
    """Add one line to the owner's log (A7); ``detail`` holds small facts, never content or a credential.

    ``using`` is the role whose transaction it belongs to.
    """
    Activity.objects.using(using).create(
        owner_id=owner_id,
        project_id=project_id,
        tag=tag,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name,
        object_id=object_id,
        detail=detail,
    )
