"""Owners, their one-time sign-in links, and the activity log."""

import uuid
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower, Now

from memford.core.principal import Writer


class OwnerManager(BaseUserManager["Owner"]):
    """Makes owners by e-mail, for Django's own commands and tests alike."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "Owner":
        """Store an owner; without a password only a sign-in link lets them in."""
        owner = self.model(email=email.lower(), **fields)
        owner.set_password(password)
        owner.save(using=self._db)
        return owner

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "Owner":
        """Store an operator, who may use the admin site."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "Owner":
        """Find an owner by e-mail in any case, as the unique constraint compares it."""
        return self.get(email__iexact=username)


class Owner(AbstractBaseUser, PermissionsMixin):
    """A person (or team account) who owns projects and standards; the tenant of every row below."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(max_length=254, unique=True)
    email_verified_at = models.DateTimeField(null=True, blank=True)
    is_active = models.BooleanField(default=True)
    closed_at = models.DateTimeField(null=True, blank=True, editable=False)
    # From here on nothing is restored any more.
    erasure_began_at = models.DateTimeField(null=True, blank=True, editable=False)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    # Standards belong to no project, so their stored text is counted here; notes are counted in their project.
    standards_bytes = models.BigIntegerField(default=0, db_default=0, editable=False)

    objects: ClassVar[OwnerManager] = OwnerManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="owner_email_unique")]
        indexes = [models.Index(fields=["closed_at"], condition=models.Q(closed_at__isnull=False), name="owner_closed")]

    def __str__(self) -> str:
        return self.email

    @property
    def hand(self) -> Writer:
        """The owner as one who writes and acts."""
        return Writer.owner(self.pk, self.email)


class SignInLink(models.Model):
    """A link that signs one owner in, once, before it ends; only its digest is kept (O9)."""

    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, related_name="sign_in_links")
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link {self.pk}"


class Invitation(models.Model):
    """A link that lets one person sign up, once, where sign-up is by invitation; only its digest is kept (O9)."""

    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(Owner, on_delete=models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return f"invitation {self.pk}"


class Activity(models.Model):
    """Who did what when, without content (A7); written in the transaction of what it tells of."""

    # No constraint of the database, so that concurrent writers share no lock on their owner's row.
    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    # A plain value: the log stands below the projects, and outlives none of them by a reference.
    project_id = models.UUIDField(null=True)
    # One of memford.core.activity.Tag; the column lists none, so that a new one needs no migration.
    tag = models.CharField(max_length=40)
    at = models.DateTimeField(db_default=Now())
    actor_kind = models.CharField(max_length=8)
    actor_id = models.UUIDField()
    actor_name = models.CharField(max_length=254)
    object_id = models.UUIDField(null=True)
    detail = models.JSONField(default=dict, db_default={})

    class Meta:
        verbose_name_plural = "activity"
        indexes = [models.Index(fields=["owner", "project_id", "-id"], name="activity_by_project")]

    def __str__(self) -> str:
        return f"{self.tag} {self.pk}"
