"""Everything that changes a project, its notes or its standards.

Each function is one transaction, with its activity row inside; expected revisions are compared inside the
write. Doors call these and hold no rule of their own. Locks are always taken in one order: the owner (for what
concerns standards), then projects, then notes or standards.
"""

from projects.services.assignments import assign_standards
from projects.services.erasure import erase_deleted_projects
from projects.services.notes import NoteReceipt, revise_note, write_note
from projects.services.projects import change_project, create_project, delete_project, restore_project
from projects.services.standards import create_standard, revise_standard

__all__ = [
    "NoteReceipt",
    "assign_standards",
    "change_project",
    "create_project",
    "create_standard",
    "delete_project",
    "erase_deleted_projects",
    "restore_project",
    "revise_note",
    "revise_standard",
    "write_note",
]
