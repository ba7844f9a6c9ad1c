"""``memory_write``: a new note, stored once, with a receipt for ever (T6, T7)."""

from typing import Any, Final
from uuid import UUID

from pydantic import Field

from mcp_gateway.tools.project_id import PROJECT_ID, own_project
from mcp_gateway.tools.schema import UUID_PATTERN, identifier, record, time
from mcp_gateway.tools.shapes import CONTENT, SOURCE, WRITER
from mcp_gateway.tools.tool import Arguments, Tool
from memford.core import scopes
from memford.core.limits import limits
from memford.core.principal import Principal
from projects.services import write_note


class WriteArguments(Arguments):
    """What to remember."""

    project_id: str = PROJECT_ID
    content: str = Field(
        min_length=1,
        max_length=limits().content_max_chars,
        description="The text to remember, complete in itself. It is stored exactly as given and must not be blank.",
    )
    source: str | None = Field(
        None,
        max_length=limits().source_max_chars,
        description="Where it comes from, such as a file or a meeting. A free label.",
    )
    checkpoint_id: str | None = Field(
        None,
        pattern=UUID_PATTERN,
        max_length=36,
        description=(
            "A lowercase UUID of your own for this note. Repeating the call with the same one stores nothing twice "
            "and returns the first receipt, so a call whose answer was lost can be repeated safely."
        ),
    )


def write(principal: Principal, arguments: WriteArguments) -> dict[str, Any]:
    """Store a note as this connection's and return its receipt."""
    receipt = write_note(
        owner_id=principal.owner_id,
        project_id=own_project(principal, arguments.project_id),
        writer=principal.writer,
        content=arguments.content,
        source=arguments.source,
        checkpoint_id=None if arguments.checkpoint_id is None else UUID(arguments.checkpoint_id),
    )
    result: dict[str, Any] = {"note": receipt.as_dict()}
    if arguments.checkpoint_id is not None:
        result["checkpoint_id"] = arguments.checkpoint_id
    return result


TOOL: Final = Tool(
    name="memory_write",
    title="Write to memory",
    description=(
        "Adds a note to the project's memory and returns its receipt. Give a checkpoint_id so that the call can be "
        "repeated if its answer is lost. Afterwards read the memory back to see that the note is there."
    ),
    arguments=WriteArguments,
    output_schema=record(
        None,
        {
            "note": record(
                "The receipt: the submission as it was received, whatever happens to the note later.",
                {
                    "id": identifier("The note's id."),
                    "project_id": identifier("The project it was stored in."),
                    "content": CONTENT,
                    "source": SOURCE,
                    "received_at": time("When it was received."),
                    "writer": WRITER,
                },
            ),
            "checkpoint_id": identifier("The checkpoint_id of the call, where one was given."),
        },
        optional=("checkpoint_id",),
    ),
    run=write,
    scope=scopes.WRITE,
)
