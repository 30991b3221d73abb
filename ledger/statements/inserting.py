"""INSERT and INSERT OVERWRITE: rows into a table, in the place of others or not.

A table of layout `directories` gets its rows in Hive's folders of the txn's write id.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.given_rows import as_batches, checked, opened
from ledger.arrow.read_once import OnceItems
from ledger.core.predicates.tree import Node
from ledger.expressions.duckdb.conditions import RowCondition
from ledger.files.data_files import NewFiles
from ledger.files.progress import shown
from ledger.files.sorting import in_order
from ledger.files.storage import storage_at
from ledger.reads.row_counts import ChangedRows
from ledger.snapshot.reading import is_in_folders
from ledger.statements.constraints import RowChecks
from ledger.statements.deleting import Deletion
from ledger.statements.evolving import evolved
from ledger.statements.judge import RowJudge
from ledger.statements.marking import ChangedFiles
from ledger.statements.target import StatementTable
from ledger.work.writes import coarse_write

WRITE: Final = "WRITE"


def insert(table: StatementTable, rows: Any, *, evolve: bool = False) -> ChangedRows:
    """Insert rows; with `evolve` new columns are added, and types become wider where Delta may."""
    counted = CountedRows(fitting(table, rows, evolve=evolve), f"insert {table.row.name}, rows")
    if is_in_folders(table.row):
        insert_into_folders(table, counted)
    else:
        changed = ChangedFiles(table)
        # The log of a published table begins with a version that has no rows in the ledger's log.
        may = None if table.row.version < 0 else True
        changed.note_added(table.write(counted, placing=changed.placing, has_blocks=may), WRITE)
    return table.counted(ChangedRows(inserted=counted.count))


def overwrite(
    table: StatementTable, rows: Any, where: Node | None = None, *, evolve: bool = False
) -> ChangedRows:
    """Put rows in the place of those that fulfil a condition; the new rows must fulfil it too."""
    table.check_listed()
    batches = fitting(table, rows, evolve=evolve)
    condition = table.condition(where)
    with table.judge() as judge:
        gone = Deletion(table, judge, where)
        fulfilled = fulfilling(table, judge, condition, batches)
        new = CountedRows(fulfilled, f"overwrite {table.row.name}, rows")
        adds = table.write(chain(gone.kept(), new), placing=gone.changed.placing)
    gone.changed.note(adds, WRITE)
    return table.counted(ChangedRows(inserted=new.count, deleted=gone.count))


def fitting(table: StatementTable, rows: Any, *, evolve: bool) -> Any:
    """Return checked batches of the table's columns, with the new ones if it evolves."""
    batches = in_columns(table, rows, evolve=evolve)
    return RowChecks(table.row.name, table.definition, table.zone).over(batches)


def in_columns(table: StatementTable, rows: Any, *, evolve: bool) -> Any:
    """Return rows as batches of the table's columns; it gets new columns if it evolves."""
    if not evolve:
        return as_batches(rows, table.schema, table.values.complete)
    table.check_listed()
    given = settled(rows)
    reader = opened(given)
    columns = evolved(table.definition.columns, table.schema, reader.schema, given)
    if columns is not None:
        table.evolve(columns)
    if isinstance(given, list | tuple | dict):
        return as_batches(given, table.schema, table.values.complete)
    return checked(reader, table.schema, table.values.complete)


def settled(rows: Any) -> Any:
    """Return rows that can be read twice: first for their types, then for their values."""
    if isinstance(rows, Mapping):
        return {name: settled(each) for name, each in rows.items()}
    return list(rows) if isinstance(rows, Iterator | OnceItems) else rows


def insert_into_folders(table: StatementTable, batches: Iterable[Any]) -> None:
    """Insert rows into the folder `delta_<write id>` of each partition.

    Each partition is declared as inserted into, so the commit has Hive's grain.
    """
    work = table.work
    storage = storage_at(table.definition.location)
    number = work.write_id(table.number)
    folder = f"delta_{number}/"
    files = NewFiles(storage, table.schema, work.writer, folder=folder)
    try:
        for batch in in_order(batches, table.schema.sort):
            files.write(batch)
        made = files.finish()
    except BaseException:
        files.discard()
        raise
    paths = [each.path for each in made]
    work.files.note(table.definition.location, storage, paths, table.definition)
    for partition in dict.fromkeys(path.rpartition(folder)[0].rstrip("/") for path in paths):
        write = coarse_write("insert", table.row, partition=partition or None)
        work.writes.add(table.number, write, 0)


def fulfilling(
    table: StatementTable, judge: RowJudge, condition: RowCondition, batches: Any
) -> Iterator[Any]:
    """Yield batches whose rows all fulfil a condition; raises ValueError for others."""
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        hit = judge.fulfilled(rows, condition)
        if pc.all(hit).as_py() is False:
            first = rows.filter(pc.invert(hit)).slice(0, 1).to_pylist()[0]
            raise ValueError(
                f"the rows that overwrite a part of table {table.row.name} must fulfil its "
                f"condition, got {first}"
            )
        yield rows


class CountedRows:
    """Batches, counted as they are read, and shown if that takes long."""

    def __init__(self, batches: Any, what: str) -> None:
        self.count = 0
        self._batches, self._what = batches, what

    def __iter__(self) -> Iterator[Any]:
        for batch in shown(self._batches, None, self._what, len):
            self.count += len(batch)
            yield batch
