"""Rows as a caller gives them, of any library, as batches that fit the schema of a table.

Columns are found by name, in any case of letters. A missing column is NULL, an unknown one is
refused. Types and values are checked by `casts` and, for values of Python, by `python_rows`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike
from typing import Any, Final

import pyarrow as pa

from ledger.arrow.casts import by_name, fitted
from ledger.arrow.frames import check_names, column_array, pandas_columns, polars_columns
from ledger.arrow.given_types import plain_reader
from ledger.arrow.python_rows import columns_of_dicts
from ledger.arrow.read_once import (
    OnceStream,
    check_unread,
    is_read_once,
    is_stream,
    items_of,
    note_read,
    read_before,
    was_read,
)
from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.stored_values import as_stored
from ledger.definitions.given import shown
from ledger.log.wire.file_list import AddFile
from ledger.reads.rows import FileRow

Completion = Callable[[dict[str, Any], int], None]
"""Adds the columns that rows leave out, by name, to those that they have; takes their count."""

CURE: Final = (
    "give an Arrow table or batches, a data frame of pandas or polars, a list of dicts, a dict of "
    "lists, or a DuckDB relation"
)


def as_batches(
    rows: Any, schema: TableSchema | None = None, complete: Completion | None = None
) -> Any:
    """Return rows as a reader of batches: with the columns of a schema, else as they are.

    A column that they leave out is NULL, unless `complete` adds it.
    Raises TypeError for anything but rows and for a column of another type, ValueError for an
    unknown column and for a value that its column cannot hold.
    """
    reader = opened(rows, schema)
    return reader if schema is None else checked(reader, schema, complete)


def opened(rows: Any, schema: TableSchema | None = None) -> Any:
    """Return rows as a reader of batches; values of Python get the types of known columns."""
    if isinstance(rows, OnceStream):
        reader = rows.reader(opened)
        return pa.RecordBatchReader.from_batches(reader.schema, rows.batches())
    check_unread(rows)
    reader = plain_reader(reader_of(rows, schema))
    return noted(rows, reader) if is_stream(rows) and is_read_once(rows) else reader


def noted(given: Any, reader: Any) -> Any:
    """Return a reader of the same batches, which notes that they were read.

    It raises ValueError if a relation that had rows before has none now: it is one over a reader.
    """

    def batches() -> Iterator[Any]:
        count = 0
        for batch in reader:
            if not count and batch.num_rows:
                note_read(given)
            count += batch.num_rows
            yield batch
        if not count and was_read(given):
            raise read_before(given)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def reader_of(rows: Any, schema: TableSchema | None) -> Any:
    """Return rows as a reader of batches in the types that their library has."""
    refuse_names(rows)
    if (found := of_arrow(rows)) is not None:
        return found
    if (found := of_frame(rows, schema)) is not None:
        return found
    names = getattr(getattr(rows, "dtype", None), "names", None)
    if names:
        return of_columns({name: rows[name] for name in names}, schema)
    if isinstance(rows, Mapping):
        return of_columns(rows, schema)
    if isinstance(rows, Iterable) and not isinstance(rows, bytes | bytearray | memoryview):
        return of_items(items_of(rows) if isinstance(rows, Iterator) else list(rows), schema)
    raise refused(rows)


def refuse_names(rows: Any) -> None:
    """Raise TypeError for a text, a path or files in place of rows."""
    first = rows[0] if isinstance(rows, list | tuple) and rows else rows
    if isinstance(rows, AddFile | FileRow) or isinstance(first, AddFile | FileRow):
        raise TypeError(
            f"rows must be rows, got {shown(rows)}: txn.add_files adds files that are written "
            "already"
        )
    if isinstance(first, str | PathLike):
        raise TypeError(
            f"rows must be rows, got {shown(rows)}. txn.wrote declares a write of a partition by "
            f"other means, txn.add_files adds files by their paths; else {CURE}"
        )


def refused(rows: Any) -> TypeError:
    """Return the error for anything but rows."""
    return TypeError(f"rows must be a table of any library, got {shown(rows)}: {CURE}")


def of_arrow(rows: Any) -> Any:
    """Return a reader of Arrow's own kinds of rows, None for another kind."""
    if isinstance(rows, pa.RecordBatchReader):
        return rows
    if isinstance(rows, pa.Table):
        return rows.to_reader()
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows]).to_reader()
    to_reader = getattr(rows, "to_reader", None)
    if callable(to_reader):
        return to_reader()
    scanner = getattr(rows, "scanner", None)
    return scanner().to_reader() if callable(scanner) else None


