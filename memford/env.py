"""Typed environment, read once per process.

Every setting of Memford arrives here and nowhere else; ``memford.settings`` turns them into Django's names.
The numbers of part 1 live in :mod:`memford.core.limits`.
"""

from functools import cache
from typing import Annotated, Literal
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from memford.core.mail import mailer_of

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
DEFAULT_ALLOWED_ORIGINS = (
    "https://claude.ai",
    "https://claude.com",
    "https://chatgpt.com",
    "https://vscode.dev",
)


class Env(BaseSettings):
    """What an operator can set. ``MEMFORD_`` stands before each name but the two store URLs."""

    model_config = SettingsConfigDict(
        env_prefix="MEMFORD_", extra="ignore", populate_by_name=True, hide_input_in_errors=True
    )

    database_url: SecretStr = Field(alias="DATABASE_URL")
    """PostgreSQL as the role that serves owners and agents, ``postgresql://memford_app:…@host:port/name``."""
    system_database_url: SecretStr | None = None
    """The same database as the role for migrations, authentication and jobs; ``DATABASE_URL`` where absent."""
    redis_url: SecretStr = Field(alias="REDIS_URL")

    secret_key: SecretStr = Field(min_length=32)
    secret_key_fallbacks: Annotated[list[SecretStr], NoDecode] = []
    """Former secret keys, newest first, comma separated: what they signed stays good (T5)."""

    public_url: str = "http://localhost:8000"
    allowed_hosts: Annotated[list[str], NoDecode] = []
    allowed_origins: Annotated[list[str], NoDecode] = list(DEFAULT_ALLOWED_ORIGINS)
    signup: Literal["open", "invite", "closed"] = "open"
    mail_url: SecretStr = SecretStr("console://")
    """How mail leaves: ``smtp://user:password@host:587``, ``smtps://…``, ``file:///folder`` or ``console://``."""
    mail_from: str = ""
    """The sender of mail; ``Memford <memford@…>`` at the public host where absent."""
    client_ip_header: str = ""
    """A header that a proxy of the operator's own always sets, such as ``X-Real-IP``; none is believed otherwise."""
    rate_limits: Literal["on", "off"] = "on"
    change_wakeup: Literal["on", "off"] = "on"
    """Whether changes are also published through Redis, so that hints come sooner than the next look (R5)."""
    cimd: Literal["on", "off"] | None = None
    """Whether clients may name themselves by the address of a metadata document (O3); where absent, only if the public
    URL is not loopback."""
    debug: bool = False
    log_format: Literal["json", "console"] = "json"

    database_threads: int = Field(8, ge=1, le=200)
    """Worker threads per web process for agents' calls; each keeps one database connection per role."""
    statement_timeout_seconds: float = Field(15, gt=0)
    lock_timeout_seconds: float = Field(10, gt=0)
    prepare_threshold: int | None = Field(5, ge=0)
    """Uses after which a statement is prepared; ``null`` behind a pooler that knows no prepared statements."""
    connect_timeout_seconds: int = Field(5, ge=1)

    @field_validator("secret_key_fallbacks", "allowed_hosts", "allowed_origins", mode="before")
    @classmethod
    def split_commas(cls, value: object) -> object:
        """Read a list from one line, its members separated by commas."""
        if isinstance(value, str):
            return [member.strip() for member in value.split(",") if member.strip()]
        return value

    @field_validator("mail_url")
    @classmethod
    def check_mail_url(cls, value: SecretStr) -> SecretStr:
        """Refuse an address that mail cannot leave by; the message holds nothing of it."""
        mailer_of(value.get_secret_value())
        return value

    @field_validator("public_url")
    @classmethod
    def check_public_url(cls, value: str) -> str:
        """Take an origin only: every printed URL is built on it (G6), and issuers compare byte for byte (O1)."""
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("give an http or https origin such as https://memford.example.com")
        if parts.path.strip("/") or parts.query or parts.fragment or parts.username:
            raise ValueError("give an origin alone, without a path, query or user")
        return value.rstrip("/")

    @property
    def public_host(self) -> str:
        """The host of the public URL without its port, an IPv6 address in brackets."""
        netloc = urlsplit(self.public_url).netloc.lower()
        return netloc.rsplit(":", 1)[0] if not netloc.endswith("]") and ":" in netloc else netloc

    @property
    def sender(self) -> str:
        """Whom mail comes from."""
        return self.mail_from or f"Memford <memford@{self.public_host}>"

    @property
    def is_loopback(self) -> bool:
        """Whether people reach this instance on their own machine only."""
        return self.public_host in LOOPBACK_HOSTS

    @property
    def has_client_documents(self) -> bool:
        """Whether client ID metadata documents are fetched (O3)."""
        return not self.is_loopback if self.cimd is None else self.cimd == "on"

    @property
    def hosts(self) -> list[str]:
        """Every host name, without port, by which this instance may be called (G5, S1)."""
        beside = LOOPBACK_HOSTS if self.is_loopback else ()
        return list(dict.fromkeys([self.public_host, *beside, *(host.lower() for host in self.allowed_hosts)]))


@cache
def env() -> Env:
    """Return the environment, read and checked once.

    Raises:
        ImproperlyConfigured: A setting is missing or wrong; the process must not start (P4).
    """
    try:
        return Env()
    except ValidationError as error:
        problems = "; ".join(f"{_variable(problem['loc'])}: {problem['msg']}" for problem in error.errors())
        raise ImproperlyConfigured(f"The environment is not complete. {problems}") from None


def _variable(location: tuple[int | str, ...]) -> str:
    name = str(location[0])
    return name if name.isupper() else f"MEMFORD_{name.upper()}"
