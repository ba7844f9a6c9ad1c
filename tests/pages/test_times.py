"""Times are printed in the zone that the browser told, and in UTC where it told none (W2)."""

import re
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from projects.models import Note
from projects.services import write_note
from tests.cast import Person
from tests.pages.visiting import text_of, visitor

NIGHT = datetime(2026, 3, 4, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("told", "printed", "day"),
    [
        ("Europe/Berlin", "2026-03-05 00:30:00 CET", "Thursday, 5 March"),
        ("America/New_York", "2026-03-04 18:30:00 EST", "Wednesday, 4 March"),
        ("", "2026-03-04 23:30:00 UTC", "Wednesday, 4 March"),
        ("../../etc/passwd", "2026-03-04 23:30:00 UTC", "Wednesday, 4 March"),
        ("Nowhere/Land", "2026-03-04 23:30:00 UTC", "Wednesday, 4 March"),
    ],
)
def test_the_browsers_zone_is_used(owner: Person, told: str, printed: str, day: str) -> None:
    receipt = write_note(
        owner_id=owner.id, project_id=owner.project.pk, writer=owner.hand, content="by night", source=None
    )
    Note.objects.filter(pk=receipt.id).update(received_at=NIGHT)
    browser = visitor(owner)
    if told:
        browser.cookies["timezone"] = told
    page = text_of(browser.get(f"/projects/{owner.project.pk}"))
    assert f'title="{printed}"' in page
    assert re.search(rf"<h2[^>]*>{day}( \d+)?</h2>", page)
    assert timezone.get_current_timezone_name() == "UTC", "it holds for that request alone"