def of_frame(rows: Any, schema: TableSchema | None) -> Any:
    """Return a reader of a frame or a relation of another library, None for another kind."""
    module = type(rows).__module__.partition(".")[0]
    if module == "pyspark":
        raise TypeError(
            f"rows must be read by Spark first, got {type(rows).__name__}: give frame.toArrow()"
        )
    if module == "polars" and hasattr(rows, "collect"):
        rows = rows.collect()
    if module in {"pandas", "polars"}:
        if not hasattr(rows, "columns"):
            raise refused(rows)
        columns = pandas_columns(rows) if module == "pandas" else polars_columns(rows)
        return of_columns(columns, schema)
    is_stream = hasattr(rows, "__arrow_c_stream__")
    return pa.RecordBatchReader.from_stream(rows) if is_stream else None


def of_items(items: Sequence[Any], schema: TableSchema | None) -> Any:
    """Return a reader of a list: of dicts, or of Arrow's tables and batches."""
    if items and all(isinstance(item, pa.Table | pa.RecordBatch) for item in items):
        tables = [
            item if isinstance(item, pa.Table) else pa.Table.from_batches([item]) for item in items
        ]
        return pa.concat_tables(tables).to_reader()
    if items and not isinstance(items[0], Mapping):
        raise refused(items)
    return of_columns(columns_of_dicts(items), schema)


def of_columns(columns: Mapping[Any, Any], schema: TableSchema | None) -> Any:
    """Return a reader of columns: lists, or arrays of any library."""
    check_names(columns)
    arrays = {}
    for name, values in columns.items():
        check_unread(values)
        known = schema.find(name) if schema is not None else None
        if known is not None:
            known.check_readable()
        arrays[name] = column_array(values, known.type if known else None, name)
    lengths = {name: len(each) for name, each in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"all columns must have the same number of rows, got {lengths}")
    return pa.table(arrays).to_reader()


def checked(reader: Any, schema: TableSchema, complete: Completion | None = None) -> Any:
    """Return a reader of the same rows with the columns of a schema; raises as `as_batches`."""
    places = by_name(reader.schema.names, "rows")
    if unknown := places.keys() - schema.by_name.keys():
        names = [name for name in reader.schema.names if name.lower() in unknown]
        raise unknown_columns(names, schema)
    target = schema.arrow

    def batches() -> Iterator[Any]:
        for batch in reader:
            values = {
                each.name: column(batch, places[each.name.lower()], each)
                for each in schema.columns
                if each.name.lower() in places
            }
            if complete is not None:
                complete(values, len(batch))
            yield pa.RecordBatch.from_arrays(
                [stored(values, each, len(batch)) for each in schema.columns], schema=target
            )

    return pa.RecordBatchReader.from_batches(target, batches())


def column(batch: Any, place: int, wanted: TableColumn) -> Any:
    """Return a column of a batch in the type of its table; raises as `as_batches`."""
    wanted.check_readable()
    return fitted(batch.column(place), wanted.type, wanted.name)


def stored(values: Mapping[str, Any], wanted: TableColumn, rows: int) -> Any:
    """Return a column as its table stores it, NULL if it is left out; raises as `as_batches`."""
    array = values.get(wanted.name)
    return as_stored(pa.nulls(rows, wanted.type) if array is None else array, wanted)


def unknown_columns(names: Sequence[str], schema: TableSchema) -> ValueError:
    """Return the error for columns that a table does not have."""
    known = {each.name.lower(): each.name for each in schema.columns}
    alike = get_close_matches(names[0].lower(), known, n=1)
    meant = f"did you mean {known[alike[0]]}? " if alike else ""
    return ValueError(
        f"rows must have columns of the table, got {', '.join(names)}: {meant}The table has "
        f"{', '.join(known.values())}. evolve=True adds new columns"
    )
