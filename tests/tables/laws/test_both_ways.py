"""Two concurrent statements end alike, whether they are made by verbs or by names of files.

The files of a statement are planned by hand: the read that it depends on, the files whose rows it
changes, and new files with the rows that are left.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from ledger.arrow.schema import TableSchema
from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.files.data_files import write_rows
from ledger.files.data_reading import read_file
from ledger.files.file_writers import FileWriter
from ledger.files.storage import Storage, storage_at
from ledger.log.wire.file_list import AddFile
from ledger.reads.port import FileRow
from ledger.transaction.transaction import Transaction
from tests.tables.laws.history import LEVELS
from tests.tables.row_files import tuples

Row = dict[str, Any]
COLUMNS = [("id", "bigint"), ("p", "int"), ("v", "string")]
ROWS: list[list[Row]] = [
    [{"id": at, "p": 1, "v": "a"} for at in (1, 2)],
    [{"id": at, "p": 1, "v": None} for at in (3, 4)],
    [{"id": at, "p": 2, "v": "c"} for at in (5, 6)],
    [{"id": at, "p": None, "v": "d"} for at in (7, 8)],
]
"""The rows of the files of a table, each file in one partition."""

NEW: list[Row] = [{"id": 9, "p": 1, "v": "new"}]


class Plan(NamedTuple):
    """A statement: by the verb, and what it means for files.

    `read` is the condition of its read, False for none. `change` returns the new rows in the place
    of a row, None if the row stays. `new` are further rows.
    """

    verb: Callable[[Transaction, str], Any]
    operation: str
    read: str | bool | None = False
    change: Callable[[Row], Sequence[Row] | None] = lambda _: None
    new: Sequence[Row] = ()
    is_rewrite: bool = False


def gone(test: Callable[[Row], bool]) -> Callable[[Row], Sequence[Row] | None]:
    return lambda row: () if test(row) else None


def given(test: Callable[[Row], bool], **values: Any) -> Callable[[Row], Sequence[Row] | None]:
    return lambda row: [row | values] if test(row) else None


ON = "target.id = source.id"
STATEMENTS: Mapping[str, Plan] = {
    "insert": Plan(lambda txn, name: txn.insert(name, NEW), "WRITE", new=NEW),
    "insert elsewhere": Plan(
        lambda txn, name: txn.insert(name, [{"id": 9, "p": 5, "v": None}]),
        "WRITE",
        new=[{"id": 9, "p": 5, "v": None}],
    ),
    "read": Plan(lambda txn, name: txn.scan(name, "p = 1").count(), "", read="p = 1"),
    "delete all": Plan(
        lambda txn, name: txn.delete(name), "DELETE", read=None, change=gone(lambda _: True)
    ),
    "delete partition": Plan(
        lambda txn, name: txn.delete(name, "p = 1"),
        "DELETE",
        read="p = 1",
        change=gone(lambda row: row["p"] == 1),
    ),
    "delete row": Plan(
        lambda txn, name: txn.delete(name, "id = 3"),
        "DELETE",
        read="id = 3",
        change=gone(lambda row: row["id"] == 3),
    ),
    "delete row of partition": Plan(
        lambda txn, name: txn.delete(name, "p = 1 AND id = 1"),
        "DELETE",
        read="p = 1 AND id = 1",
        change=gone(lambda row: row["id"] == 1),
    ),
    "delete NULL": Plan(
        lambda txn, name: txn.delete(name, "p IS NULL"),
        "DELETE",
        read="p IS NULL",
        change=gone(lambda row: row["p"] is None),
    ),
    "delete nothing": Plan(
        lambda txn, name: txn.delete(name, "p = 1 AND id = 99"), "DELETE", read="p = 1 AND id = 99"
    ),
    "update": Plan(
        lambda txn, name: txn.update(name, {"v": "'new'"}, "p = 2"),
        "UPDATE",
        read="p = 2",
        change=given(lambda row: row["p"] == 2, v="new"),
    ),
    "update to other partition": Plan(
        lambda txn, name: txn.update(name, {"p": 2}, "id = 1"),
        "UPDATE",
        read="id = 1",
        change=given(lambda row: row["id"] == 1, p=2),
    ),
    "overwrite all": Plan(
        lambda txn, name: txn.overwrite(name, NEW),
        "WRITE",
        read=None,
        change=gone(lambda _: True),
        new=NEW,
    ),
    "overwrite partition": Plan(
        lambda txn, name: txn.overwrite(name, NEW, "p = 1"),
        "WRITE",
        read="p = 1",
        change=gone(lambda row: row["p"] == 1),
        new=NEW,
    ),
    "merge": Plan(
        lambda txn, name: txn.merge(
            name,
            [{"id": 3, "p": 1, "v": "new"}, *NEW],
            ON,
            when_matched_update=True,
            when_not_matched_insert=True,
        ),
        "MERGE",
        read=None,
        change=given(lambda row: row["id"] == 3, v="new"),
        new=NEW,
    ),
    "merge in partitions": Plan(
        lambda txn, name: txn.merge(
            name,
            [{"id": 3, "p": 1, "v": "new"}],
            f"{ON} AND target.p = source.p",
            when_matched_delete=True,
        ),
        "MERGE",
        read="p IN (1)",
        change=gone(lambda row: row["id"] == 3),
    ),
    "optimize": Plan(
        lambda txn, name: txn.optimize(name),
        "OPTIMIZE",
        read=None,
        change=lambda row: [row] if row["p"] == 1 else None,
        is_rewrite=True,
    ),
    "optimize partition": Plan(
        lambda txn, name: txn.optimize(name, "p = 1"),
        "OPTIMIZE",
        read="p = 1",
        change=lambda row: [row] if row["p"] == 1 else None,
        is_rewrite=True,
    ),
}


class Numbered(FileWriter):
    """A writer whose files have the same names in every table."""

    def drawn(self) -> str:
        return self.name


class FileTable:
    """A table as a caller sees it that names files."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        definition = ledger.table(name).definition
        self.schema = TableSchema.of(definition)
        self.storage: Storage = storage_at(definition.location)

    def rows(self, file: FileRow) -> list[Row]:
        found: list[Row] = read_file(self.storage, file, self.schema).to_pylist()
        return found

    def write(self, rows: Sequence[Row], number: int | None = None) -> Sequence[AddFile]:
        table = pa.Table.from_pylist(list(rows), schema=self.schema.arrow)
        made = FileWriter.of("lake") if number is None else Numbered(number, "")
        return write_rows(self.storage, self.schema, table.to_batches(), writer=made)


