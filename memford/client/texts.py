"""What text a server takes, known before it is asked, in the server's own words (part 1, T10)."""

import json
import re
from typing import Final

from memford.client.errors import Refused
from memford.client.spool import CHECKPOINT

CONTENT_MAX_CHARS: Final = 32_000
SOURCE_MAX_CHARS: Final = 120
REQUEST_BODY_MAX_BYTES: Final = 65_536
INVALID: Final = "Some arguments are not acceptable. Correct the fields named here and call again."
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def check_note(content: str, source: str | None = None, checkpoint_id: str | None = None) -> None:
    """Refuse what no server with the contract's limits takes.

    Raises:
        Refused: ``invalid_arguments``, with ``fields`` that name what is wrong, as the server would.
    """
    problems = {
        "content": _problem(content, most=CONTENT_MAX_CHARS, required=True),
        "source": None if source is None else _problem(source, most=SOURCE_MAX_CHARS),
        "checkpoint_id": _checkpoint_problem(checkpoint_id),
    }
    fields = {name: problem for name, problem in problems.items() if problem is not None}
    if fields:
        raise Refused(INVALID, code="invalid_arguments", fields=fields)


def _problem(text: str, *, most: int, required: bool = False) -> str | None:
    if required and not text.strip():
        return "must not be empty or blank"
    if len(text) > most:
        return f"has {len(text)} code points; at most {most} are accepted"
    if (found := _UNSTORABLE.search(text)) is None:
        return _weight_problem(text)
    if found.group() == "\x00":
        return "contains U+0000 (NUL), which cannot be stored; remove it"
    return f"contains the lone surrogate U+{ord(found.group()):04X}, which is no character; send well-formed Unicode"


def _weight_problem(text: str) -> str | None:
    weight = len(json.dumps(text, ensure_ascii=False).encode())
    if weight <= REQUEST_BODY_MAX_BYTES:
        return None
    return f"takes {weight} bytes on the way; a request has at most {REQUEST_BODY_MAX_BYTES}"


def _checkpoint_problem(checkpoint_id: str | None) -> str | None:
    if checkpoint_id is None or CHECKPOINT.fullmatch(checkpoint_id):
        return None
    return "must be a lowercase UUID, such as 3f1a4e9c-6c0e-4f0e-9d55-0b8f5b2f6a10"
