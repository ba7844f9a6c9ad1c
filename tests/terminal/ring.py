"""A keyring for tests: a file in place of the system's."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError


class Ring(KeyringBackend):
    """Keeps passwords in the file that ``TEST_RING`` names."""

    priority = 5

    def _all(self) -> dict[str, str]:
        path = Path(os.environ["TEST_RING"])
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _keep(self, all_of_them: dict[str, str]) -> None:
        Path(os.environ["TEST_RING"]).write_text(json.dumps(all_of_them))

    def get_password(self, service: str, username: str) -> str | None:
        """Return a password."""
        return self._all().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a password."""
        self._keep({**self._all(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        """Forget a password."""
        known = self._all()
        if known.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError(username)
        self._keep(known)
