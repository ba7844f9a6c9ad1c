"""System checks: what must hold before Memford serves anybody (P4)."""

from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register

from memford.env import env


@register(Tags.security, deploy=True)
def check_call_limits(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse to deploy with the call limits lifted: that is for load tests."""
    if env().rate_limits == "on":
        return []
    return [Error("MEMFORD_RATE_LIMITS is off.", hint="Unset it; it is meant for load tests.", id="memford.E001")]


@register(Tags.security, deploy=True)
def check_public_url(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse to deploy a service that others reach without TLS."""
    if env().is_loopback or env().public_url.startswith("https://"):
        return []
    return [
        Error(
            "MEMFORD_PUBLIC_URL is plain http on a host that others can reach.",
            hint="Put a proxy that ends TLS in front, and set the https origin people use.",
            id="memford.E002",
        )
    ]


@register(Tags.security, deploy=True)
def check_mail(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse to deploy where mail reaches nobody, and its codes and links stand in a log or a folder."""
    if settings.MAILERS["default"]["BACKEND"].startswith("django.core.mail.backends.smtp"):
        return []
    return [
        Error(
            "Mail is not sent: MEMFORD_MAIL_URL names the console or a folder.",
            hint="Set it to smtp://user:password@host:587 or smtps://user:password@host.",
            id="memford.E003",
        )
    ]


@register(Tags.security, deploy=True)
def check_two_roles(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Ask for two database roles, so that what serves requests owns no table."""
    if settings.DATABASES["default"]["USER"] != settings.DATABASES["system"]["USER"]:
        return []
    return [
        checks.Warning(
            "One database role serves requests and owns the tables.",
            hint="Set MEMFORD_SYSTEM_DATABASE_URL to a role of its own; DATABASE_URL stays memford_app.",
            id="memford.W001",
        )
    ]
