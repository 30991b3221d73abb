"""Unique keys: no statement leaves two rows with one key, if the table asks for that.

The property `lakeledger.unique` asks for it, `lakeledger.key` names the columns. A row with NULL in
its key has no key. The look for rows with the same keys is a read: a commit that adds one meanwhile
is a conflict.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ledger.core.predicates.tree import Node
from ledger.core.rows.bitmaps import RowSet
from ledger.errors import DuplicateKeyError
from ledger.expressions.build import col, condition_in
from ledger.files.data_reading import ROW_NUMBER, read_file
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile
from ledger.properties.column_lists import KEY, list_of
from ledger.reads.rows import FileRow
from ledger.snapshot.overlay import file_row
from ledger.snapshot.reading import TableFiles
from ledger.statements.target import StatementTable

NAMED_MAX = 1_000
"""More values of a key are looked for between the least and the greatest one."""


def check_unique(
    table: StatementTable,
    adds: Sequence[AddFile],
    removes: Iterable[FileRow],
    marks: Mapping[str, RowSet],
) -> None:
    """Raise DuplicateKeyError if new files leave two rows with one key.

    `removes` are files that give way, `marks` are rows of others that do.
    """
    names = [each.column for each in list_of(table.definition, KEY)]
    unread = TableFiles(table.row, table.snapshot.position, "", ())
    made = [keys_in(table, file_row(add, unread), names) for add in adds]
    if not made:
        return
    new = pa.concat_tables(made).drop_columns([ROW_NUMBER])
    counted = new.group_by(names).aggregate([([], "count_all")])
    check_none(table, counted.filter(pc.greater(counted["count_all"], 1)), names)
    where = any_of(new, names)
    gone = {file.path for file in removes}
    if where is None:
        return
    for file in table.read(where, by_row=table.by_row):
        if file.path in gone:
            continue
        known = keys_in(table, file, names)
        if file.path in marks:
            marked = pa.array(list(marks[file.path]), pa.int64())
            known = known.filter(pc.invert(pc.is_in(known[ROW_NUMBER], marked)))
        check_none(table, known.join(new, names, join_type="left semi"), names)


def keys_in(table: StatementTable, file: FileRow, names: Sequence[str]) -> Any:
    """Return the keys of the rows of a file, with the numbers of the rows; NULL is no key."""
    storage = storage_at(table.definition.location)
    then = table.snapshot.schema_of(file)
    rows = read_file(storage, file, table.schema, names, written=then, numbered=True)
    return rows.filter(reduce(and_, (pc.field(name).is_valid() for name in names)))


def any_of(keys: Any, names: Sequence[str]) -> Node | None:
    """Return a condition that the rows with any of some keys fulfil, None if there is no key."""
    if not len(keys):
        return None
    conditions = []
    for name in names:
        values = pc.unique(keys[name])
        if len(values) <= NAMED_MAX:
            conditions.append(col(name).isin(*values.to_pylist()))
            continue
        bounds = pc.min_max(values)
        lowest, highest = bounds["min"].as_py(), bounds["max"].as_py()
        conditions.append((col(name) >= lowest) & (col(name) <= highest))
    return condition_in(reduce(and_, conditions))


def check_none(table: StatementTable, rows: Any, names: Sequence[str]) -> None:
    """Raise DuplicateKeyError if there is a row."""
    if len(rows):
        first = rows.select(names).slice(0, 1).to_pylist()[0]
        raise DuplicateKeyError(table=table.row.name, row=first)
