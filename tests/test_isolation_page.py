"""The page on isolation says what the rules do: its tables are made by them."""

from itertools import product
from pathlib import Path
from typing import Final

import pytest

from ledger.core.commands import LEVELS, IsolationLevel
from tests import row_matrix
from tests.matrix import PASSES, STATEMENTS, Statement, outcome, page, rules_list
from tests.row_matrix import BRINGERS, NAME_A_ROW, READERS, against_new_row, new_rows, side_by_side

PAGE = Path(__file__).parents[1] / "docs" / "isolation.md"
BY_ROW: Final[tuple[IsolationLevel, ...]] = ("WriteSerializable", "SnapshotIsolation")
ROW_PAIRS: Final = list(product(NAME_A_ROW, NAME_A_ROW))
NEW_ROW_PAIRS: Final = list(product(READERS, BRINGERS))


@pytest.mark.parametrize("made", [page, rules_list, row_matrix.page, new_rows])
def test_each_table_of_the_page_is_the_one_the_rules_make(made: object) -> None:
    assert callable(made)
    assert made() in PAGE.read_text(encoding="utf-8"), "run make docs"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("loser", STATEMENTS, ids=lambda each: each.name)
@pytest.mark.parametrize("winner", STATEMENTS, ids=lambda each: each.name)
def test_disjoint_partitions(loser: Statement, winner: Statement, level: IsolationLevel) -> None:
    """Statements in different partitions never conflict, at any level."""
    assert outcome(loser, winner, level, same_partition=False) == PASSES


@pytest.mark.parametrize("level", BY_ROW)
@pytest.mark.parametrize(("loser", "winner"), ROW_PAIRS)
def test_statements_on_different_rows_of_one_file_both_commit(
    loser: str, winner: str, level: IsolationLevel
) -> None:
    assert side_by_side(loser, winner, level, one_row=False) == PASSES


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("loser", "winner"), ROW_PAIRS)
def test_one_row_is_never_changed_by_both(loser: str, winner: str, level: IsolationLevel) -> None:
    assert side_by_side(loser, winner, level, one_row=True) != PASSES


@pytest.mark.parametrize("level", BY_ROW)
@pytest.mark.parametrize("statement", NAME_A_ROW)
def test_a_rewrite_and_a_statement_both_commit(statement: str, level: IsolationLevel) -> None:
    """OPTIMIZE hurts no statement that names rows, and none hurts it, whichever commits first."""
    assert side_by_side("OPTIMIZE", statement, level, one_row=False) == PASSES
    assert side_by_side(statement, "OPTIMIZE", level, one_row=False) == PASSES


@pytest.mark.parametrize("level", BY_ROW)
@pytest.mark.parametrize(("reader", "bringer"), NEW_ROW_PAIRS)
def test_a_new_row_that_misses_a_condition_does_not_meet_it(
    reader: str, bringer: str, level: IsolationLevel
) -> None:
    assert against_new_row(reader, bringer, level, fulfils=False) == PASSES


@pytest.mark.parametrize(("reader", "bringer"), NEW_ROW_PAIRS)
def test_a_new_row_that_fulfils_a_condition_meets_it(reader: str, bringer: str) -> None:
    """Only blind appends count as later, and only under WriteSerializable."""
    assert against_new_row(reader, bringer, "Serializable", fulfils=True) != PASSES
    found = against_new_row(reader, bringer, "WriteSerializable", fulfils=True)

    assert (found == PASSES) == (bringer == "INSERT of a row")
