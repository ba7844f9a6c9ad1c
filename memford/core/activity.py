"""Tags of the activity log: who did what when, without content (A7)."""

from enum import StrEnum


class Tag(StrEnum):
    """What happened. A tag never changes its meaning; new ones are added at the end."""

    SIGNED_IN = "signed_in"
    PROJECT_CREATED = "project_created"
    PROJECT_CHANGED = "project_changed"
    PROJECT_DELETED = "project_deleted"
    PROJECT_RESTORED = "project_restored"
    NOTE_WRITTEN = "note_written"
    NOTE_EDITED = "note_edited"
    NOTE_STATUS_CHANGED = "note_status_changed"
    STANDARD_CREATED = "standard_created"
    STANDARD_EDITED = "standard_edited"
    STANDARDS_ASSIGNED = "standards_assigned"
    KEY_CREATED = "key_created"
    CONNECTION_REVOKED = "connection_revoked"
    CONNECTION_APPROVED = "connection_approved"
    TOKEN_REUSED = "token_reused"  # noqa: S105
    EMAIL_CHANGED = "email_changed"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105
    SECOND_FACTOR_ADDED = "second_factor_added"
    SECOND_FACTOR_REMOVED = "second_factor_removed"
    LOGIN_SESSIONS_ENDED = "login_sessions_ended"
    PROJECT_IMPORTED = "project_imported"
    PROJECT_ERASED = "project_erased"
    ACCOUNT_CLOSED = "account_closed"
    ACCOUNT_RESTORED = "account_restored"
