"""Which files a read returns, and of when."""

from typing import Any

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.core.commands import Column
from ledger.definitions.definitions import TableChanges
from ledger.expressions.build import col
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.test_retries import HASTY


@pytest.fixture
def table(ledger: Ledger) -> int:
    return create_flights(ledger).table


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (None, ["day1", "day2"]),
        ("day = 1", ["day1"]),
        ("day = 1 AND tail = 'N14228'", ["day1"]),
        ("tail = 'N14228'", ["day1", "day2"]),
        ("day = 1 AND tail = 'a' OR day = 2 AND tail = 'b'", ["day1", "day2"]),
        ("day > 2", []),
        (col("day").isin(2, 3), ["day2"]),
    ],
)
def test_read(ledger: Ledger, table: int, where: str, found: list[str]) -> None:
    """A read returns the files whose partition may hold rows of the condition, in and out of a txn.

    What the table is and where it was read come with them.
    """
    outside = ledger.read(TABLE, where)
    with ledger.transaction() as txn:
        inside = txn.read(TABLE, where)

    assert [found, found] == [outside.paths, [each.path for each in inside]]
    assert (len(found), txn.opened) == (len(inside), inside.position)
    assert table == outside.table.table


def test_a_table_can_be_read_at_a_version_a_position_and_a_token(
    ledger: Ledger, table: int
) -> None:
    created = ledger.reads().versions(table, 9)[-1]
    then = ledger.token
    ledger.append(TABLE, [of_day(3)])

    read = [
        ledger.read(TABLE, **place)
        for place in (
            {"version": created.version},
            {"version": 1},
            {"position": then.position},
            {"position": then},
        )
    ]

    assert [len(each) for each in read] == [0, 2, 2, 2]
    assert created.position == read[0].position
    assert {then.position} == {each.position for each in read[1:]}


@pytest.mark.parametrize(
    ("place", "error", "said"),
    [
        ({"version": 9}, errors.UnknownVersionError, "has no version 9"),
        ({"version": 1, "position": 5}, ValueError, "not both"),
        ({"position": 0}, ValueError, "the log begins with 1"),
        ({"position": 10**6}, errors.ReaderBehindError, "was not reached"),
    ],
)
def test_a_read_of_what_is_not_there_says_so(
    memory: InMemoryLedger, table: int, place: Any, error: type[Exception], said: str
) -> None:
    hasty = memory.connect(settings=HASTY)

    with pytest.raises(error, match=said):
        hasty.read(table, **place)
    with pytest.raises(error, match=said), hasty.transaction() as txn:
        txn.read(table, **place)


OLD, NEW = ["old"], ["new"]
INTS = [("a", "int"), ("b", "int")]
TO_STRING: TableChanges = {"columns": [("a", "string"), ("b", "int")]}
RENAMED: TableChanges = {
    "columns": [Column("c", "int", nullable=True, id=1), Column("b", "int", nullable=True, id=2)],
    "partition_columns": ["c"],
}


