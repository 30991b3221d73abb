"""A table that is read and not declared is found out: the laws of histories tell such a mutant."""

from pathlib import Path
from typing import Final

import pytest

from ledger.work.writes import DeclaredWrites
from tests.isolation.mutants import Mutant, Swap, broken
from tests.tables.laws.test_histories import play

SEEDS: Final = range(12)


def undeclared(_: DeclaredWrites, __: object) -> None:
    """Note nothing of a read."""


SILENT: Final = Mutant(
    "a snapshot that reads and declares nothing", [Swap(DeclaredWrites, "read", undeclared)]
)


def is_told(folder: Path, seed: int) -> bool:
    """Return whether the history of a seed breaks a law."""
    folder.mkdir()
    try:
        play(folder, seed)
    except (AssertionError, pytest.fail.Exception):
        return True
    return False


def test_a_read_that_is_not_declared_is_told(tmp_path: Path) -> None:
    """One history at least ends otherwise if the statements declare no read."""
    with broken(SILENT):
        assert any(is_told(tmp_path / str(seed), seed) for seed in SEEDS)
