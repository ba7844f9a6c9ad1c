"""Settings come from the environment, and wrong ones stop the start (P4)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from memford.core.limits import Limits, limits
from memford.env import Env

ROOT = Path(__file__).resolve().parent.parent.parent
GOOD = {
    "DATABASE_URL": "postgresql://a:b@127.0.0.1:1/c",
    "REDIS_URL": "redis://127.0.0.1:1",
    "secret_key": "k" * 32,
}


@pytest.mark.parametrize(
    ("url", "host", "is_loopback"),
    [
        ("http://localhost:8000", "localhost", True),
        ("http://127.0.0.1", "127.0.0.1", True),
        ("http://[::1]:8000", "[::1]", True),
        ("https://memford.example.com", "memford.example.com", False),
        ("https://memford.example.com:8443/", "memford.example.com", False),
    ],
)
def test_the_public_url_is_an_origin(url: str, host: str, is_loopback: bool) -> None:
    settings = Env(**GOOD, public_url=url)  # type: ignore[arg-type]
    assert settings.public_host == host
    assert settings.is_loopback is is_loopback
    assert not settings.public_url.endswith("/")
    assert ("127.0.0.1" in settings.hosts) is is_loopback


@pytest.mark.parametrize(
    "url", ["memford.example.com", "ftp://x", "https://x/path", "https://x?y", "https://u@x", "https://", "http://"]
)
def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        Env(**GOOD, public_url=url)  # type: ignore[arg-type]


def test_lists_are_read_from_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMFORD_ALLOWED_ORIGINS", "https://a.example, https://b.example,")
    assert Env(**GOOD).allowed_origins == ["https://a.example", "https://b.example"]  # type: ignore[arg-type]


def test_every_limit_of_part_1_has_the_contracts_value() -> None:
    values = limits()
    assert values.content_max_chars == 32_000
    assert values.source_max_chars == 120
    assert values.request_body_max_bytes == 65_536
    assert values.request_drain_max_bytes == 1_048_576
    assert values.batch_max_messages == 20
    assert values.page_max_notes == 100
    assert values.page_max_content_bytes == 524_288
    assert (values.project_name_max_chars, values.project_description_max_chars) == (120, 2_000)
    assert (values.standard_title_max_chars, values.standard_content_max_chars) == (120, 16_000)
    assert (values.assigned_standards_max, values.assigned_standards_max_chars) == (50, 128_000)
    assert (values.projects_per_owner_max, values.live_keys_per_project_max) == (100, 25)
    assert values.stored_text_per_owner_max_bytes == 2**30
    assert (values.authorization_code_life_seconds, values.access_token_life_seconds) == (60, 3_600)
    assert values.refresh_token_idle_life_seconds == 30 * 86_400
    assert values.oauth_connection_life_seconds == 180 * 86_400
    assert (values.mcp_session_idle_life_seconds, values.mcp_sessions_per_connection_max) == (3_600, 1_000)
    assert values.stream_comment_interval_seconds == 15
    assert 50 <= values.stream_life_seconds <= 55
    assert values.change_check_interval_seconds == 1
    assert (values.calls_per_connection_per_minute, values.calls_per_connection_burst) == (1_200, 300)
    assert values.failed_authentication_per_ip_per_minute == 300
    assert (values.registrations_per_ip_per_hour, values.token_requests_per_client_per_minute) == (600, 60)


def test_a_limit_is_set_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMFORD_CONTENT_MAX_CHARS", "100")
    assert Limits().content_max_chars == 100


def manage(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run one of Django's commands with this environment alone."""
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


SAFE = {
    "DATABASE_URL": "postgresql://memford_app:x@127.0.0.1:1/m",
    "MEMFORD_SYSTEM_DATABASE_URL": "postgresql://memford_system:x@127.0.0.1:1/m",
    "REDIS_URL": "redis://127.0.0.1:1",
    "MEMFORD_SECRET_KEY": "aB3" * 20 + "xyz_-1",
    "MEMFORD_PUBLIC_URL": "https://memford.example.com",
    "MEMFORD_MAIL_URL": "smtp://mail.example.com",
}


def test_a_missing_setting_is_named_and_no_secret_is_printed() -> None:
    answer = manage("check", MEMFORD_SECRET_KEY="too short", DATABASE_URL=SAFE["DATABASE_URL"])
    assert answer.returncode != 0
    assert "REDIS_URL" in answer.stderr
    assert "MEMFORD_SECRET_KEY" in answer.stderr
    assert "too short" not in answer.stderr


@pytest.mark.parametrize(
    ("unsafe", "code"),
    [
        ({}, ""),
        ({"MEMFORD_RATE_LIMITS": "off"}, "memford.E001"),
        ({"MEMFORD_PUBLIC_URL": "http://memford.example.com"}, "memford.E002"),
        ({"MEMFORD_MAIL_URL": "console://"}, "memford.E003"),
        ({"MEMFORD_SYSTEM_DATABASE_URL": SAFE["DATABASE_URL"]}, "memford.W001"),
        ({"MEMFORD_DEBUG": "true"}, "security.W018"),
    ],
)
def test_unsafe_settings_are_refused_for_deployment(unsafe: dict[str, str], code: str) -> None:
    answer = manage("check", "--deploy", "--fail-level", "WARNING", **{**SAFE, **unsafe})
    assert (answer.returncode == 0) is (not code), answer.stderr
    assert code in answer.stderr
