"""The words of an archive, version 1: its members, its canonical form and its digest (docs/archive.md)."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, Final

FORMAT: Final = "memford-project"
VERSION: Final = 1

# Both in the order in which they stand in the file. The content's is that of its sorted names, as in canonical JSON.
MEMBERS: Final = ("format", "version", "exported_at", "counts", "content", "sha256")
SECTIONS: Final = ("activity", "notes", "project", "standards")
COUNTS: Final = ("activity", "note_revisions", "notes", "standard_revisions", "standards")


def canonical(value: Any) -> bytes:
    """Return JSON in its canonical form: names sorted, no white space, nothing escaped that need not be.

    For what archives hold (texts, integers, booleans, null) it is the form of RFC 8785. A lone surrogate is encoded as
    it stands, so that a text which will be refused has a digest too.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def printed(time: datetime) -> str:
    """Return a time as archives hold it: UTC with microseconds."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def optionally_printed(time: datetime | None) -> str | None:
    """Return a time as archives hold it, or nothing for none."""
    return None if time is None else printed(time)


class ContentDigest:
    """The SHA-256 of a content, computed while its pieces pass by in their order."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()

    def add(self, piece: bytes) -> None:
        """Take the next bytes of the canonical form."""
        self._sha256.update(piece)

    def hex(self) -> str:
        """Return the digest of what was added."""
        return self._sha256.hexdigest()
