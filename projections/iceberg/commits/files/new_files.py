"""Data files of a client as the log has them: partition, statistics, and deleted rows."""

from typing import Final

from ledger.core.commands import TableDefinition
from ledger.core.limits import ROWS_PER_WRITE_MAX
from ledger.core.partitions.names import Values
from ledger.core.rows.bitmaps import RowSet, bytes_of
from ledger.files.deletion_vectors import path_of, write_vector
from ledger.files.storage import storage_at
from ledger.files.written_files import discard
from ledger.iceberg.manifests import ADDED, ManifestEntry, manifest_bytes
from ledger.iceberg.partition_tuples import tuple_of, values_of
from ledger.iceberg.partitioning import fields_of_spec
from ledger.iceberg.statistics import stats_of
from ledger.iceberg.values import TOO_ODD
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile
from ledger.log.wire.inline_vectors import inline_vector, with_vector
from projections.iceberg.commits.files.snapshot_difference import NewEntry
from projections.iceberg.commits.files.unchecked_writes import check_values
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.errors import bad_request

FORMAT: Final = 2
VECTOR_BYTES_MAX: Final = 32 << 10
"""A longer vector has a file of its own: it would fill the log."""

INLINE_BYTES_MAX: Final = 256 << 10
"""So many bytes of vectors may one commit put into the log in each table."""


class NewDataFiles:
    """Makes the files that a commit adds to one table, for its definition after the commit.

    `spec` and `schema` are Iceberg's JSON of that definition.
    """

    def __init__(
        self, definition: TableDefinition, spec: Given, schema: Given, modified: int
    ) -> None:
        self._definition, self._spec, self._schema = definition, spec, schema
        self._fields = fields_of_spec(spec)
        self._modified = modified
        self._servable = set[Values]()

    def made(self, key: str, new: NewEntry, *, is_same: bool) -> AddFile:
        """Return a new data file; `is_same` says that its rows were in the table before.

        Raises IcebergRefusal for a file of another spec, and for values that do not fit.
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
        return AddFile(key, self._values(new), entry.size, self._modified, stats=stats)

    def _values(self, new: NewEntry) -> Values:
        """Return the partition of a file, as texts."""
        is_other = new.spec_id != self._spec["spec-id"]
        if new.spec and not is_other:
            is_other = [each.meaning for each in fields_of_spec(new.spec)] != [
                each.meaning for each in self._fields
            ]
        if is_other:
            raise bad_request(
                f"a new file must be of the table's partition spec {self._spec['spec-id']}, got "
                f"spec {new.spec_id} for {shown(new.entry.path)}: load the table again, and write "
                "the rows anew"
            )
        try:
            values = values_of(new.entry.partition, self._spec, self._schema)
            self._check_servable(values)
        except TOO_ODD as error:
            raise bad_request(f"the partition of {shown(new.entry.path)}: {error}") from error
        return values

    def _check_servable(self, values: Values) -> None:
        """Raise an error of TOO_ODD for a partition that no manifest could show afterwards."""
        if values not in self._servable:
            partition = tuple_of(values, self._spec, self._schema)
            entry = ManifestEntry(ADDED, 0, 0, 0, "", 0, 0, partition)
            manifest_bytes([entry], self._spec, self._schema, "data", FORMAT)
            self._servable.add(values)


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
