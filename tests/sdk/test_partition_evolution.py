"""Files written under other partition columns than the table has now: in which partition they lie.

Whatever became of the columns, a file from before may hold rows of any partition of now.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from ledger.client import Ledger
from ledger.core.commands import Column
from ledger.errors import ConflictError
from ledger.log.wire.file_list import AddFile
from ledger.snapshot.reading import TableFiles
from ledger.transaction.transaction import Transaction

TABLE = "flights"
BEFORE = [
    Column("day", "int", nullable=True, id=1),
    Column("city", "string", nullable=True, id=2),
    Column("rows", "bigint", nullable=True, id=3),
]


class Evolution(NamedTuple):
    """What becomes of a table that was partitioned by day: its columns, and a partition of now."""

    name: str
    columns: Sequence[Column]
    by: Sequence[str]
    new: tuple[str, ...]
    unit: str
    other: str


def renamed(column: Column, name: str) -> Column:
    return column._replace(name=name)


DAY, CITY, ROWS = BEFORE
WIDER, AS_TEXT = DAY._replace(type="bigint"), DAY._replace(type="string")
SWAPPED = [renamed(DAY, "rows"), CITY, renamed(ROWS, "day")]
EVOLUTIONS = [
    Evolution("replaced", BEFORE, ["city"], ("1",), "city=1", "city=2"),
    Evolution("added", BEFORE, ["day", "city"], ("1", "x"), "day=1/city=x", "day=2/city=x"),
    Evolution("swapped", SWAPPED, ["day"], ("1",), "day=1", "day=2"),
    Evolution("renamed", [renamed(DAY, "d"), CITY, ROWS], ["d"], ("1",), "d=1", "d=2"),
    Evolution(
        "widened", [DAY._replace(type="bigint"), CITY, ROWS], ["day"], ("1",), "day=1", "day=2"
    ),
    Evolution(
        "another type",
        [DAY._replace(type="string"), CITY, ROWS],
        ["day"],
        ("01",),
        "day=01",
        "day=1",
    ),
]


@pytest.fixture(params=EVOLUTIONS, ids=lambda each: each.name)
def evolved(request: pytest.FixtureRequest, ledger: Ledger) -> Evolution:
    found: Evolution = request.param
    ledger.create_table(TABLE, BEFORE, partition_columns=["day"])
    ledger.append(TABLE, [AddFile("before", ("1",))])
    ledger.alter_table(TABLE, columns=found.columns, partition_columns=found.by)
    ledger.append(TABLE, [AddFile("after", found.new)])
    return found


def removed(txn: Transaction, files: TableFiles) -> None:
    txn.remove_files(TABLE, files)


def removed_as_rows(txn: Transaction, files: TableFiles) -> None:
    """Remove files as the rows of a read that was not kept."""
    txn.remove_files(TABLE, list(files), read_at=files.position)


def removed_by_path(txn: Transaction, files: TableFiles) -> None:
    txn.use(files)
    txn.remove_files(TABLE, files.paths)


def rewritten(txn: Transaction, files: TableFiles) -> None:
    """Rewrite files as the rows of a read that was not kept."""
    txn.rewrite_files(TABLE, list(files), [], read_at=files.position)


Removal = Callable[[Transaction, TableFiles], None]
REMOVALS: list[Removal] = [removed, removed_as_rows, removed_by_path, rewritten]


def conflicts(ledger: Ledger, remove: Removal, path: str, unit: str) -> bool:
    """Tell whether the removal of a file conflicts with an update of a partition before it."""
    files = ledger.read(TABLE)
    chosen = TableFiles(
        files.table, files.position, files.where, [file for file in files if file.path == path]
    )
    first, second = ledger.begin(), ledger.begin()
    first.wrote(TABLE, "update", partition=unit)
    remove(second, chosen)
    first.commit()
    try:
        second.commit()
    except ConflictError:
        return True
    return False


@pytest.mark.parametrize("remove", REMOVALS)
def test_removed(ledger: Ledger, evolved: Evolution, remove: Removal) -> None:
    """A file from before may lie anywhere, one from after lies where its values say."""
    assert conflicts(ledger, remove, "before", evolved.other)
    assert conflicts(ledger, remove, "after", evolved.unit)
    # What was read as a whole meets every update.
    assert conflicts(ledger, remove, "after", evolved.other) is (remove is removed_by_path)


def test_a_condition_leaves_out_no_file_from_before(ledger: Ledger, evolved: Evolution) -> None:
    column, _, value = evolved.other.split("/")[0].partition("=")
    kind = next(each.type for each in evolved.columns if each.name == column)
    literal = f"'{value}'" if kind == "string" else value

    assert ledger.read(TABLE, f"{column} = {literal}").paths == ["before"]
