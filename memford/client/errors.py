"""What can go wrong for a client, each with what to do next."""

from typing import Any


class ClientError(Exception):
    """Anything that a caller can act on; ``message`` says what to do next, ``code`` is stable."""

    code = "client_error"

    def __init__(self, message: str, *, code: str | None = None, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.data = data


class Unreachable(ClientError):
    """The server did not answer, or cannot answer just now: whether a write was stored is not known."""

    code = "unreachable"


class SignedOut(ClientError):
    """There is no credential, or the server does not take it any more."""

    code = "signed_out"


class Forbidden(ClientError):
    """The connection may not do this: it was approved for reading only."""

    code = "forbidden"


class Refused(ClientError):
    """A tool answered with an error; ``code`` is the server's (``checkpoint_conflict``, ``memory_changed`` …)."""

    code = "refused"


class Impatient(ClientError):
    """The memory changed again and again while it was being read."""

    code = "memory_changed"
