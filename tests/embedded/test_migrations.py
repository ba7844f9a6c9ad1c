"""Several instances that start at once bring one database to the schema, and one of them does it (S1, S4)."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg

from tests.embedded.test_stores import running_stores
from tests.live import ROOT

MIGRATE = """
import django
django.setup()
from memford.embedded.migrations import migrate_once
print("migrated" if migrate_once() else "found done")
"""
INSTANCES = 3


def test_of_instances_that_start_at_once_one_migrates_and_the_others_wait(tmp_path: Path) -> None:
    with running_stores(tmp_path / "data") as running:
        environment = {**os.environ, **running.stores.environment}
        command = [sys.executable, "-W", "error", "-c", MIGRATE]
        processes = [
            subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(INSTANCES)
        ]
        answers = [process.communicate(timeout=120) for process in processes]
        assert [process.returncode for process in processes] == [0] * INSTANCES, answers
        assert sorted(said.strip() for said, _ in answers) == ["found done", "found done", "migrated"]
        with psycopg.connect(running.stores.environment["MEMFORD_SYSTEM_DATABASE_URL"]) as database:
            invalid = database.execute("SELECT count(*) FROM pg_index WHERE NOT indisvalid").fetchone()
        assert invalid == (0,)
