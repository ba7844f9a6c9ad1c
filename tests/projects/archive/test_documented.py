"""The example in docs/archive.md is an archive, and its recipe for the digest is right."""

import hashlib
import json
import re
from pathlib import Path

from tests.cast import Person
from tests.projects.archive.scenes import archive_of, load, read, without_ids

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "archive.md"


def example() -> bytes:
    """Return the archive that the document shows."""
    found = re.search(r"```json\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert found
    return found.group(1).encode()


def test_the_example_can_be_imported_and_comes_out_again(owner: Person) -> None:
    exported = without_ids(archive_of(owner, load(owner, example())))
    shown = without_ids(example())
    assert exported.keys() == shown.keys()
    assert exported["notes"][0]["revisions"][0] == shown["notes"][0]["revisions"][0]
    assert exported["standards"][0]["revisions"][0]["content"] == "Write SI units."


def test_the_recipe_gives_the_digest() -> None:
    content = read(example())["content"]
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == read(example())["sha256"]
