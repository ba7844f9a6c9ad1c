"""The user reference: for everybody, and no other than what Memford does (W2, O1)."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from memford.core.limits import limits
from tests.accounts.browser import new_browser
from tests.cast import Person

ROOT = Path(__file__).resolve().parents[2]


def reference() -> str:
    """Return the page as a stranger sees it."""
    answer = new_browser().get("/docs")
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_strangers_read_it_and_owners_have_their_projects_beside(owner: Person) -> None:
    assert "Sign out" not in reference()
    browser = new_browser()
    browser.force_login(owner.owner, backend=settings.AUTHENTICATION_BACKENDS[0])
    page = browser.get("/docs").content.decode()
    assert f"/projects/{owner.project.pk}" in page
    assert '<a href="/docs" aria-current="page">' in page


def test_its_contents_lead_to_its_parts() -> None:
    page = reference()
    targets = re.findall(r'<li><a href="#([a-z-]+)">', page)
    assert len(targets) >= 10
    assert targets == re.findall(r'<h2 id="([a-z-]+)">', page)


def test_it_links_the_owners_api_and_names_the_address() -> None:
    page = reference()
    assert 'href="/api/docs"' in page
    assert f"<code>{settings.PUBLIC_URL}/mcp</code>" in page


@pytest.mark.parametrize("kind", ["tools", "codes"])
def test_it_names_what_the_agents_reference_names(kind: str) -> None:
    told = (ROOT / "docs" / "agents.md").read_text()
    page = reference()
    tools = set(re.findall(r"^\| `(memory_\w+)`", told, re.MULTILINE))
    codes = set(re.findall(r"^\| `([a-z_]+)` \|", told, re.MULTILINE)) - tools
    names = tools if kind == "tools" else codes
    assert len(names) >= 3
    assert [name for name in names if f"<code>{name}</code>" not in page] == []


def test_its_numbers_are_those_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    page = reference()
    assert f"{limits().content_max_chars:,} characters" in page
    assert "for 180 days, then asks you again" in page
    changed = limits().model_copy(update={"content_max_chars": 777, "oauth_connection_life_seconds": 10 * 86_400})
    monkeypatch.setattr("mcp_gateway.authorization.pages.limits", lambda: changed)
    page = reference()
    assert "777 characters" in page
    assert "for 10 days, then asks you again" in page
