"""Everything that is read of projects, notes and standards."""

from projects.selectors.history import NoteWording, StandardWording, note_history, original_wordings, standard_history
from projects.selectors.lists import (
    Titled,
    assignment_of,
    list_account_activity,
    list_activity,
    list_projects,
    list_standards,
    newer_activity,
    projects_by_standard,
    projects_using,
    titled_standards,
)
from projects.selectors.memory import MemoryPage, project_summary, read_memory
from projects.selectors.timeline import (
    ALL_NOTES,
    NoteChanges,
    NoteFilter,
    NoteWriter,
    existing_notes,
    list_notes,
    note_changes,
    note_mark,
    note_writers,
)
from projects.selectors.usage import Usage, usage_of

__all__ = [
    "ALL_NOTES",
    "MemoryPage",
    "NoteChanges",
    "NoteFilter",
    "NoteWording",
    "NoteWriter",
    "StandardWording",
    "Titled",
    "Usage",
    "assignment_of",
    "existing_notes",
    "list_account_activity",
    "list_activity",
    "list_notes",
    "list_projects",
    "list_standards",
    "newer_activity",
    "note_changes",
    "note_history",
    "note_mark",
    "note_writers",
    "original_wordings",
    "project_summary",
    "projects_by_standard",
    "projects_using",
    "read_memory",
    "standard_history",
    "titled_standards",
    "usage_of",
]
