"""The mails that the server under test sent."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.live import wait_until


@dataclass
class Mailbox:
    """The folder that the server under test puts its mail into."""

    folder: Path

    def texts_to(self, address: str) -> list[str]:
        """Return the mails to an address, oldest first."""
        texts = [path.read_text() for path in sorted(self.folder.glob("[0-9]*.txt"))]
        return [text for text in texts if text.startswith(f"To: {address}\n")]

    def newest(self, address: str, *, count: int = 1) -> str:
        """Wait until ``count`` mails came to an address, and return the last."""
        wait_until(lambda: len(self.texts_to(address)) >= count, what=f"mail {count} to {address}")
        return self.texts_to(address)[-1]

    def code(self, address: str, *, count: int = 1) -> str:
        """Return the code in the newest mail."""
        found = re.search(r"^([A-Z0-9]{3,}(?:-[A-Z0-9]+)?)$", self.newest(address, count=count), re.MULTILINE)
        assert found
        return found.group(1)

    def link(self, address: str, *, count: int = 1) -> str:
        """Return the link in the newest mail that has one of its own."""
        found = re.search(r"^(http\S+/key/\S+)$", self.newest(address, count=count), re.MULTILINE)
        assert found
        return found.group(1)
