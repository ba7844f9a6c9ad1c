"""JSON as RFC 8259 has it: what Python's reader takes beyond it is refused."""

import json
from typing import Any, NoReturn


def refuse_constant(name: str) -> NoReturn:
    """Refuse ``NaN`` and the infinities, which are no JSON.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{name} is no JSON")


def read_json(data: bytes) -> Any:
    """Return what a body holds.

    Raises:
        ValueError: It is no JSON, or nested too deeply.
    """
    try:
        return json.loads(data, parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
