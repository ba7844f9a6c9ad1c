"""Connections: each binds one agent to one project of one owner."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from memford.core.principal import Writer
from projects.models import Project


class Connection(models.Model):
    """An approved link between an agent and a project, by OAuth or by a project key; a writer identity.

    A revoked connection is kept: it stays the writer of what it submitted, and its owner sees when it ended.
    """

    class Kind(models.TextChoices):
        """How the agent proves the link."""

        OAUTH = "oauth"
        KEY = "key"

    class Access(models.TextChoices):
        """What the owner allowed (T11)."""

        READ_WRITE = "read_write"
        READ_ONLY = "read_only"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="connections")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="connections")
    kind = models.CharField(max_length=8, choices=Kind)
    name = models.CharField(max_length=120)
    access = models.CharField(max_length=12, choices=Access, default=Access.READ_WRITE)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    # Written at most once a minute, so that a busy agent does not write on every read.
    last_used_at = models.DateTimeField(null=True, blank=True)
    # A key's own end, or an OAuth connection's renewal limit.
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_reason = models.CharField(max_length=40, blank=True, default="")
    key_digest = models.CharField(max_length=64, null=True, unique=True, editable=False)
    # The first characters of the key, by which its owner tells it from others.
    key_prefix = models.CharField(max_length=12, blank=True, default="", editable=False)
    # Who an OAuth connection was approved for, and where its browser returned to; both as they were then (A6).
    client = models.ForeignKey(
        "authorization.Application", on_delete=models.SET_NULL, null=True, blank=True, related_name="connections"
    )
    redirect_host = models.CharField(max_length=255, blank=True, default="", editable=False)
    from_bootstrap = models.BooleanField(default=False, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind="oauth", key_digest__isnull=True)
                | models.Q(kind="key", key_digest__isnull=False),
                name="connection_key_has_digest",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} connection {self.pk}"

    @property
    def has_ended(self) -> bool:
        """Whether it was revoked, or its time is up."""
        return self.revoked_at is not None or (self.expires_at is not None and self.expires_at <= timezone.now())

    @property
    def writer(self) -> Writer:
        """The connection as the writer that it is; also of what it does to itself."""
        return Writer("oauth" if self.kind == self.Kind.OAUTH else "key", self.pk, self.name, self.owner_id)
