"""Data files of a client as the log has them: partition, statistics, and deleted rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ledger.core.commands import TableDefinition
from ledger.core.limits import ROWS_PER_WRITE_MAX
from ledger.core.rows.bitmaps import RowSet, bytes_of
from ledger.files.deletion_vectors import path_of, write_vector
from ledger.files.storage import storage_at
from ledger.files.written_files import discard
from ledger.iceberg.manifests import ManifestEntry
from ledger.iceberg.statistics import stats_of
from ledger.iceberg.values import TOO_ODD
from ledger.log.wire.file_extras import DeletionVector, Tags
from ledger.log.wire.file_list import AddFile
from ledger.log.wire.inline_vectors import inline_vector, with_vector
from ledger.reads.port import FileRow
from ledger.work.noted_rows import added_again
from projections.iceberg.commits.files.snapshot_difference import NewEntry
from projections.iceberg.commits.files.specs import SpecsOfTable
from projections.iceberg.commits.files.unchecked_writes import check_values
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.errors import bad_request
from projections.iceberg.served.own_partitions import (
    OWN_PARTITION,
    Meaning,
    OwnPartition,
    meanings_of,
    own_partition,
    own_text,
)

VECTOR_BYTES_MAX: Final = 32 << 10
"""A longer vector has a file of its own: it would fill the log."""

INLINE_BYTES_MAX: Final = 256 << 10
"""So many bytes of vectors may one commit put into the log in each table."""


class NewDataFiles:
    """Makes the files that a commit adds to one table, for its definition after the commit."""

    def __init__(self, definition: TableDefinition, specs: SpecsOfTable, modified: int) -> None:
        self._definition, self._specs, self._modified = definition, specs, modified

    def made(self, key: str, new: NewEntry, *, is_same: bool) -> AddFile:
        """Return a new data file; `is_same` says that its rows were in the table before.

        Raises IcebergRefusal for a file of another spec whose place under the present one is not
        known, and for values that do not fit.
        """
        entry = new.entry
        if not 0 <= entry.record_count <= ROWS_PER_WRITE_MAX:
            raise bad_request(
                f"a file must have {ROWS_PER_WRITE_MAX} rows at most, got {entry.record_count} in "
                f"{shown(entry.path)}"
            )
        if not is_same:
            check_values(self._definition, entry)
        stats = stats_of(entry, self._definition)
        made = AddFile(key, (), entry.size, self._modified, stats=stats)
        spec = self._specs.spec_of(new)
        with partition_refused(entry.path):
            values = self._specs.values(spec, entry)
            if self._specs.is_present(spec):
                return made._replace(partition=values)
            own = OwnPartition(spec["spec-id"], meanings_of(spec), values)
            self._specs.check_holds(storage_at(self._definition.location), key, own)
            return self._placed(made, own, {}, entry)

    def again(self, row: FileRow, spec: Given) -> AddFile:
        """Return a file of the table to add again; `spec` is that of its version.

        Raises IcebergRefusal as `made`.
        """
        made = added_again(row)._replace(base_row_id=row.base_row_id, row_version=row.row_version)
        if self._specs.is_present(spec):
            return made
        with partition_refused(row.path):
            values = self._specs.row_values(spec, row)
            own = own_partition(row.tags) or OwnPartition(
                spec["spec-id"], list(values), tuple(values.values())
            )
            return self._placed(made, own, values, None)

    def _placed(
        self,
        file: AddFile,
        own: OwnPartition,
        more: Mapping[Meaning, str | None],
        entry: ManifestEntry | None,
    ) -> AddFile:
        """Return a file with its values under the present spec, and its own ones in a tag."""
        known = {**more, **dict(zip(own.meanings, own.values, strict=True))}
        values = self._specs.placed(known, file.path, entry)
        tags = Tags({**file.tags, OWN_PARTITION: own_text(own)})
        return file._replace(partition=values, tags=tags)


@contextmanager
def partition_refused(path: str) -> Iterator[None]:
    """Turn the error for a value that no field has into a refusal that names the file."""
    try:
        yield
    except TOO_ODD as error:
        raise bad_request(f"the partition of {shown(path)}: {error}") from error


class VectorPlaces:
    """Where the vectors of one commit lie: in the log, or in files of their own if long.

    The files lie below the location of the table.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._room = INLINE_BYTES_MAX
        self._written: list[str] = []

    def with_rows(self, file: AddFile, rows: RowSet) -> AddFile:
        """Return a file with deleted rows, at least one."""
        return with_vector(file, self.vector(rows))

    def fits(self, rows: RowSet) -> bool:
        """Return whether a vector of some rows lies in the log."""
        return len(bytes_of(rows)) <= min(VECTOR_BYTES_MAX, self._room)

    def vector(self, rows: RowSet) -> DeletionVector:
        """Return the vector of some rows, at least one; a long one is written to a file."""
        found = inline_vector(rows)
        if found.size <= min(VECTOR_BYTES_MAX, self._room):
            self._room -= found.size
            return found
        stored = write_vector(storage_at(self._location), found)
        self._written.append(path_of(stored))
        return stored

    def discard(self) -> None:
        """Delete what was written: no commit names it."""
        if self._written:
            discard(storage_at(self._location), self._written)
            self._written = []
