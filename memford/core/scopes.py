"""The two scopes of an agent's connection (O6, T11)."""

from typing import Final, Literal

READ: Final = "memory:read"
WRITE: Final = "memory:write"
ALL: Final = f"{READ} {WRITE}"
"""Both, as challenges and metadata name them."""

Access = Literal["read_write", "read_only"]


def scopes_of(access: str) -> frozenset[str]:
    """Return the scopes that ``access`` stands for; writing implies reading (T11)."""
    return frozenset({READ, WRITE}) if access == "read_write" else frozenset({READ})
