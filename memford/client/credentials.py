"""Logins: which server and project each is for, and the secrets that prove it (C4).

What is no secret stands in ``logins.json``. Secrets are in the system's keyring where there is one, else in a file for
each login, which is the user's alone. Both are only changed under a file lock, after reading again.
"""

import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from memford.client.errors import ClientError
from memford.client.files import FILE_MODE, config_folder, write_whole

LOCK_TIMEOUT_SECONDS: Final = 60
SERVICE: Final = "memford"


class Login(BaseModel):
    """One login, without its secrets."""

    model_config = ConfigDict(frozen=True)

    id: str
    url: str
    project_id: str
    project_name: str
    access: str
    made_at: str

    @classmethod
    def new(cls, *, url: str, project_id: str, project_name: str, access: str) -> "Login":
        """Return a login that begins now."""
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(
            id=uuid.uuid4().hex,
            url=url,
            project_id=project_id,
            project_name=project_name,
            access=access,
            made_at=made_at,
        )

    @property
    def connection(self) -> str:
        """The stable name of the credential: what is pending was written with it."""
        return f"oauth:{self.id}"


class Secrets(BaseModel):
    """What proves a login: the client's registration, and the tokens with the time at which the first of them ends."""

    client: dict[str, Any]
    tokens: dict[str, Any]
    expires_at: float

    def __repr__(self) -> str:
        return "Secrets()"

    __str__ = __repr__

    @property
    def is_fresh(self) -> bool:
        """Whether the access token is still good, by this machine's clock."""
        return time.time() < self.expires_at


class Vault(Protocol):
    """Where secrets lie."""

    @property
    def name(self) -> str:
        """What it is called: ``keyring`` or ``file``."""

    def get(self, login_id: str) -> str | None:
        """Return what was put there."""

    def put(self, login_id: str, secret: str) -> None:
        """Keep it."""

    def remove(self, login_id: str) -> None:
        """Forget it; what is not there is no error."""


@dataclass(frozen=True)
class FileVault:
    """A file of mode 0600 for each login."""

    folder: Path
    name: str = "file"

    def get(self, login_id: str) -> str | None:
        """Return what was put there."""
        try:
            return self._path(login_id).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def put(self, login_id: str, secret: str) -> None:
        """Keep it."""
        write_whole(self._path(login_id), secret)

    def remove(self, login_id: str) -> None:
        """Forget it."""
        self._path(login_id).unlink(missing_ok=True)

    def _path(self, login_id: str) -> Path:
        return self.folder / f"secrets-{login_id}.json"


@dataclass(frozen=True)
class KeyringVault:
    """The system's keyring."""

    name: str = "keyring"

    def get(self, login_id: str) -> str | None:
        """Return what was put there."""
        import keyring

        return keyring.get_password(SERVICE, login_id)

    def put(self, login_id: str, secret: str) -> None:
        """Keep it."""
        import keyring

        keyring.set_password(SERVICE, login_id, secret)

    def remove(self, login_id: str) -> None:
        """Forget it."""
        import keyring
        from keyring.errors import PasswordDeleteError

        try:
            keyring.delete_password(SERVICE, login_id)
        except PasswordDeleteError:
            return


def usual_vault(folder: Path) -> Vault:
    """Return the keyring where there is one that works without asking somebody, else files.

    ``MEMFORD_CREDENTIALS=file`` or ``keyring`` decides it.
    """
    wish = os.environ.get("MEMFORD_CREDENTIALS", "")
    if wish == "file":
        return FileVault(folder)
    import keyring

    if wish == "keyring" or keyring.get_keyring().priority >= 1:
        return KeyringVault()
    return FileVault(folder)


class Credentials:
    """All logins of this user."""

    def __init__(self, folder: Path | None = None, vault: Vault | None = None) -> None:
        self._folder = folder or config_folder()
        self._path = self._folder / "logins.json"
        self._vault = vault or usual_vault(self._folder)

    @property
    def vault_name(self) -> str:
        """Where the secrets lie: ``keyring`` or ``file``."""
        return self._vault.name

    def logins(self) -> list[Login]:
        """Return all logins, oldest first.

        Raises:
            ClientError: The file cannot be read.
        """
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return [Login.model_validate(each) for each in found["logins"]]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, KeyError, ValidationError) as error:
            raise ClientError(f"{self._path} is damaged. Move it away and sign in again.") from error

    def secrets(self, login: Login) -> Secrets | None:
        """Return what proves a login, as it is stored now; ``None`` where it is gone or cannot be read."""
        text = self._vault.get(login.id)
        try:
            return Secrets.model_validate_json(text) if text else None
        except ValidationError:
            return None

    def add(self, login: Login, secrets: Secrets) -> None:
        """Keep a new login; the newest is the last."""
        with self.locked():
            self._vault.put(login.id, secrets.model_dump_json())
            self._store([*self.logins(), login])

    def renew(self, login: Login, secrets: Secrets) -> None:
        """Replace a login's secrets; the caller holds its lock."""
        self._vault.put(login.id, secrets.model_dump_json())

    def remove(self, login: Login) -> None:
        """Forget a login with its secrets."""
        with self.locked():
            self._store([each for each in self.logins() if each.id != login.id])
            self._vault.remove(login.id)

    def _store(self, logins: list[Login]) -> None:
        write_whole(self._path, json.dumps({"logins": [each.model_dump() for each in logins]}, indent=1))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the list of logins."""
        with self._lock("logins"):
            yield

    def lock_of(self, login: Login) -> FileLock:
        """Return the lock of one login, not yet held; it ends with the process, however that ends."""
        return self._lock(f"login-{login.id}")

    def _lock(self, name: str) -> FileLock:
        # One object may be asked for by several tasks, and released by another thread than it was taken by.
        return FileLock(self._folder / f"{name}.lock", timeout=LOCK_TIMEOUT_SECONDS, mode=FILE_MODE, thread_local=False)
