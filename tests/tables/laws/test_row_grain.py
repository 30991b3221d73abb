"""Laws of tables with marks: serial executors, pairs, copies of the log, changes, and bounds."""

from pathlib import Path

import pytest

from tests.tables.laws.row_bounds import hunt_bounds
from tests.tables.laws.row_mutants import BY_NAME, hunt
from tests.tables.laws.row_pairs import hunt_pairs
from tests.tables.laws.row_play import laws_of, play

MANY = range(100, 400)


@pytest.mark.parametrize(("law", "seeds"), [("history", 2), ("history of files", 1)])
def test_versions_are_what_a_serial_executor_makes(law: str, seeds: int) -> None:
    """At each level every version, its changes and its queries show the statements in log order."""
    for seed in range(seeds):
        play(law, seed)


def test_statements_over_different_rows_of_a_file_commit() -> None:
    """Statements that meet in a row never both commit."""
    for seed in range(6):
        play("pairs", seed)


def test_statements_that_meet_in_a_row_at_the_grain_of_files(tmp_path: Path) -> None:
    for seed in range(2):
        hunt_pairs(tmp_path / str(seed), seed, rows="rewrite", must_commit=False)


def test_copies_of_a_log_have_equal_rows_and_equal_published_bytes() -> None:
    play("copies", 0)


def test_bounds_hide_no_conflict(tmp_path: Path) -> None:
    """A statement whose condition holds for a new row of a winner loses."""
    for seed in range(6):
        play("bounds", seed)
    hunt_bounds(tmp_path / "files", 0, rows="rewrite")


@pytest.mark.parametrize("name", ["rows changed twice", "marks not translated", "rows not placed"])
def test_a_broken_rule_is_told(name: str) -> None:
    assert hunt(BY_NAME[name], seeds=3) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_every_broken_rule_is_told(name: str) -> None:
    assert hunt(BY_NAME[name]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_many_histories_of_rows(seed: int) -> None:
    """The same for many histories."""
    for law in laws_of(seed):
        play(law, seed)