@pytest.mark.parametrize(
    ("by", "changes", "where", "found"),
    [
        (["a"], {"partition_columns": ["b"]}, "b = 7", [*NEW, *OLD]),
        (["a"], {"partition_columns": ["b"]}, "b = 5", OLD),
        (["a"], {"partition_columns": ["b"]}, "a = 9", [*NEW, *OLD]),
        (["a", "b"], {"partition_columns": ["b"]}, "b = 8", OLD),
        (["a", "b"], {"partition_columns": ["b", "a"]}, "a = 5 AND b = 7", OLD),
        (["a"], {"partition_columns": ["a", "b"]}, "b = 7", [*NEW, *OLD]),
        (["a"], {"partition_columns": []}, "a = 7", [*NEW, *OLD]),
        ([], {"partition_columns": ["a"]}, "a = 8", OLD),
        (["a"], TO_STRING, "a = '05'", OLD),
        (["a"], RENAMED, "c = 9", OLD),
        (["a"], {"properties": {"owner": "ada"}}, "a = 8", []),
        (["a"], {"columns": [*INTS, ("c", "int")]}, "a = 8", []),
    ],
)
def test_read_repartitioned(
    ledger: Ledger, by: list[str], changes: TableChanges, where: str, found: list[str]
) -> None:
    """Files from before the partition columns became others are returned, whatever is asked.

    Their values, 5 of a and 7 of b, are of other columns; those of later files, all 7, are not.
    """
    ledger.create_table("t", INTS, partition_columns=by)
    ledger.append("t", [AddFile("old", tuple({"a": "5", "b": "7"}[each] for each in by))])
    ledger.alter_table("t", **changes)
    now = ledger.table("t").definition.partition_columns
    ledger.append("t", [AddFile("new", ("7",) * len(now))])

    assert sorted(ledger.read("t", where).paths) == found


@pytest.mark.parametrize(
    ("there", "back", "found"), [(["b"], ["a"], ["mid", "old"]), (["a"], ["a"], [])]
)
def test_read_repartitioned_and_back(
    ledger: Ledger, there: list[str], back: list[str], found: list[str]
) -> None:
    ledger.create_table("t", INTS, partition_columns=["a"])
    ledger.append("t", [AddFile("old", ("5",))])
    ledger.alter_table("t", partition_columns=there)
    ledger.append("t", [AddFile("mid", ("6",))])
    ledger.alter_table("t", partition_columns=back)
    ledger.append("t", [AddFile("new", ("7",))])

    assert sorted(ledger.read("t", "a = 9").paths) == found


@pytest.mark.parametrize(
    ("where", "before", "within", "after"),
    [
        ("b = 5", ["old"], ["old", "with"], ["old", "with"]),
        ("b = 7", ["old"], ["old", "with"], ["new", "old", "with"]),
        ("a = 9", ["old"], ["old", "with"], ["new", "old", "with"]),
    ],
)
def test_read_repartitioned_then(
    ledger: Ledger, where: str, before: list[str], within: list[str], after: list[str]
) -> None:
    """No condition is asked by columns that are not those of the position that is read.

    Files that come with the change itself may be of either.
    """
    ledger.create_table("t", INTS, partition_columns=["a"])
    ledger.append("t", [AddFile("old", ("5",))])
    reader = ledger.begin()
    with ledger.transaction() as txn:
        txn.alter_table("t", partition_columns=["b"])
        txn.add_files("t", [AddFile("with", ("6",))])
    ledger.append("t", [AddFile("new", ("7",))])

    assert [before, before, within, after] == [
        sorted(read.paths)
        for read in (
            reader.read("t", where),
            ledger.read("t", where, version=1),
            ledger.read("t", where, version=2),
            ledger.read("t", where, version=3),
        )
    ]


def test_read_repartitioned_at_creation(ledger: Ledger) -> None:
    """A txn that creates a table and repartitions it may have added files before or after that."""
    with ledger.transaction() as txn:
        txn.create_table("t", INTS, partition_columns=["a"])
        txn.add_files("t", [AddFile("with", ("5",))])
        txn.alter_table("t", partition_columns=["b"])
    with ledger.transaction() as txn:
        txn.create_table("as_made", INTS, partition_columns=["a"])
        txn.add_files("as_made", [AddFile("with", ("5",))])

    assert ledger.read("t", "b = 7").paths == ["with"]
    assert ledger.read("as_made", "a = 7").paths == []


def test_txn_reads_its_snapshot(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    txn = ledger.begin()
    memory.connect().append(table, [of_day(3)])
    txn.add_files(TABLE, [of_day(4)])

    assert txn.read(TABLE).paths == ["day1", "day2"]
    assert txn.read(TABLE, position=ledger.read(TABLE).position).paths == ["day1", "day2", "day3"]