def by_files(ledger: Ledger, txn: Transaction, name: str, plan: Plan) -> None:
    """Make a statement by names of files."""
    table = FileTable(ledger, name)
    removes: list[FileRow] = []
    rows: list[Row] = []
    if plan.read is not False:
        assert not isinstance(plan.read, bool)
        for file in txn.read(name, plan.read):
            changed = [(row, plan.change(row)) for row in table.rows(file)]
            if any(new is not None for _, new in changed):
                removes.append(file)
                for row, new in changed:
                    rows += [row] if new is None else new
    adds = table.write([*rows, *plan.new])
    if plan.is_rewrite:
        if removes:
            txn.rewrite_files(name, removes, adds)
    elif removes:
        txn.remove_files(name, removes, operation=plan.operation)
        txn.add_files(name, adds)
    elif adds:
        txn.add_files(name, adds, operation=plan.operation)


def created(ledger: Ledger, folder: Path, name: str, level: str) -> str:
    """Create a table with one file for each of the groups of rows."""
    ledger.create_table(
        name,
        COLUMNS,
        partition_columns=["p"],
        location=folder / name,
        properties={"delta.isolationLevel": level},
    )
    table = FileTable(ledger, name)
    files = [file for at, rows in enumerate(ROWS) for file in table.write(rows, at)]
    ledger.append(name, files)
    return name


def outcome(
    ledger: Ledger, name: str, pair: tuple[str, str], do: Callable[[Transaction, str, Plan], Any]
) -> tuple[Any, list[Any]]:
    """Return how the second of two concurrent statements ends, and the rows then."""
    first, second = ledger.begin(), ledger.begin()
    do(second, name, STATEMENTS[pair[1]])
    do(first, name, STATEMENTS[pair[0]])
    first.commit()
    found: Any = "committed"
    try:
        second.commit()
    except ConflictError as error:
        said = error.evidence
        winner = said.winner._replace(txn=said.winner.txn - first.id, position=0, at=0)
        read_at = said.read_at - second.opened
        found = said._replace(table=0, read_at=read_at, winner=winner)
    return found, sorted(map(repr, tuples(ledger.scan(name).to_arrow())))


PAIRS = list(product(LEVELS, STATEMENTS, STATEMENTS))
SOME = Random(7).sample(PAIRS, 40)  # noqa: S311 - the same ones each time


def check(ledger: Ledger, folder: Path, case: tuple[str, str, str]) -> Any:
    """Assert that a pair ends alike both ways, and return how."""
    level, *pair = case
    known = [table.name for table in ledger.tables()]
    names = [f"t{len(known)}", f"t{len(known) + 1}"]
    for each in names:
        created(ledger, folder, each, level)
    winner, loser = pair
    verbs = outcome(ledger, names[0], (winner, loser), lambda txn, name, plan: plan.verb(txn, name))
    files = outcome(
        ledger, names[1], (winner, loser), lambda txn, name, plan: by_files(ledger, txn, name, plan)
    )
    assert verbs == files, f"{loser} after {winner} at {level}"
    return verbs[0]


def test_both_ways(ledger: Ledger, tmp_path: Path) -> None:
    """Outcome, exception, evidence and rows are the same for a sample of pairs."""
    found = [check(ledger, tmp_path, each) for each in SOME]
    assert 5 < found.count("committed") < len(SOME) - 5


@pytest.mark.slow
@pytest.mark.parametrize("loser", STATEMENTS)
def test_all_pairs_both_ways(ledger: Ledger, tmp_path: Path, loser: str) -> None:
    """The same for all pairs."""
    for pair in PAIRS:
        if pair[2] == loser:
            check(ledger, tmp_path, pair)
