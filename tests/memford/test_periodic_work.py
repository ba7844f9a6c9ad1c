"""What beat is told to run is there to be run (P3)."""

from typing import Any

from django.conf import settings

from memford.celery import app


def test_each_periodic_task_is_registered_and_ends_before_its_next_run() -> None:
    app.loader.import_default_modules()
    schedule: dict[str, dict[str, Any]] = settings.CELERY_BEAT_SCHEDULE
    assert schedule
    for entry in schedule.values():
        assert entry["task"] in app.tasks
        assert entry["options"]["expires"] <= entry["schedule"]
