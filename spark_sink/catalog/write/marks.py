"""Rows that Spark marks: an UPDATE, DELETE or MERGE of a table whose grain is the row.

Tasks name the rows by their numbers in a file. Here it is decided for each file what becomes of it.
"""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ledger.core.rows.bitmaps import RowSet, rows_in
from ledger.files.data_reading import ROW_NUMBER, read_file
from ledger.files.storage import storage_at
from ledger.reads.rows import FileRow
from ledger.statements import deleting
from ledger.statements.marking import ChangedFiles, size_of
from ledger.statements.target import StatementTable
from spark_sink.catalog.session.open_statements import StatementsTxn


class MarkedFile(NamedTuple):
    """A file as a statement read it, and the numbers of its rows that go."""

    file: FileRow
    rows: RowSet


def marked_files(
    txn: StatementsTxn, table: StatementTable, named: Sequence[Sequence[str]]
) -> Sequence[MarkedFile]:
    """Return the files of which tasks marked rows: a path, the id of its vector, and a bitmap."""
    return [
        MarkedFile(txn.file(table.number, path, vector), rows_in(b64decode(rows)))
        for path, vector, rows in named
    ]


def kept_rows(
    table: StatementTable, changed: ChangedFiles, marked: Sequence[MarkedFile]
) -> Iterator[Any]:
    """Let files lose rows, and yield the rows of files that must be written anew.

    A file with few such rows gets a vector. The other rows of a file with many are written anew. A
    file without other rows is just removed.
    """
    storage = storage_at(table.definition.location)
    for file, gone in marked:
        size = size_of(file)
        if deleting.rows_in(file) == len(gone):
            changed.gone(file)
        elif size is None or not changed.mark(file, gone, size):
            then = table.snapshot.schema_of(file)
            rows = read_file(storage, file, table.schema, written=then, numbered=True)
            hit = pc.is_in(rows[ROW_NUMBER], pa.array(list(gone), pa.int64()))
            yield from changed.change(file, rows.drop_columns([ROW_NUMBER]), hit)
