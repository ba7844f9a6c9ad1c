"""The contract and its proofs belong together: no rule without a line, no line without a test."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.contract.manifest import OPEN, PARTLY, PROVED

TESTS = Path(__file__).resolve().parent.parent
CONTRACT = TESTS.parent / "docs" / "contract.md"


def rules() -> list[str]:
    """Return the numbers of all rules, as the contract prints them."""
    return re.findall(r"^- \*\*([A-Z]+\d+)\*?\*?", CONTRACT.read_text(), re.MULTILINE)


@cache
def names_of_tests(file: str) -> frozenset[str]:
    """Return the names of a file's tests, a class's with its name before them."""
    path = TESTS / file
    if not path.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            inner = (child for child in node.body if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))
            names |= {f"{node.name}.{child.name}" for child in inner}
    return frozenset(name for name in names if name.rpartition(".")[2].startswith("test_"))


def test_every_rule_has_one_line_and_every_line_a_rule() -> None:
    assert len(rules()) == len(set(rules()))
    assert not PROVED.keys() & OPEN.keys()
    assert set(rules()) == PROVED.keys() | OPEN.keys()
    assert PARTLY.keys() <= PROVED.keys()


@pytest.mark.parametrize("rule", PROVED)
def test_what_proves_a_rule_is_there(rule: str) -> None:
    assert PROVED[rule]
    for proof in PROVED[rule]:
        file, _, name = proof.partition("::")
        found = names_of_tests(file)
        assert found, f"{rule}: {file} has no tests"
        assert not name or name in found, f"{rule}: {proof} is not there"


def test_the_makefile_has_what_the_contract_names() -> None:
    makefile = (TESTS.parent / "Makefile").read_text()
    for target in ("setup", "run", "test", "check", "bench"):
        assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), target
