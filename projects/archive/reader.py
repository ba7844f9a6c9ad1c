"""Reading an archive's JSON strictly and piece by piece, so that memory holds one note and not the whole file.

The members of the archive and of its content come in one order (docs/archive.md), which is what makes that possible.
Nothing that a file can hold raises anything but :class:`Unreadable`.
"""

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NoReturn

from memford.core.limits import limits
from projects.archive.form import FORMAT, MEMBERS, SECTIONS, VERSION, ContentDigest, canonical

CHUNK_BYTES: Final = 1_048_576
NUMBER_MAX_CHARS: Final = 16
# What is neither a note nor a standard is small.
SMALL_MAX_CHARS: Final = 262_144
OPENINGS_MAX: Final = 2_000_000
SHOWN_CHARS: Final = 60
_SPACE: Final = " \t\n\r"
_ARRAYS: Final = frozenset({"activity", "notes", "standards"})


class Unreadable(Exception):
    """The file is no archive from this place on; nothing behind it can be looked at."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


class _NotTaken(Exception):
    """JSON that is correct and yet not taken."""


def shown(value: object) -> str:
    """Return what a file holds as it may stand in a message: short, and in ASCII."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = ascii(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _integer(text: str) -> int:
    if len(text) > NUMBER_MAX_CHARS:
        raise _NotTaken(f"holds the number {text[:NUMBER_MAX_CHARS]}…, which is too large")
    return int(text)


def _no_fraction(text: str) -> NoReturn:
    raise _NotTaken(f"holds {shown(text)}; the numbers of an archive are integers")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _NotTaken("holds an object that names a member twice")
    return members


_JSON: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_integer, parse_float=_no_fraction, parse_constant=_no_fraction
)


class JsonStream:
    """A JSON text of which one value at a time is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0
        self._read = 0
        self._has_ended = False

    def peek(self, place: str) -> str:
        """Return the next character that is no white space; an empty one at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._has_ended:
                return ""
            self._fill(place, CHUNK_BYTES)

    def take(self, character: str, place: str) -> None:
        """Go past one character.

        Raises:
            Unreadable: Something else stands there.
        """
        found = self.peek(place)
        if found != character:
            what = shown(found) if found else "the end of the file"
            raise Unreadable(place, f"is not as it should be: {what} stands where {character!r} is due")
        self._at += 1

    def value(self, place: str, most: int | None = None) -> Any:
        """Return the next value, which has at most ``most`` characters or little more.

        Raises:
            Unreadable: It is no JSON, too large, too deep, or holds what archives do not.
        """
        self.peek(place)
        while True:
            self._refuse_many(place)
            try:
                value, end = _JSON.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._has_ended:
                    raise Unreadable(place, f"is not JSON: {error.msg}") from None
            except RecursionError:
                raise Unreadable(place, "is nested too deeply") from None
            except _NotTaken as error:
                raise Unreadable(place, str(error)) from None
            else:
                # A number may go on behind what is read so far.
                if end < len(self._text) or self._has_ended:
                    self._at = end
                    return value
            self._grow(place, SMALL_MAX_CHARS if most is None else most)

    def _refuse_many(self, place: str) -> None:
        """Refuse what would become very many objects: in memory an empty one is thirty times its text."""
        openings = self._text.count("{", self._at) + self._text.count("[", self._at)
        if openings > OPENINGS_MAX:
            raise Unreadable(place, f"holds more than {OPENINGS_MAX} brackets and braces")

    def _grow(self, place: str, most: int) -> None:
        """Read as much again as is being looked at, so that a long value is not looked at too often."""
        size = len(self._text) - self._at
        if size > most:
            raise Unreadable(place, f"has more than {most} characters, or is not JSON")
        self._fill(place, max(size, CHUNK_BYTES))

    def _fill(self, place: str, size: int) -> None:
        data = self._file.read(size)
        self._read += len(data)
        most = limits().archive_max_bytes
        if self._read > most:
            raise Unreadable("archive", f"has more than {most} bytes")
        try:
            text = self._utf8.decode(data, final=not data)
        except UnicodeDecodeError:
            raise Unreadable(place, "is not UTF-8") from None
        self._has_ended = not data
        self._text = self._text[self._at :] + text
        self._at = 0


Part = tuple[str, int, Any]


def read_parts(file: BinaryIO) -> Iterator[Part]:
    """Return an archive's parts in their order, as (section, index, value).

    Each value is JSON of the right place and of any form. Behind the last part the digest is compared.

    Raises:
        Unreadable: The file is no archive of this version, or its digest is another.
    """
    stream = JsonStream(file)
    digest = ContentDigest()
    for member in MEMBERS:
        stream.take("{" if member == MEMBERS[0] else ",", "archive")
        _take_name(stream, member, "archive", MEMBERS)
        if member == "content":
            yield from _content(stream, digest)
        else:
            value = stream.value(member)
            _check_member(member, value, digest)
            if member in {"counts", "exported_at", "sha256"}:
                yield member, 0, value
    stream.take("}", "archive")
    if stream.peek("archive"):
        raise Unreadable("archive", "goes on behind its end")


def _take_name(stream: JsonStream, name: str, place: str, names: tuple[str, ...]) -> None:
    found = stream.value(place)
    if found != name:
        order = ", ".join(names)
        raise Unreadable(place, f"has {shown(found)} where {name!r} is due; its members are {order}, in this order")
    stream.take(":", place)


def _check_member(name: str, value: Any, digest: ContentDigest) -> None:
    if name == "format" and value != FORMAT:
        raise Unreadable(name, f"is not {FORMAT!r}: this is no archive of a Memford project")
    if name == "version" and (value != VERSION or isinstance(value, bool)):
        raise Unreadable(name, f"is {shown(value)}; version {VERSION} is known here")
    if name == "sha256" and value != digest.hex():
        raise Unreadable(
            name, f"is not that of the content, which is {digest.hex()}: the archive was changed or damaged"
        )


def _content(stream: JsonStream, digest: ContentDigest) -> Iterator[Part]:
    for section in SECTIONS:
        opening = "{" if section == SECTIONS[0] else ","
        stream.take(opening, "content")
        _take_name(stream, section, "content", SECTIONS)
        digest.add(opening.encode() + canonical(section) + b":")
        if section in _ARRAYS:
            yield from _array(stream, section, digest)
        else:
            value = stream.value(section)
            digest.add(_canonical(value, section))
            yield section, 0, value
    stream.take("}", "content")
    digest.add(b"}")


def _array(stream: JsonStream, section: str, digest: ContentDigest) -> Iterator[Part]:
    stream.take("[", section)
    digest.add(b"[")
    index = 0
    while stream.peek(section) != "]":
        place = f"{section}[{index}]"
        if index:
            stream.take(",", section)
            digest.add(b",")
        value = stream.value(place, None if section == "activity" else limits().archive_element_max_chars)
        digest.add(_canonical(value, place))
        yield section, index, value
        index += 1
    stream.take("]", section)
    digest.add(b"]")


def _canonical(value: Any, place: str) -> bytes:
    try:
        return canonical(value)
    except RecursionError:
        raise Unreadable(place, "is nested too deeply") from None
