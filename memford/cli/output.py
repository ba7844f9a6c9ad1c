"""What the client's commands share: one JSON object or words for people, and what the exit status means (C1)."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Annotated, Any, Final

import typer

from memford.client.errors import ClientError

UrlOption = Annotated[
    str | None, typer.Option("--url", help="The server. [default: see `memford status`]", metavar="URL")
]
ProjectOption = Annotated[
    str | None, typer.Option("--project", help="Name or id, where several logins fit.", metavar="PROJECT")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


class Exit(IntEnum):
    """Exit statuses; they never change their meaning."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNVERIFIED = 3
    SIGNED_OUT = 4
    FORBIDDEN = 5
    UNREACHABLE = 6
    UNRESOLVED = 7


# All of C0 and C1 but line breaks and tabs, and what turns the direction of writing.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_BY_CODE = {
    "signed_out": Exit.SIGNED_OUT,
    "forbidden": Exit.FORBIDDEN,
    "unreachable": Exit.UNREACHABLE,
    "saving_unverified": Exit.UNVERIFIED,
    "unresolved": Exit.UNRESOLVED,
}


def status_of(error: ClientError) -> Exit:
    """Return the exit status that an error means."""
    return _BY_CODE.get(error.code, Exit.FAILED)


def visible(words: str) -> str:
    """Return words as a terminal may show them: what would steer it is shown and not obeyed.

    Notes are written by whoever may write, and a terminal takes some characters for orders.
    """
    return _CONTROLS.sub(lambda found: f"\\x{ord(found.group()):02x}", words)


def say(words: str) -> None:
    """Tell a person something; standard output stays for the answer."""
    sys.stderr.write(f"{visible(words)}\n")


def answer(data: dict[str, Any], words: str, *, as_json: bool) -> None:
    """Print what was asked for: to the letter into a file or pipe, and harmless on a terminal."""
    is_terminal = sys.stdout.isatty()
    if as_json:
        words = json.dumps(data, ensure_ascii=is_terminal)
    sys.stdout.write(f"{visible(words) if is_terminal else words}\n")
    sys.stdout.flush()


@contextmanager
def told(*, as_json: bool) -> Iterator[None]:
    """End the command with the right status where something goes wrong, and say what to do next."""
    try:
        yield
    except ClientError as error:
        if as_json:
            sys.stdout.write(f"{json.dumps({'error': {'code': error.code, 'message': error.message}})}\n")
        say(f"memford: {error.message}")
        raise typer.Exit(status_of(error)) from None
    except KeyboardInterrupt:
        say("memford: Stopped.")
        raise typer.Exit(130) from None
