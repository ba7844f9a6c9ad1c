"""The one error of this package."""


class EmbeddedError(Exception):
    """Something keeps an instance from starting; the message says, for the terminal, what to do next."""
