"""Limits and lifetimes of part 1 of the contract, each named with its unit.

Every value can be set in the environment as ``MEMFORD_`` and the name in capitals; ``memford.env`` reads
them once. Code that enforces a limit imports :func:`limits` and never writes the number itself.
"""

from functools import cache

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
DAY_SECONDS = 86_400


class Limits(BaseSettings):
    """The numbers of part 1, with the contract's values as defaults."""

    model_config = SettingsConfigDict(env_prefix="MEMFORD_", frozen=True, extra="ignore")

    # What is stored
    content_max_chars: int = Field(32_000, ge=1, le=1_000_000)
    source_max_chars: int = Field(120, ge=1, le=120)
    project_name_max_chars: int = Field(120, ge=1, le=120)
    project_description_max_chars: int = Field(2_000, ge=0, le=2_000)
    standard_title_max_chars: int = Field(120, ge=1, le=120)
    standard_content_max_chars: int = Field(16_000, ge=1, le=1_000_000)
    assigned_standards_max: int = Field(50, ge=1)
    assigned_standards_max_chars: int = Field(128_000, ge=1)
    projects_per_owner_max: int = Field(100, ge=1)
    live_keys_per_project_max: int = Field(25, ge=1)
    stored_text_per_owner_max_bytes: int = Field(GIB, ge=1)

    # What passes the agent endpoint
    request_body_max_bytes: int = Field(65_536, ge=1_024)
    request_drain_max_bytes: int = Field(MIB, ge=0)
    batch_max_messages: int = Field(20, ge=1)
    page_max_notes: int = Field(100, ge=1, le=100)
    page_max_content_bytes: int = Field(512 * KIB, ge=1)

    # What an archive may hold that is imported
    archive_max_bytes: int = Field(256 * MIB, ge=1_024)
    # One note or standard with all its revisions, as JSON: what an import holds in memory at once.
    archive_element_max_chars: int = Field(32 * MIB, ge=1_024)

    # How long things live
    authorization_code_life_seconds: int = Field(60, ge=1)
    access_token_life_seconds: int = Field(3_600, ge=1)
    refresh_token_idle_life_seconds: int = Field(30 * DAY_SECONDS, ge=1)
    refresh_token_grace_seconds: int = Field(30, ge=0)
    refresh_token_siblings_max: int = Field(32, ge=1)
    oauth_connection_life_seconds: int = Field(180 * DAY_SECONDS, ge=1)
    unconnected_client_life_seconds: int = Field(90 * DAY_SECONDS, ge=1)
    disconnected_client_life_seconds: int = Field(400 * DAY_SECONDS, ge=1)
    mcp_session_idle_life_seconds: int = Field(3_600, ge=1)
    mcp_sessions_per_connection_max: int = Field(1_000, ge=1)
    stream_comment_interval_seconds: float = Field(15, gt=0)
    stream_life_seconds: float = Field(55, gt=0)
    change_check_interval_seconds: float = Field(1, gt=0)
    deleted_project_retention_seconds: int = Field(30 * DAY_SECONDS, ge=0)
    sign_in_link_life_seconds: int = Field(DAY_SECONDS, ge=60)
    invitation_life_seconds: int = Field(7 * DAY_SECONDS, ge=60)

    # How often one may ask (enforced where ``rate_limits`` is on)
    calls_per_connection_per_minute: int = Field(1_200, ge=1)
    calls_per_connection_burst: int = Field(300, ge=1)
    failed_authentication_per_ip_per_minute: int = Field(300, ge=1)
    registrations_per_ip_per_hour: int = Field(600, ge=1)
    token_requests_per_client_per_minute: int = Field(60, ge=1)


@cache
def limits() -> Limits:
    """Return the limits in force, read from the environment once per process."""
    return Limits()
