"""The mail of an instance on one machine: a folder, and shown where ``memford up`` runs (S1)."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

KEPT_MAILS_MAX: Final = 50
RULE: Final = "-" * 72


class Mailbox:
    """A folder that the web processes put mails into, one file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shown = set(self._names())

    @property
    def url(self) -> str:
        """The folder as ``MEMFORD_MAIL_URL`` names it."""
        return self._folder.absolute().as_uri()

    def show_new(self) -> None:
        """Print what has come since the last look, and keep the newest fifty mails."""
        names = self._names()
        for name in names:
            if name not in self._shown:
                _show((self._folder / name).read_text(encoding="utf-8", errors="replace"))
        for name in names[:-KEPT_MAILS_MAX]:
            (self._folder / name).unlink(missing_ok=True)
        self._shown = set(names)

    def _names(self) -> list[str]:
        """Return the mails' names, oldest first; a mail being written has a dot in front."""
        try:
            return sorted(
                path.name for path in self._folder.iterdir() if path.name.endswith(".txt") and path.name[0] != "."
            )
        except FileNotFoundError:
            return []


def _show(text: str) -> None:
    """Print one mail between two rules, without what a terminal would take as a command."""
    plain = "".join(character for character in text if character.isprintable() or character == "\n")
    # The terminal may be gone by now; the mail stays in its folder.
    with suppress(OSError):
        sys.stderr.write(f"{RULE}\nMail (it goes nowhere else, because MEMFORD_MAIL_URL is not set)\n\n{plain}{RULE}\n")
        sys.stderr.flush()
