"""MCP sessions: kept in the database, so that any worker or instance serves any of them (G9)."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from mcp_gateway.connections.models import Connection
from projects.models import Project


class McpSession(models.Model):
    """One transport session of a handshake revision, bound to its connection and not to a token's bytes."""

    # What the client presents. It opens nothing without the connection's own credential.
    id = models.CharField(primary_key=True, max_length=43, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="mcp_sessions", db_index=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    revision = models.CharField(max_length=10)
    client_name = models.CharField(max_length=120, blank=True, default="")
    client_version = models.CharField(max_length=120, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    # Written at most once a minute, and by each stream that attaches.
    last_seen_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)

    # Only one URI can be subscribed to: the connection's own notes (R2).
    subscribed = models.BooleanField(default=False)
    # What the last first-page read returned; nothing where nothing was read (R3).
    read_memory_revision = models.BigIntegerField(null=True)
    read_standards_revision = models.BigIntegerField(null=True)
    # Each attachment raises the epoch; a hint is sent by the stream of the current epoch alone.
    stream_epoch = models.BigIntegerField(default=0)
    stream_holder = models.UUIDField(null=True)
    # A worker that is to look at this session again: its stream was taken over, or what it may send has changed.
    attention_of = models.UUIDField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["connection", "last_seen_at"], name="mcp_session_by_use"),
            models.Index(
                fields=["attention_of"],
                condition=models.Q(attention_of__isnull=False),
                name="mcp_session_attention",
            ),
        ]

    def __str__(self) -> str:
        return f"MCP session of connection {self.connection_id}"
