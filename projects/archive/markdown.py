"""A project as plain Markdown: for reading elsewhere. It cannot be imported; the JSON archive can."""

import re
from typing import Final
from uuid import UUID

from projects import access
from projects.archive.form import printed
from projects.archive.spool import Spool
from projects.archive.write import filling, note_lots
from projects.models import Note, Project, Standard, StandardAssignment

_BACKTICKS: Final = re.compile("`+")
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def export_markdown(*, owner_id: UUID, project_id: UUID | str) -> Spool:
    """Return a project's standards and all retained notes in their current wording, oldest first, as Markdown.

    Every text stands exactly as it is inside a fence that it cannot close. One snapshot and bounded memory, as
    :func:`projects.archive.export_project`.

    Raises:
        NotFound: The project is not this owner's.
    """
    with filling() as spool:
        project = access.project_of(owner_id, project_id)
        for piece in (_head(project), *map(_standard, _assigned(project))):
            spool.write(piece.encode())
        spool.write(b"## Notes\n\n")
        for lot in note_lots(project):
            for note in lot:
                spool.write(_note(note).encode())
    return spool.rewind()


def _assigned(project: Project) -> list[Standard]:
    assignments = StandardAssignment.objects.filter(owner_id=project.owner_id, project=project)
    return [assignment.standard for assignment in assignments.select_related("standard").order_by("position")]


def _head(project: Project) -> str:
    description = f"{_fenced(project.description)}\n" if project.description else ""
    return f"# {_line(project.name)}\n\n{description}"


def _standard(standard: Standard) -> str:
    status = "" if standard.status == "active" else f" ({standard.status})"
    return f"## Standard: {_line(standard.title)}{status}\n\n{_fenced(standard.content)}\n"


def _note(note: Note) -> str:
    facts = [
        f"received {printed(note.received_at)}",
        f"written by {_line(note.writer_name)} ({note.writer_kind})",
        *([f"source {_line(note.source)}"] if note.source else []),
        *([f"revision {note.revision}, changed {printed(note.updated_at)}"] if note.revision > 1 else []),
        *([note.status] if note.status != "active" else []),
    ]
    return f"### Note {note.seq}\n\n{'; '.join(facts)}\n\n{_fenced(note.content)}\n"


def _line(text: str) -> str:
    """Return a label as one line that is no markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _fenced(text: str) -> str:
    """Put a text into a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}\n"
