"""A terminal: the real command in processes of its own, with folders of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.live import ROOT

COMMAND = [sys.executable, "-m", "memford.cli"]
LIMIT_SECONDS = 60


@dataclass
class Terminal:
    """Runs ``memford`` as one user does; nothing of the test's environment that decides where it goes is handed on."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)
    here: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Return what the command finds."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMFORD_")}
        for store in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE"):
            kept.pop(store, None)
        return {
            **kept,
            "HOME": str(self.home),
            "MEMFORD_CONFIG_DIR": str(self.home / "config"),
            "MEMFORD_STATE_DIR": str(self.home / "state"),
            "MEMFORD_CREDENTIALS": "file",
            "PYTHONPATH": str(ROOT),
            **self.variables,
        }

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """Start the command and do not wait."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        here = self.here or self.home
        return subprocess.Popen([*COMMAND, *arguments], cwd=here, env=self.environment, text=True, **{**pipes, **more})

    def run(self, *arguments: str, typed: str = "", status: int = 0) -> str:
        """Run the command to its end and return what it printed; ``status`` is how it must end."""
        process = self.start(*arguments)
        printed, said = process.communicate(typed, timeout=LIMIT_SECONDS)
        assert process.returncode == status, f"ended with {process.returncode}\n{printed}\n{said}"
        self.said = said
        return printed

    def json(self, *arguments: str, typed: str = "", status: int = 0) -> Any:
        """The same, with what it printed as JSON: one object and nothing else."""
        return json.loads(self.run(*arguments, "--json", typed=typed, status=status))
