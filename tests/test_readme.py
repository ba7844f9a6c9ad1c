"""The README's first write and first read, run exactly as printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx2

from tests.live import ROOT, free_port, wait_until

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_after(heading: str) -> list[str]:
    """Return the shell blocks of one chapter."""
    chapter = (ROOT / "README.md").read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return BLOCK.findall(chapter)


def test_the_first_steps_work_as_printed(tmp_path: Path) -> None:
    port = free_port()
    data_dir = tmp_path / "data"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMFORD_")}
    for store in ("DATABASE_URL", "REDIS_URL"):
        environment.pop(store, None)
    environment["MEMFORD_DATA_DIR"] = str(data_dir)
    command = [sys.executable, "-m", "memford", "up", "--port", str(port), "--workers", "1"]
    up = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:

        def answers() -> bool:
            try:
                return httpx2.get(f"http://localhost:{port}/healthz", timeout=2).status_code == 200
            except httpx2.HTTPError:
                return False

        wait_until(answers, limit_seconds=60, what="memford up")
        # The README speaks of the port and the folder of a fresh checkout; only these two are put in its words.
        script = "\n".join(blocks_after("First write, first read")).replace("8000", str(port))
        script = script.replace("first_agent.py", str(tmp_path / "first_agent.py")).replace(
            ".venv/bin/", f"{Path(sys.executable).parent}/"
        )
        done = subprocess.run(
            ["sh", "-eu", "-c", script],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        up.terminate()
        up.wait(15)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("The lamp turns once in 8 seconds.") >= 3
    assert "bootstrap - An agent was here." in done.stdout
