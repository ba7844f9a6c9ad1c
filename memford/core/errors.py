"""One family of errors: a stable code, an HTTP status, and a message that says what to do next.

Services and selectors raise them; each door has one adapter that turns them into its own form (a tool result,
a problem document, an OAuth error). Nothing decides by the text of a message.
"""

from collections.abc import Mapping


class MemfordError(Exception):
    """Something a caller can understand and act on."""

    code: str = "error"
    status: int = 400
    message: str = "The request could not be carried out."

    def __init__(self, message: str | None = None, **data: object) -> None:
        self.message = message or type(self).message
        self.data: Mapping[str, object] = data
        super().__init__(self.message)

    def as_dict(self) -> dict[str, object]:
        """Return the error as it is printed: code, message, and what else helps to act on it."""
        return {"code": self.code, "message": self.message, **self.data}


class InvalidArguments(MemfordError):
    """A value is missing, unknown or outside its bounds; ``fields`` says which (T10)."""

    code = "invalid_arguments"
    message = "Some arguments are not acceptable. Correct the fields named here and call again."

    def __init__(self, fields: Mapping[str, str], message: str | None = None) -> None:
        super().__init__(message, fields=dict(fields))


class ProjectNotAvailable(MemfordError):
    """The project is foreign, deleted, misspelt or another connection's: one answer for all (T8)."""

    code = "project_not_available"
    status = 404
    message = (
        "No project with this id is available to this connection. Call memory_list_projects and use the id it returns."
    )


class NotFound(MemfordError):
    """An object of the owner's does not exist, or is not this owner's: one answer for both."""

    code = "not_found"
    status = 404
    message = "There is no such object. Look it up again in the list it came from."


class InvalidCursor(MemfordError):
    """The cursor was changed, cut, invented, or belongs to another project or connection (T5)."""

    code = "invalid_cursor"
    message = "This cursor is not valid here. Call memory_read without a cursor to begin again."


class MemoryChanged(MemfordError):
    """What was read before has been edited since, so older pages no longer fit to it (T5)."""

    code = "memory_changed"
    status = 409
    message = "The memory changed while you were paging. Call memory_read without a cursor to begin again."


class CheckpointConflict(MemfordError):
    """The checkpoint id was used before with different text (T7)."""

    code = "checkpoint_conflict"
    status = 409
    message = (
        "This checkpoint_id was already used for a different content or source. "
        "Use a new UUID for a new note, or repeat the first call exactly to get its receipt."
    )


class RevisionConflict(MemfordError):
    """Somebody else changed it first; nothing was overwritten (A2)."""

    code = "revision_conflict"
    status = 409
    message = "It was changed meanwhile. Read the current revision, decide again, and send its number."

    def __init__(self, current_revision: int) -> None:
        super().__init__(None, current_revision=current_revision)


class QuotaExceeded(MemfordError):
    """A limit of part 1 on what an owner keeps is reached; nothing was stored."""

    code = "quota_exceeded"
    status = 409
    message = "This account's storage is full. Ask the owner to delete projects or to raise the limit."
