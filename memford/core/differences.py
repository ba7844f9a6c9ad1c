"""What two texts do not share, word by word."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from diff_match_patch import diff_match_patch

SECONDS_MAX: Final = 1.0
"""How long is looked for the smallest difference; after that a coarser one is good enough."""

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")

Kind = Literal["same", "added", "removed"]
_KINDS: Final[dict[int, Kind]] = {-1: "removed", 0: "same", 1: "added"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words that both texts have, or only the older, or only the newer."""

    kind: Kind
    text: str


def differences(older: str, newer: str) -> list[Piece]:
    """Return the pieces that lead from one text to the other.

    The older text is all that was not added, the newer all that was not removed. The library compares characters,
    so each distinct word, space or sign is one character to it.
    """
    numbers: dict[str, int] = {}
    texts = [_written(text, numbers) for text in (older, newer)]
    words = list(numbers)
    matcher = diff_match_patch()
    matcher.Diff_Timeout = SECONDS_MAX
    found = matcher.diff_main(*texts, False)
    matcher.diff_cleanupSemantic(found)
    return [Piece(_KINDS[kind], "".join(words[ord(each)] for each in run)) for kind, run in found if run]


def _written(text: str, numbers: dict[str, int]) -> str:
    return "".join(chr(numbers.setdefault(word, len(numbers))) for word in _WORDS.findall(text))
