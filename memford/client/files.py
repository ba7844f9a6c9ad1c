"""Files that are the user's alone, and whole: what is written is there after a crash, or what was there before."""

import os
import secrets
from pathlib import Path
from typing import Final

import platformdirs

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600


def config_folder() -> Path:
    """Return where logins are kept; ``MEMFORD_CONFIG_DIR`` names another place."""
    return _folder("MEMFORD_CONFIG_DIR", platformdirs.user_config_path("memford"))


def state_folder() -> Path:
    """Return where pending writes are kept; ``MEMFORD_STATE_DIR`` names another place."""
    return _folder("MEMFORD_STATE_DIR", platformdirs.user_state_path("memford"))


def _folder(variable: str, usual: Path) -> Path:
    folder = Path(os.environ.get(variable) or usual)
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    return folder


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step: the disk has all of the new text before the name means it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder outlast a crash, where the system knows how."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
