"""The page of faults names tests and mutants that there are."""

import ast
import re
from typing import Final

from tests.docs.pages import ROOT
from tests.simulation.mutants import BY_NAME

PAGE: Final = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
TESTS: Final = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)
MUTANTS: Final = re.findall(r"mutant `([^`]+)`", PAGE)


def functions_of(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_page_names_is_there() -> None:
    assert [(path, name) for path, name in TESTS if name not in functions_of(path)] == []


def test_every_mutant_that_the_page_names_is_there() -> None:
    assert set(MUTANTS) - set(BY_NAME) == set()


def test_every_fault_has_what_finds_it() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "Found by" not in line]
    assert len(TESTS) + len(MUTANTS) >= len(rows) > 0
