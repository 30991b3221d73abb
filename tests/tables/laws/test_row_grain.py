"""Laws of tables with marks: serial executors, pairs, copies of the log, changes, and bounds."""

from pathlib import Path

import pytest

from tests.tables.laws.row_bounds import hunt_bounds
from tests.tables.laws.row_mutants import BY_NAME, hunt
from tests.tables.laws.row_pairs import hunt_pairs
from tests.tables.laws.row_play import laws_of, play, play_copies, play_rows

MANY = range(100, 400)


@pytest.mark.parametrize("rows", ["marks", "rewrite"])
def test_versions_are_what_a_serial_executor_makes(tmp_path: Path, rows: str) -> None:
    """At each level every version, its changes and its queries show the statements in log order."""
    for seed in range(3 if rows == "marks" else 1):
        play_rows(tmp_path / str(seed), seed, rows=rows)


def test_statements_over_different_rows_of_a_file_commit(tmp_path: Path) -> None:
    """Statements that meet in a row never both commit."""
    for seed in range(10):
        hunt_pairs(tmp_path / str(seed), seed)


def test_statements_that_meet_in_a_row_at_the_grain_of_files(tmp_path: Path) -> None:
    for seed in range(3):
        hunt_pairs(tmp_path / str(seed), seed, rows="rewrite", must_commit=False)


def test_copies_of_a_log_have_equal_rows_and_equal_published_bytes(tmp_path: Path) -> None:
    play_copies(tmp_path, 0)


@pytest.mark.parametrize("rows", ["marks", "rewrite"])
def test_bounds_hide_no_conflict(tmp_path: Path, rows: str) -> None:
    """A statement whose condition holds for a new row of a winner loses."""
    for seed in range(8 if rows == "marks" else 2):
        hunt_bounds(tmp_path / str(seed), seed, rows=rows)


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
