"""A project's archive: export, import, and a plain reading copy; and everything of an account (docs/archive.md)."""

from projects.archive.account import ExportUnderway, export_account, on_account_export
from projects.archive.fields import Problem
from projects.archive.load import ImportResult, import_project
from projects.archive.markdown import export_markdown
from projects.archive.spool import AsyncSpool, Spool
from projects.archive.write import export_project

__all__ = [
    "AsyncSpool",
    "ExportUnderway",
    "ImportResult",
    "Problem",
    "Spool",
    "export_account",
    "export_markdown",
    "export_project",
    "import_project",
    "on_account_export",
]
