"""The page on isolation says what the rules do: its tables are made by them."""

from pathlib import Path

import pytest

from ledger.core.commands import LEVELS, IsolationLevel
from tests.matrix import PASSES, STATEMENTS, Statement, outcome, page, rules_list

PAGE = Path(__file__).parents[1] / "docs" / "isolation.md"


@pytest.mark.parametrize("made", [page, rules_list])
def test_each_table_of_the_page_is_the_one_the_rules_make(made: object) -> None:
    assert callable(made)
    assert made() in PAGE.read_text(encoding="utf-8"), "run make docs"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("loser", STATEMENTS, ids=lambda each: each.name)
@pytest.mark.parametrize("winner", STATEMENTS, ids=lambda each: each.name)
def test_disjoint_partitions(loser: Statement, winner: Statement, level: IsolationLevel) -> None:
    """Statements in different partitions never conflict, at any level."""
    assert outcome(loser, winner, level, same_partition=False) == PASSES
