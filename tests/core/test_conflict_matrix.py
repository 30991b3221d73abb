"""Who loses against whom, statement by statement: the documented matrix, as it is decided here.

Rows are losers, columns winners (facts b.2, b.3). Where delta-spark and its documentation disagree
the documentation counts: two commits that only rearrange files and remove the same one have both
removed it.
"""

from typing import Any

import pytest

from ledger.core.commands import Footprint, TableDefinition, TableWrite
from ledger.core.events.events import TxnAborted, TxnCommitted
from tests.core.arena import BY_DAY, UNPARTITIONED, Arena, serializable, statement
from tests.core.parts import equals, footprint, partition

NAMES = {
    "CA": "ConcurrentAppend",
    "DR": "ConcurrentDeleteRead",
    "DD": "ConcurrentDeleteDelete",
    "ok": "",
}
WINNERS = ("INSERT", "INSERT SELECT", "UPDATE", "DELETE", "MERGE", "OPTIMIZE")
SAME_DAY = {
    "INSERT": "ok ok ok ok ok ok",
    "INSERT SELECT": "ca CA CA DR CA CA",
    "UPDATE": "ca CA CA DR CA CA",
    "DELETE": "ca CA CA DR CA CA",
    "MERGE": "ca CA CA DR CA CA",
    "OPTIMIZE": "ok ok DR DR DR DD",
}
# On a table without partitions the files may be others, and still every added file is in question.
OTHER_FILES = {
    "INSERT": "ok ok ok ok ok ok",
    "INSERT SELECT": "ca CA CA ok CA CA",
    "UPDATE": "ca CA CA ok CA CA",
    "DELETE": "ca CA CA ok CA CA",
    "MERGE": "ca CA CA ok CA CA",
    "OPTIMIZE": "ok ok ok ok ok ok",
}
LEVELS = ("WriteSerializable", "Serializable")
PAIRS = [
    (loser, winner, cell)
    for loser, cells in SAME_DAY.items()
    for winner, cell in zip(WINNERS, cells.split(), strict=True)
]
FILES_APART = [
    (loser, winner, cell)
    for loser, cells in OTHER_FILES.items()
    for winner, cell in zip(WINNERS, cells.split(), strict=True)
]


def at_level(made: TableDefinition, level: str) -> TableDefinition:
    return serializable(made) if level == "Serializable" else made


def expected(cell: str, level: str) -> str:
    """Return the exception of a cell; `ca` = only Serializable minds a blind append."""
    if cell == "ca":
        return NAMES["CA"] if level == "Serializable" else ""
    return NAMES[cell]


def exception(answer: Any) -> str:
    assert isinstance(answer, TxnCommitted | TxnAborted)
    if isinstance(answer, TxnCommitted):
        return ""
    assert answer.evidence is not None
    return answer.evidence.exception


def meet(arena: Arena, winner: Footprint, loser: Footprint) -> str:
    arena.wins(TableWrite(arena.table, 0, [], winner))
    return exception(arena.follows(TableWrite(arena.table, 0, [], loser)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("loser", "winner", "cell"), PAIRS)
def test_same_day(loser: str, winner: str, cell: str, level: str) -> None:
    """Two statements over one file of one day."""
    arena = Arena(at_level(BY_DAY, level))

    assert meet(arena, statement(winner), statement(loser)) == expected(cell, level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("loser", "winner"), [pair[:2] for pair in PAIRS])
def test_statements_over_different_days_meet_nowhere(loser: str, winner: str, level: str) -> None:
    arena = Arena(at_level(BY_DAY, level))

    assert meet(arena, statement(winner, "2", "b"), statement(loser)) == ""


def unpartitioned(name: str, path: str = "a") -> Footprint:
    """Return a statement on a table without partitions."""
    said = statement(name, path=path)
    return said._replace(
        adds=[partition() for _ in said.adds], removes_in=[partition() for _ in said.removes_in]
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("loser", "winner", "cell"), PAIRS)
def test_unpartitioned(loser: str, winner: str, cell: str, level: str) -> None:
    """Without partitions two statements over one file meet as on one day."""
    arena = Arena(at_level(UNPARTITIONED, level))

    assert meet(arena, unpartitioned(winner), unpartitioned(loser)) == expected(cell, level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("loser", "winner", "cell"), FILES_APART)
def test_unpartitioned_other_files(loser: str, winner: str, cell: str, level: str) -> None:
    """Without partitions only what removes alone, or is judged at the weakest level, passes."""
    arena = Arena(at_level(UNPARTITIONED, level))

    assert meet(arena, unpartitioned(winner, "b"), unpartitioned(loser)) == expected(cell, level)


# What the loser read (facts b.3); all remove file `c`, so that none of them is blind.
SCAN = {"reads": [equals("day", "1", "int")]}
READS: dict[str, tuple[TableDefinition, dict[str, Any]]] = {
    "predicate, partitioned": (BY_DAY, {**SCAN, "read": ["a"]}),
    "predicate, unpartitioned": (UNPARTITIONED, {**SCAN, "read": ["a"]}),
    "whole table": (BY_DAY, {"reads_whole": True}),
    "whole table, unpartitioned": (UNPARTITIONED, {"reads_whole": True}),
    "files only, partitioned": (BY_DAY, {"read": ["a"]}),
    "files only, unpartitioned": (UNPARTITIONED, {"read": ["a"]}),
    "removes only, partitioned": (BY_DAY, {}),
    "removes only, unpartitioned": (UNPARTITIONED, {}),
}
EFFECTS = ("added in range", "removed a", "removed b", "removed c")
READ_SETS = {
    "predicate, partitioned": "CA DR ok DD",
    "predicate, unpartitioned": "CA DR ok DD",
    "whole table": "CA DR DR DR",
    "whole table, unpartitioned": "CA DR DR DR",
    "files only, partitioned": "ok DR ok DD",
    "files only, unpartitioned": "CA DR ok DD",
    "removes only, partitioned": "ok ok ok DD",
    "removes only, unpartitioned": "CA ok ok DD",
}


def effect(name: str, made: TableDefinition) -> Footprint:
    """Return what a winner that is not blind did to the table."""
    where = [partition("1")] if made.partition_columns else [partition()]
    if name == "added in range":
        return footprint("MERGE", adds=where, not_blind=True)
    return footprint("DELETE", remove=[name[-1]], removes_in=where)


@pytest.mark.parametrize(
    ("read_set", "winner", "cell"),
    [
        (name, winner, cell)
        for name, cells in READ_SETS.items()
        for winner, cell in zip(EFFECTS, cells.split(), strict=True)
    ],
)
def test_what_was_read_decides_by_file_and_by_scan(read_set: str, winner: str, cell: str) -> None:
    made, said = READS[read_set]
    where = [partition("1")] if made.partition_columns else [partition()]
    loser = footprint("DELETE", remove=["c"], removes_in=where, **said)

    assert meet(Arena(made), effect(winner, made), loser) == NAMES[cell]
