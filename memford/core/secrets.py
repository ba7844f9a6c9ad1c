"""Credentials: made with a recognisable prefix, stored as digests only (O9)."""

import hashlib
import secrets
from typing import Final

KEY_PREFIX: Final = "mfk_"
ACCESS_TOKEN_PREFIX: Final = "mfa_"  # noqa: S105
REFRESH_TOKEN_PREFIX: Final = "mfr_"  # noqa: S105
SECRET_BYTES: Final = 32


def new_secret(prefix: str) -> str:
    """Return a fresh credential of 256 random bits behind ``prefix``."""
    return prefix + secrets.token_urlsafe(SECRET_BYTES)


def digest(secret: str) -> str:
    """Return the SHA-256 of a credential in hexadecimal: all that is ever stored of it.

    The credential itself has 256 bits of entropy, so a slow password hash would add nothing.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
