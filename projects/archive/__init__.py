"""A project's archive: export, import, and a plain reading copy (docs/archive.md)."""

from projects.archive.fields import Problem
from projects.archive.load import ImportResult, import_project
from projects.archive.markdown import export_markdown
from projects.archive.spool import AsyncSpool, Spool
from projects.archive.write import export_project

__all__ = [
    "AsyncSpool",
    "ImportResult",
    "Problem",
    "Spool",
    "export_markdown",
    "export_project",
    "import_project",
]
