"""Everything that is read of projects, notes and standards."""

from projects.selectors.history import NoteWording, StandardWording, note_history, original_wordings, standard_history
from projects.selectors.lists import (
    assigned_standards,
    list_activity,
    list_notes,
    list_projects,
    list_standards,
    projects_using,
)
from projects.selectors.memory import MemoryPage, project_summary, read_memory

__all__ = [
    "MemoryPage",
    "NoteWording",
    "StandardWording",
    "assigned_standards",
    "list_activity",
    "list_notes",
    "list_projects",
    "list_standards",
    "note_history",
    "original_wordings",
    "project_summary",
    "projects_using",
    "read_memory",
    "standard_history",
]
