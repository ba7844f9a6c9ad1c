"""What text may be stored: anything that PostgreSQL can give back exactly (T10)."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def unstorable(text: str) -> str | None:
    """Say in words why the database cannot hold ``text``, or return ``None`` where it can.

    U+0000 has no place in PostgreSQL's text type, and a lone surrogate is no Unicode character at all.
    """
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    if found.group() == "\x00":
        return "contains U+0000 (NUL), which cannot be stored; remove it"
    return f"contains the lone surrogate U+{ord(found.group()):04X}, which is no character; send well-formed Unicode"


def check_text(text: str, *, max_chars: int, required: bool = False) -> str | None:
    """Say why ``text`` is not acceptable, or return ``None``.

    ``max_chars`` counts Unicode code points; ``required`` text must not be blank.
    """
    if required and not text.strip():
        return "must not be empty or blank"
    if len(text) > max_chars:
        return f"has {len(text)} code points; at most {max_chars} are accepted"
    return unstorable(text)
