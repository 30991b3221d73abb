"""Marks: rows of a file that a statement deletes by a vector, in place of writing the file anew.

A table asks for them by the property `lakeledger.rows`. A file is marked while few of its rows are
deleted; beyond that it is written anew, since every reader passes over the marked rows. The vector
stands in the log, as Delta's inline form has it.
"""

from typing import Any, Final

import pyarrow as pa
from pyroaring import BitMap64

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import ROW_TRACKING
from ledger.expressions.column_bounds import parsed_stats
from ledger.files.deletion_vectors import deleted_before, in_log, with_more
from ledger.files.file_columns import has_names_of
from ledger.files.storage import storage_at
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile
from ledger.properties.known_properties import MARKS, ROWS
from ledger.reads.rows import FileRow
from ledger.statements.target import StatementTable

SHARE: Final = 10
"""The number of rows of a file for each row that may be marked."""

TIGHT: Final = "tightBounds"
VECTOR_BYTES_MAX: Final = 32 << 10
"""A longer vector would fill the log; then the file is written anew."""


class Marking:
    """The files that one statement marks.

    Attributes:
        files: the marked files, as the commit adds them.
    """

    def __init__(self, table: StatementTable) -> None:
        self.files: list[AddFile] = []
        self._table = table
        self._is_asked = asks_for_marks(table.definition)
        self._storage = storage_at(table.definition.location) if self._is_asked else None

    def mark(self, file: FileRow, hit: Any) -> bool:
        """Mark rows of a file, and return whether that was done; else it must be written anew.

        `hit` says for each row that the file has left whether it is deleted.
        """
        if self._storage is None or not self._may_mark(file):
            return False
        one = hit.combine_chunks() if isinstance(hit, pa.ChunkedArray) else hit
        return self._marked(file, with_more(self._storage, file.deletion_vector, one))

    def mark_rows(self, file: FileRow, rows: BitMap64) -> bool:
        """Mark rows of a file by their numbers, and return whether that was done, as `mark`."""
        if self._storage is None or not self._may_mark(file):
            return False
        return self._marked(file, deleted_before(self._storage, file.deletion_vector) | rows)

    def _marked(self, file: FileRow, deleted: BitMap64) -> bool:
        known = parsed_stats(file.stats)
        if len(deleted) * SHARE > known["numRecords"]:
            return False
        vector = in_log(deleted)
        if vector.size > VECTOR_BYTES_MAX:
            return False
        self.files.append(marked(file, vector))
        return True

    def _may_mark(self, file: FileRow) -> bool:
        """Return whether a file may be added again as it is, with another vector."""
        table, known = self._table, parsed_stats(file.stats)
        if type(known.get("numRecords")) is not int or known.get(TIGHT) is True:
            return False
        if file.vector and file.deletion_vector is None:
            return False
        if table.work.files.definition(table.definition.location, file.path) is not None:
            # A txn deletes the files that it wrote itself and whose rows are in other files now.
            return False
        then = table.snapshot.schema_of(file)
        is_divided_alike = list(then.partition_columns) == list(table.schema.partition_columns)
        return is_divided_alike and has_names_of(then, table.schema)


def asks_for_marks(definition: TableDefinition) -> bool:
    """Return whether a table asks for marks; a new vector would give tracked rows new ids."""
    known = {key.lower(): value.lower() for key, value in definition.properties}
    return known.get(ROWS) == MARKS and known.get(ROW_TRACKING.lower()) != "true"


def marked(file: FileRow, vector: DeletionVector) -> AddFile:
    """Return a file as a commit adds it again, with a vector."""
    return AddFile(
        path=file.path,
        partition=tuple(file.partition),
        size=file.size,
        modified=file.modified,
        stats=loosened(file.stats),
        vector=vector.id,
        deletion_vector=vector,
        tags=file.tags,
    )


def loosened(stats: str) -> str:
    """Return statistics that say that no row may have a bound, all else in the same words."""
    if parsed_stats(stats).get(TIGHT) is False:
        return stats
    return f'{stats.rstrip().removesuffix("}")},"{TIGHT}":false}}'
