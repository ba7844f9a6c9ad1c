"""The revisions of the protocol that are served here (G2)."""

from typing import Final

STATELESS: Final = "2026-07-28"
"""The revision without handshake and session (G12)."""

HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
"""The revisions that begin with ``initialize``, newest first."""

NEWEST_HANDSHAKE: Final = HANDSHAKE[0]
WITH_BATCHES: Final = "2025-03-26"
"""The only revision with JSON-RPC batches (G3), and the one in force where nothing names another."""

SERVED: Final = (STATELESS, *HANDSHAKE)
