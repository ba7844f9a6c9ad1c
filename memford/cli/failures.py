"""Turns what went wrong into a line for the terminal."""

from collections.abc import Mapping

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from pydantic import ValidationError

from memford.core.errors import MemfordError


def readable(error: Exception) -> str:
    """Say what went wrong without a traceback and without the value of any setting."""
    match error:
        case ImproperlyConfigured():
            return str(error)
        case MemfordError():
            return _with_fields(error)
        case ValidationError():
            return "; ".join(_setting(tuple(each["loc"]), each["msg"]) for each in error.errors())
        case DatabaseError():
            return f"The database cannot be used: {_one_line(error)}"
        case _:
            return f"{type(error).__name__}: {_one_line(error)} (MEMFORD_DEBUG=1 shows more)"


def _with_fields(error: MemfordError) -> str:
    """Return the message of an error, or what is wrong field by field where it says so."""
    fields = error.data.get("fields")
    if isinstance(fields, Mapping) and fields:
        return "; ".join(f"{name}: {text}" for name, text in fields.items())
    return error.message


def _setting(location: tuple[int | str, ...], message: str) -> str:
    """Name a setting as one writes it in the environment."""
    name = str(location[0]) if location else "The environment"
    if name.islower():
        name = f"MEMFORD_{name.upper()}"
    return f"{name}: {message}"


def _one_line(error: Exception) -> str:
    """Return the first line of an error's text."""
    return next(iter(str(error).splitlines()), "no details")
