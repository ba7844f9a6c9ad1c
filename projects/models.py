"""Projects, notes, standards, their revisions, and which standards a project is given.

Every row carries ``owner_id``, which leads the indexes. A revision table holds each wording that was replaced;
the current wording is the note or standard itself, so every text is kept exactly once until it is edited.
"""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class Status(models.TextChoices):
    """Whether a note is read by agents; inactive and deleted ones are retained (A1)."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    DELETED = "deleted"


class StandardStatus(models.TextChoices):
    """Whether an assigned standard reaches agents (A3)."""

    ACTIVE = "active"
    INACTIVE = "inactive"


class TenantModel(models.Model):
    """A row of one owner's.

    The owner is a plain reference without a constraint of the database: the project's own reference covers it,
    and checking the owner on every write would make all writers of one owner share a lock on its row.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )

    class Meta:
        abstract = True


class Changed(models.Model):
    """Who made the current revision, as plain values."""

    changed_by_kind = models.CharField(max_length=8)
    changed_by_id = models.UUIDField()
    changed_by_name = models.CharField(max_length=254)

    class Meta:
        abstract = True


class Project(models.Model):
    """One body of memory, with the counters that writes move and readers compare (T9)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="projects", db_index=False
    )
    name = models.CharField(max_length=120)
    description = models.TextField(default="", blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True)
    # From here on it cannot be restored any more (A8).
    erasure_began_at = models.DateTimeField(null=True, blank=True, editable=False)

    last_seq = models.BigIntegerField(default=0)
    # Each submission and each change that a reader can see.
    memory_revision = models.BigIntegerField(default=0)
    # Only changes that make older pages of a reading stale: all but submissions (T5).
    edit_revision = models.BigIntegerField(default=0)
    standards_revision = models.BigIntegerField(default=0)
    # What a change of the assignment is compared with (A4).
    assignment_revision = models.BigIntegerField(default=0)
    notes_count = models.BigIntegerField(default=0)
    stored_bytes = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["owner", "created_at"], name="project_by_owner"),
            models.Index(fields=["deleted_at"], condition=models.Q(deleted_at__isnull=False), name="project_deleted"),
        ]

    def __str__(self) -> str:
        return self.name


class Note(TenantModel, Changed):
    """A submission in its current wording. ``seq`` orders a project's notes without gap or double."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="notes", db_index=False)
    seq = models.BigIntegerField()
    content = models.TextField()
    # UTF-8 length, so that a page can be cut at its size without reading the texts (part 1).
    content_bytes = models.IntegerField()
    source = models.CharField(max_length=120, null=True, blank=True)
    status = models.CharField(max_length=8, choices=Status, default=Status.ACTIVE)
    revision = models.IntegerField(default=1)
    received_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    writer_kind = models.CharField(max_length=8)
    writer_id = models.UUIDField()
    writer_name = models.CharField(max_length=254)
    writer_account_id = models.UUIDField()
    checkpoint_id = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "project", "seq"], name="note_seq_unique"),
            models.UniqueConstraint(
                fields=["project", "writer_id", "checkpoint_id"],
                condition=models.Q(checkpoint_id__isnull=False),
                name="note_checkpoint_unique",
            ),
        ]
        indexes = [
            # What agents read: a page costs the same however many notes stand behind it or are inactive.
            models.Index(
                fields=["owner", "project", "-seq"],
                condition=models.Q(status="active"),
                name="note_active_by_seq",
            ),
            # What an owner looks for among many: notes that were set aside (A1).
            models.Index(
                fields=["owner", "project", "status", "-seq"],
                condition=~models.Q(status="active"),
                name="note_set_aside_by_seq",
            ),
            # Who wrote here, and what one of them wrote (W2). The index of words is migration 0004's alone.
            models.Index(fields=["owner", "project", "writer_id", "-seq"], name="note_by_writer"),
        ]

    def __str__(self) -> str:
        return f"note {self.pk}"


class NoteRevision(TenantModel, Changed):
    """A wording of a note that was replaced; append-only, and revision 1 is the submission."""

    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    revision = models.IntegerField()
    content = models.TextField()
    source = models.CharField(max_length=120, null=True, blank=True)
    status = models.CharField(max_length=8, choices=Status)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["note", "revision"], name="note_revision_unique")]

    def __str__(self) -> str:
        return f"revision {self.revision} of note {self.note_id}"


class Standard(TenantModel, Changed):
    """A titled text that an owner gives to any of their projects (A3)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    title = models.CharField(max_length=120)
    content = models.TextField()
    status = models.CharField(max_length=8, choices=StandardStatus, default=StandardStatus.ACTIVE)
    revision = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["owner", "created_at"], name="standard_by_owner")]

    def __str__(self) -> str:
        return self.title

    def as_revision(self) -> "StandardRevision":
        """Return the current wording as the revision that it will be once it is replaced; it is not stored."""
        return StandardRevision(
            owner_id=self.owner_id,
            standard=self,
            revision=self.revision,
            title=self.title,
            content=self.content,
            status=self.status,
            changed_at=self.updated_at,
            changed_by_kind=self.changed_by_kind,
            changed_by_id=self.changed_by_id,
            changed_by_name=self.changed_by_name,
        )


class StandardRevision(TenantModel, Changed):
    """A wording of a standard that was replaced; append-only."""

    standard = models.ForeignKey(Standard, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    revision = models.IntegerField()
    title = models.CharField(max_length=120)
    content = models.TextField()
    status = models.CharField(max_length=8, choices=StandardStatus)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["standard", "revision"], name="standard_revision_unique")]

    def __str__(self) -> str:
        return f"revision {self.revision} of standard {self.standard_id}"


class StandardAssignment(TenantModel):
    """One standard's place in a project's list, in the owner's order (T4, A4)."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="assignments", db_index=False)
    standard = models.ForeignKey(Standard, on_delete=models.CASCADE, related_name="assignments")
    position = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "project", "position"], name="assignment_position_unique"),
            models.UniqueConstraint(fields=["project", "standard"], name="assignment_standard_unique"),
        ]

    def __str__(self) -> str:
        return f"standard {self.standard_id} in project {self.project_id}"
