"""A client of Memford's for scripts and for the ``memford`` command; it knows the protocol and nothing of the server.

    from memford.client import Memory

    with Memory("https://memford.example.com", key="mfk_…") as memory:
        receipt = memory.write("The lamp turns once in 8 seconds.", source="keeper")
        for note in memory.read_all().notes:
            print(note.content)

:class:`AsyncMemory` is the same with ``async`` and ``await``. What goes wrong is a :class:`ClientError` of
:mod:`memford.client.errors`.
"""

from memford.client.errors import ClientError
from memford.client.memory import AsyncMemory
from memford.client.shapes import Note, Page, Project, Receipt, Standard, Writer

__all__ = ["AsyncMemory", "ClientError", "Note", "Page", "Project", "Receipt", "Standard", "Writer"]
