"""Rows that Spark marks: an UPDATE, DELETE or MERGE of a table whose grain is the row.

Tasks name the rows by their numbers in a file. Here it is decided for each file what becomes of it.
"""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pyroaring import BitMap, BitMap64

from ledger.files.deletion_vectors import deleted_before, stay
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile
from ledger.reads.rows import FileRow
from ledger.statements.deleting import rows_in
from ledger.statements.marking import Marking
from ledger.statements.target import StatementTable
from spark_sink.catalog.session.open_statements import StatementsTxn


class MarkedFile(NamedTuple):
    """A file as a statement read it, and the numbers of its rows that go."""

    file: FileRow
    rows: BitMap64


def marked_files(
    txn: StatementsTxn, table: StatementTable, told: Sequence[Sequence[str]]
) -> Sequence[MarkedFile]:
    """Return the files of which tasks marked rows: a path, the id of its vector, and a bitmap."""
    return [
        MarkedFile(
            txn.file(table.number, path, vector), BitMap64(BitMap.deserialize(b64decode(rows)))
        )
        for path, vector, rows in told
    ]


def without_rows(table: StatementTable, marked: Sequence[MarkedFile]) -> Sequence[AddFile]:
    """Return what a commit adds in the place of files that lose rows.

    A file with few such rows gets a vector. The other rows of a file with many are written anew. A
    file without other rows is just removed.
    """
    marking = Marking(table)
    storage = storage_at(table.definition.location)

    def others() -> Iterator[Any]:
        for file, gone in marked:
            if rows_in(file) == len(gone) or marking.mark_rows(file, gone):
                continue
            rows = table.rows(file)
            before = deleted_before(storage, file.deletion_vector)
            yield rows.filter(stay(before, gone, len(rows)))

    adds = table.write(others())
    return [*adds, *marking.files]
