"""What is no conflict and why, and where the line runs: units, typed values, scans, changes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ledger.core.commands import AppVersion, CoarseWrite, TableDefinition
from ledger.core.events.events import TxnAborted, TxnCommitted
from tests.core.arena import (
    APPEND,
    BY_DAY,
    CLUSTERING,
    COMMENTED,
    DAY_1,
    ENFORCING,
    LOADED,
    MARKED,
    NEWEST,
    ROW_TRACKING,
    ROWS,
    TABLE,
    VECTORS,
    WIDER,
    WITH_VECTORS,
    WITHOUT,
    Arena,
    day,
    serializable,
)
from tests.core.parts import above, equals, part, partition
from tests.core.scene import last

# What a backfill lists again it does not change.
SAME: dict[str, Any] = {"not_blind": True, "data_change": False}
AGAIN: dict[str, Any] = {**APPEND, "data_change": False}


class Kept(NamedTuple):
    """A row: two that do not conflict, and why."""

    why: str
    wins: Callable[[Arena], Any]
    follows: Callable[[Arena], Any]
    made: TableDefinition = BY_DAY


KEPT = [
    Kept(
        "a feature that harms no file",
        lambda a: a.wins(a.part("ADD FEATURE", protocol=VECTORS)),
        lambda a: a.follows(a.part("DELETE", read=["b"], remove=["b"])),
    ),
    Kept(
        "any feature, where nobody asks to enforce it",
        lambda a: a.wins(a.part("ADD FEATURE", protocol=NEWEST)),
        lambda a: a.follows(a.part(**APPEND)),
    ),
    Kept(
        "a feature that harms no file, where others would be enforced",
        lambda a: a.wins(a.part("ADD FEATURE", protocol=VECTORS)),
        lambda a: a.follows(a.part(**APPEND)),
        made=ENFORCING,
    ),
    Kept(
        "a feature dropped with nobody in between",
        lambda _: None,
        lambda a: a.follows(a.part("DROP FEATURE", protocol=WITHOUT)),
    ),
    Kept(
        "a property of the allow list under its feature",
        lambda a: last(a.wins(a.part("ADD FEATURE", protocol=VECTORS)), a.alters(WITH_VECTORS)),
        lambda a: a.follows(a.part("DELETE", read=["b"], remove=["b"])),
    ),
    Kept(
        "an identity mark",
        lambda a: a.alters(MARKED, "WRITE"),
        lambda a: a.follows(a.part("DELETE", read=["b"], remove=["b"])),
    ),
    Kept(
        "properties, before a coarse write",
        lambda a: a.alters(COMMENTED),
        lambda a: a.follows(a.coarse(day("1"), TABLE)),
    ),
    Kept(
        "rows, before a change of the metadata that reads none",
        lambda a: last(a.prepares(WIDER), a.wins(a.part("DELETE", remove=["a"], **APPEND))),
        lambda a: a.ends(),
    ),
    Kept(
        "the domain of row ids, which is merged",
        lambda a: a.wins(a.part(domains=[ROW_TRACKING])),
        lambda a: a.follows(a.part(domains=[ROW_TRACKING])),
    ),
    Kept(
        "two domains",
        lambda a: a.wins(a.part(domains=[CLUSTERING])),
        lambda a: a.follows(a.part(domains=[CLUSTERING._replace(name="mine")])),
    ),
    Kept(
        "progress that was recorded, but not looked up",
        lambda a: a.wins(a.part(apps=LOADED)),
        lambda a: a.follows(a.part(apps=[AppVersion("loader", 8)])),
    ),
    Kept(
        "the progress of another application",
        lambda a: a.wins(a.part(apps=LOADED)),
        lambda a: a.follows(a.part(read_apps=["other"])),
    ),
    Kept(
        "a blind append, before a scan of a table that gets another name",
        lambda a: last(a.rename_table(a.ada, a.table, "new", txn=a.mine), a.wins(a.part(**APPEND))),
        lambda a: a.ends(a.does("UPDATE")),
    ),
    Kept(
        "a definition, before another one that was made from it",
        lambda a: a.alters(COMMENTED),
        lambda a: last(a.prepares_as_of_now(WIDER), a.ends()),
    ),
    Kept(
        "a blind append, before a scan",
        lambda a: a.wins(a.part(**APPEND)),
        lambda a: a.follows(a.does("UPDATE")),
    ),
    Kept(
        "a coarse insert, before a scan",
        lambda a: a.wins(a.coarse(day("1", "insert"))),
        lambda a: a.follows(a.does("UPDATE")),
    ),
    Kept(
        "a file of NULL, before a comparison",
        lambda a: a.wins(a.part("MERGE", adds=[partition(None)], not_blind=True)),
        lambda a: a.follows(a.does("UPDATE")),
    ),
    Kept(
        "a backfill, before a scan",
        lambda a: a.wins(a.part("ROW TRACKING BACKFILL", adds=[partition("1")], **SAME)),
        lambda a: a.follows(a.does("UPDATE")),
    ),
    Kept(
        "files, before a backfill that scans them",
        lambda a: a.wins(a.part("MERGE", not_blind=True, **APPEND)),
        lambda a: a.follows(a.part("ROW TRACKING UNBACKFILL", reads=[DAY_1], **AGAIN)),
    ),
    Kept(
        "files removed, before a backfill that lists them again",
        lambda a: a.wins(a.part("DELETE", remove=["a"], removes_in=[partition("1")])),
        lambda a: a.follows(a.part("ROW TRACKING BACKFILL", read=["a", "b"], **AGAIN)),
    ),
    Kept(
        "anything, before a blind append",
        lambda a: a.wins(a.part("MERGE", remove=["a"], removes_in=[partition("1")], **APPEND)),
        lambda a: a.follows(a.part(**APPEND)),
        made=serializable(),
    ),
    Kept(
        "a removed file that was neither read nor removed",
        lambda a: a.wins(a.part("DELETE", remove=["a"], removes_in=[partition("1")])),
        lambda a: a.follows(a.part("DELETE", reads=[DAY_1], read=["b"], remove=["b"])),
    ),
    Kept(
        "another table",
        lambda a: a.wins(part(a.other, "MERGE", remove=["a"], **APPEND)),
        lambda a: a.follows(a.part("MERGE", reads_whole=True, read=["a"], remove=["a"])),
    ),
    Kept(
        "what happened up to the read",
        lambda a: a.wins(a.part("MERGE", remove=["a"], **APPEND)),
        lambda a: a.follows(
            a.part("MERGE", reads_whole=True, read=["a"], remove=["a"], read_at=a.state.position)
        ),
    ),
    Kept(
        "a table that is only read, at the level of the table",
        lambda a: a.wins(a.part("MERGE", remove=["a"], **APPEND)),
        lambda a: a.follows(a.part("", reads_whole=True), part(a.other)),
    ),
    Kept(
        "a coarse write of another day",
        lambda a: a.wins(a.coarse(day("2"))),
        lambda a: a.follows(a.does("UPDATE")),
    ),
    Kept(
        "a coarse insert, before files are removed",
        lambda a: a.wins(a.coarse(day("1", "insert"))),
        lambda a: a.follows(a.part("DELETE", remove=["a"], removes_in=[partition("1")])),
    ),
    Kept(
        "files of another day removed, before a coarse write",
        lambda a: a.wins(a.part("DELETE", remove=["a"], removes_in=[partition("2")])),
        lambda a: a.follows(a.coarse(day("1"))),
    ),
    Kept(
        "files added, before a coarse write",
        lambda a: a.wins(a.part("MERGE", not_blind=True, **APPEND)),
        lambda a: a.follows(a.coarse(day("1"))),
    ),
    Kept(
        "files removed, before a coarse insert",
        lambda a: a.wins(a.part("DELETE", remove=["a"], removes_in=[partition("1")])),
        lambda a: a.follows(a.coarse(day("1", "insert"))),
    ),
]


@pytest.mark.parametrize("row", KEPT, ids=lambda row: row.why)
def test_what_does_not_stand_against_a_commit_lets_it_through(row: Kept) -> None:
    arena = Arena(row.made)
    row.wins(arena)

    assert isinstance(row.follows(arena), TxnCommitted)


# Coarse writes and files, both ways: the unit of the coarse side, the partitions of the other.
UNITS = [
    (day("1"), [partition("1")], True),
    (day("01"), [partition("1")], True),
    (day("1"), [partition("01")], True),
    (day("1"), [partition("2"), partition("1")], True),
    (day("1"), [partition("2")], False),
    (day("1"), [], True),
    (day("__HIVE_DEFAULT_PARTITION__"), [partition(None)], True),
    (day("1"), [partition(None)], False),
    (CoarseWrite("partition", "DAY=1", "update"), [partition("1")], True),
    (CoarseWrite("partition", "day=%31", "update"), [partition("1")], True),
    (TABLE, [partition("1")], True),
    (TABLE, [], True),
    (ROWS, [partition("1")], True),
    (CoarseWrite("partition", "day=1/", "update"), [partition("1")], True),
    (CoarseWrite("partition", "month=2", "update"), [partition("1")], True),
    (CoarseWrite("partition", "day='2'", "update"), [partition("1")], True),
    (CoarseWrite("partition", "d%61y=2", "update"), [partition("1")], False),
    (ROWS, [partition()], True),
    (ROWS, [], True),
]


@pytest.mark.parametrize("coarse_wins", [True, False], ids=["coarse first", "files first"])
@pytest.mark.parametrize(("coarse", "removed_in", "meet"), UNITS)
def test_coarse_and_files(
    coarse: CoarseWrite,
    removed_in: list[str],
    meet: bool,  # noqa: FBT001
    coarse_wins: bool,  # noqa: FBT001
) -> None:
    """A coarse write meets every removal in its unit, by value and not by text, whoever is first.

    Where a removal does not say its partitions it may be anywhere.
    """
    arena = Arena()
    sides = [arena.coarse(coarse), arena.part("DELETE", remove=["a"], removes_in=removed_in)]
    first, second = sides if coarse_wins else reversed(sides)
    arena.wins(first)

    assert isinstance(arena.follows(second), TxnAborted) == meet


@pytest.mark.parametrize(
    ("added", "meet"),
    [("1", True), ("01", True), ("+1", True), (" 1", True), ("1x", True), ("10", False)],
)
@pytest.mark.parametrize("said", [DAY_1, above("day", "-5")], ids=["equality", "range"])
def test_partitions_are_typed(said: str, added: str, meet: bool) -> None:  # noqa: FBT001
    arena = Arena()
    arena.wins(arena.part("MERGE", adds=[partition(added)], not_blind=True))
    lost = arena.follows(arena.part(reads=[said]))

    assert isinstance(lost, TxnAborted) == (meet or said != DAY_1)


def test_one_scan_that_matches_is_enough_and_is_the_one_that_is_shown() -> None:
    arena = Arena()
    arena.wins(arena.part("MERGE", adds=[partition("3")], not_blind=True))
    lost = arena.follows(arena.part(reads=[DAY_1, equals("day", "3", "int")]))

    assert lost.evidence.predicate == equals("day", "3", "int")


@pytest.mark.parametrize(("operation", "kind"), [("DELETE", TxnCommitted), ("WRITE", TxnAborted)])
def test_conditions_over_other_columns(operation: str, kind: type) -> None:
    """DELETE concludes from the parts of an OR which days it read, a plain scan does not."""
    mixed = (
        '["or",["and",["=",["col","day"],["lit","1","int"]],["=",["col","delay"],["lit","5","int"]]],'
        '["and",["=",["col","day"],["lit","2","int"]],["=",["col","delay"],["lit","6","int"]]]]'
    )
    arena = Arena()
    arena.wins(arena.part("MERGE", adds=[partition("3")], not_blind=True))

    assert isinstance(arena.follows(arena.part(operation, reads=[mixed], remove=["z"])), kind)


def test_coarse_writes_mind_the_shape_only() -> None:
    arena = Arena()
    arena.wins(arena.part("ADD FEATURE", protocol=VECTORS))
    arena.alters(MARKED, "WRITE")
    arena.alters(MARKED._replace(properties=WITH_VECTORS.properties))

    assert isinstance(arena.follows(arena.coarse(day("1"))), TxnCommitted)
