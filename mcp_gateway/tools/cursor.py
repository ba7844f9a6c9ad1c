"""The cursor of a reading: opaque, signed, and bound to project, connection and snapshot (T5)."""

from typing import Final

from django.core import signing

from memford.core.errors import InvalidCursor
from memford.core.principal import Principal
from projects.selectors.memory import Snapshot

CURSOR_MAX_CHARS: Final = 1_000
_SALT: Final = "memford.memory_read.cursor"


def sign_cursor(principal: Principal, before_seq: int, snapshot: Snapshot) -> str:
    """Return a cursor for the page behind ``before_seq``. Older signing keys stay good while configured."""
    position = [
        before_seq,
        snapshot.memory_revision,
        snapshot.edit_revision,
        snapshot.standards_revision,
        snapshot.notes_count,
    ]
    return signing.Signer(salt=_salt(principal)).sign_object(position)


def read_cursor(principal: Principal, cursor: str) -> tuple[int, Snapshot]:
    """Return the position and the snapshot that a cursor stands for.

    Raises:
        InvalidCursor: It was changed, cut, invented, or made for another project or connection.
    """
    try:
        before_seq, *counters = signing.Signer(salt=_salt(principal)).unsign_object(cursor)
    except (signing.BadSignature, ValueError, TypeError):
        raise InvalidCursor from None
    return before_seq, Snapshot(*counters)


def _salt(principal: Principal) -> str:
    """Bind the signature to whose reading it is, so that nobody else's cursor verifies."""
    return f"{_SALT}:{principal.project_id}:{principal.connection_id}"
