"""A client of Memford's for scripts and for the ``memford`` command; it knows the protocol and nothing of the server.

    from memford.client import Memory

    with Memory("https://memford.example.com", key="mfk_…") as memory:
        project = memory.project()
        receipt = memory.write(project.id, "The lamp turns once in 8 seconds.", source="keeper")
        for note in memory.read_all(project.id).notes:
            print(note.content)

:class:`AsyncMemory` is the same with ``async`` and ``await``. What goes wrong is a :class:`ClientError`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memford.client.errors import ClientError
    from memford.client.memory import AsyncMemory
    from memford.client.shapes import Note, Page, Project, Receipt, Standard, Writer
    from memford.client.sync import Memory

_HOME = {
    "AsyncMemory": "memory",
    "ClientError": "errors",
    "Memory": "sync",
    "Note": "shapes",
    "Page": "shapes",
    "Project": "shapes",
    "Receipt": "shapes",
    "Standard": "shapes",
    "Writer": "shapes",
}

__all__ = ["AsyncMemory", "ClientError", "Memory", "Note", "Page", "Project", "Receipt", "Standard", "Writer"]


def __getattr__(name: str) -> Any:
    """Load what is asked for, and not before: the command's start need not wait for the protocol's library."""
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(import_module(f"memford.client.{_HOME[name]}"), name)
