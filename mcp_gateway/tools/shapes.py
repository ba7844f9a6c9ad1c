"""The parts that several results are made of."""

from typing import Final

from mcp_gateway.tools.schema import Schema, count, identifier, record, text, time
from memford.core.limits import limits

WRITER: Final[Schema] = record(
    "Who submitted it: a connection, and apart from it the account it belongs to.",
    {
        "kind": {
            "type": "string",
            "description": "How it came: by the owner in the workspace, an OAuth connection or a project key.",
            "enum": ["owner", "oauth", "key"],
        },
        "id": identifier("The connection's id, or the owner's."),
        "name": text("The connection's or owner's name at the time.", most=254),
        "account_id": identifier("The account that the connection belongs to."),
    },
)

PROJECT: Final[Schema] = record(
    "The project.",
    {
        "id": identifier("The id to give to memory_read and memory_write."),
        "name": text("Its name.", most=limits().project_name_max_chars),
        "description": text("What it is about.", most=limits().project_description_max_chars),
        "notes_count": count("How many submissions are retained, inactive and deleted ones too."),
        "memory_revision": count("Grows by one with each submission and each change of a note or of the project."),
        "standards_revision": count("Grows with each change of the standards or of their assignment."),
        "created_at": time("When it was made."),
    },
)

CONTENT: Final[Schema] = text("The text, exactly as it was submitted or last edited.", most=limits().content_max_chars)
SOURCE: Final[Schema] = text(
    "Where it is said to come from: a free label, no identity. Null where none was given.",
    most=limits().source_max_chars,
    nullable=True,
)
