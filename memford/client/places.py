"""Which server, project and credential a command means (C1).

In this order: what the command line says; the environment (``MEMFORD_URL``, ``MEMFORD_API_KEY``, ``MEMFORD_PROJECT``);
``.memford.toml``, looked for from the working directory upward; the logins. A key of the environment is only ever sent
to the server that the environment or the command line names, never to one that a file in a repository names.
"""

import hashlib
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memford.client.credentials import Credentials, Login
from memford.client.errors import ClientError, SignedOut

if TYPE_CHECKING:
    import httpx2

    from memford.client.memory import AsyncMemory

FILE_NAME: Final = ".memford.toml"
_KNOWN: Final = {"url", "project"}


@dataclass(frozen=True)
class Wishes:
    """What was said, and by what."""

    url: str | None = None
    url_from: str = ""
    project: str | None = None
    project_from: str = ""


@dataclass(frozen=True)
class Target:
    """One server and credential, and why it is this one."""

    url: str
    why: str
    project: str | None
    connection: str
    key: str | None = None
    login: Login | None = None
    credentials: Credentials | None = None

    def __repr__(self) -> str:
        return f"Target({self.url!r}, {self.connection!r})"

    @property
    def project_id(self) -> str | None:
        """The project's id, where a login knows it."""
        return self.login.project_id if self.login else None

    def auth(self) -> "httpx2.Auth":
        """Return what signs requests."""
        from memford.client.memory import KeyAuth
        from memford.client.oauth import LoginAuth

        if self.key is not None:
            return KeyAuth(self.key)
        if self.login is None or self.credentials is None:
            raise SignedOut("There is no credential.")
        return LoginAuth(self.credentials, self.login)

    def memory(self, mode: str = "auto") -> "AsyncMemory":
        """Return the memory behind it, not yet connected."""
        from memford.client.memory import AsyncMemory

        return AsyncMemory(self.url, auth=self.auth(), mode=mode)


def resolve(url: str | None = None, project: str | None = None, *, credentials: Credentials | None = None) -> Target:
    """Return what a command means.

    Raises:
        SignedOut: There is no credential for it.
        ClientError: What was said is not clear, or ``.memford.toml`` cannot be used.
    """
    wishes = wishes_of(url, project)
    key = os.environ.get("MEMFORD_API_KEY")
    if key:
        return _by_key(wishes, key)
    credentials = credentials or Credentials()
    return _by_login(wishes, credentials)


def wishes_of(url: str | None, project: str | None) -> Wishes:
    """Return which server and project were asked for."""
    given = [
        ("the command line", url, project),
        ("the environment", os.environ.get("MEMFORD_URL"), os.environ.get("MEMFORD_PROJECT")),
    ]
    path = find_file(Path.cwd())
    if path is not None:
        values = read_file(path)
        given.append((str(path), values.get("url"), values.get("project")))
    named_url = next(((where, each) for where, each, _ in given if each), ("", None))
    named_project = next(((where, each) for where, _, each in given if each), ("", None))
    wished_url = None if named_url[1] is None else normal(named_url[1])
    return Wishes(wished_url, named_url[0], named_project[1], named_project[0])


def normal(url: str) -> str:
    """Return a server's public URL in one form.

    Raises:
        ClientError: It is none.
    """
    from memford.client.memory import mcp_url

    return mcp_url(url).removesuffix("/mcp")


def find_file(start: Path) -> Path | None:
    """Return the nearest ``.memford.toml`` in a folder or above it."""
    return next((folder / FILE_NAME for folder in [start, *start.parents] if (folder / FILE_NAME).is_file()), None)


def read_file(path: Path) -> dict[str, str]:
    """Return what a ``.memford.toml`` says.

    Raises:
        ClientError: It is no TOML, holds something else than ``url`` and ``project``, or something like a secret.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ClientError(f"{path} cannot be read as TOML: {error}.") from error
    if "mfk_" in str(values) or {"key", "token", "api_key", "secret"} & values.keys():
        raise ClientError(
            f"{path} holds a secret, and is shared with the repository. Take it out, revoke the key, and sign in."
        )
    unknown = sorted(values.keys() - _KNOWN)
    if unknown or not all(isinstance(value, str) for value in values.values()):
        raise ClientError(
            f"{path} may say url and project, each as text; it says {', '.join(unknown) or 'other things'}."
        )
    return values


def _by_key(wishes: Wishes, key: str) -> Target:
    if wishes.url is None or wishes.url_from not in {"the command line", "the environment"}:
        raise ClientError("MEMFORD_API_KEY is set, but not for which server: set MEMFORD_URL as well, or give --url.")
    fingerprint = hashlib.sha256(key.encode()).hexdigest()[:12]
    why = f"the server by {wishes.url_from}, the key by the environment"
    return Target(wishes.url, why, wishes.project, f"key:{fingerprint}", key=key)


def _by_login(wishes: Wishes, credentials: Credentials) -> Target:
    logins = credentials.logins()
    fitting = [each for each in logins if wishes.url in {None, each.url}]
    if not fitting:
        where = f" for {wishes.url}" if wishes.url else ""
        command = f"memford login --url {wishes.url or 'https://…'}"
        raise SignedOut(f"You are not signed in{where}. Sign in by: {command}")
    if wishes.project:
        fitting = [each for each in fitting if wishes.project in {each.project_id, each.project_name}]
        if not fitting:
            raise SignedOut(
                f"None of your logins is for the project {wishes.project!r} (asked for by {wishes.project_from}). "
                "`memford status` lists them; `memford login` adds one."
            )
    login = fitting[-1]
    said = [
        f"the server by {wishes.url_from}" if wishes.url else "",
        wishes.project_from and f"the project by {wishes.project_from}",
    ]
    why = (
        ", ".join(each for each in said if each) or "the only login"
        if len(fitting) == 1
        else "the newest login that fits"
    )
    return Target(login.url, why, wishes.project, login.connection, login=login, credentials=credentials)
