"""The deleted rows of data files, from position deletes and deletion vectors.

Position deletes of a file name rows of any number of data files; a vector belongs to one. Deletes
count for a data file that is not newer, by sequence number. Where a data file has a vector, its
position deletes are in it already.
"""

from collections.abc import Mapping
from typing import Final

from ledger.core.rows.bitmaps import RowSet, empty
from ledger.errors import IcebergTableError, IncompatibleError
from ledger.iceberg.imports.branch_files import PUFFIN, BranchChange, BranchFile, DeleteKey
from ledger.iceberg.imports.source_files import SourceFiles
from ledger.iceberg.limits import DELETES_LIMITS, IcebergFormatError
from ledger.iceberg.position_deletes import read_position_deletes
from ledger.iceberg.puffin import read_vector
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.inline_vectors import inline_vector

INLINE_CHARS_MAX: Final = 400_000
"""A longer list of deleted rows fits no record of the log."""

PUFFIN_ENDING: Final = ".puffin"
"""By this ending readers of the log know a file of vectors of Iceberg."""

BLOB_FRAME_BYTES: Final = 8
"""The size before the bitmap of a vector and its checksum behind it, which Delta does not count."""


class DeletedRows:
    """The deletes of a snapshot, by the paths of data files."""

    def __init__(self, source: SourceFiles) -> None:
        self._source = source
        self._rows: dict[DeleteKey, Mapping[str, RowSet]] = {}
        self._of: dict[str, dict[DeleteKey, BranchFile]] = {}

    def take(self, change: BranchChange) -> set[str]:
        """Take the changed deletes of a step, and return the data files that they are about."""
        touched: set[str] = set()
        for key in change.gone_deletes:
            for path in self._rows.pop(key, {}):
                self._of[path].pop(key, None)
                touched.add(path)
        for key, file in change.new_deletes.items():
            self._rows[key] = rows = self._read(file)
            for path in rows:
                self._of.setdefault(path, {})[key] = file
                touched.add(path)
        return touched

    def vector(self, file: BranchFile) -> DeletionVector | None:
        """Return the deleted rows of a data file, None without any.

        Raises IcebergTableError for deletes that contradict each other, and IncompatibleError for
        more rows than a record holds.
        """
        path = file.entry.path
        deletes = [
            (key, each)
            for key, each in self._of.get(path, {}).items()
            if each.sequence >= file.sequence
        ]
        vectors = [each for _, each in deletes if each.entry.file_format == PUFFIN]
        if len(vectors) > 1:
            raise IcebergTableError(path, "it has two deletion vectors in one snapshot")
        if vectors and vectors[0].entry.path.endswith(PUFFIN_ENDING):
            return vector_in_puffin(vectors[0])
        if vectors:
            return inline(path, self._read_vector(vectors[0]))
        gone = empty()
        for key, each in deletes:
            if each.partition != file.partition:
                raise IcebergTableError(
                    each.entry.path, f"it deletes rows of {path}, which is in another partition"
                )
            gone |= self._rows[key][path]
        return inline(path, gone) if gone else None

    def _read_vector(self, file: BranchFile) -> RowSet:
        """Return the rows of a vector in a file that no reader here knows by its name."""
        entry, start = file.entry, file.entry.content_offset or 0
        data = self._source.read(entry.path, DELETES_LIMITS.bytes)
        try:
            return read_vector(data[start : start + (entry.content_size or 0)])
        except IcebergFormatError as error:
            raise IcebergTableError(entry.path, str(error)) from error

    def _read(self, file: BranchFile) -> Mapping[str, RowSet]:
        """Return the deleted rows in a file by data file; those of a vector are not read yet."""
        entry = file.entry
        if entry.file_format == PUFFIN:
            if entry.referenced_data_file is None or entry.content_offset is None:
                raise IcebergTableError(entry.path, "a vector in it has no data file, or no place")
            return {entry.referenced_data_file: empty()}
        data = self._source.read(entry.path, DELETES_LIMITS.bytes)
        try:
            return read_position_deletes(data, DELETES_LIMITS)
        except IcebergFormatError as error:
            raise IcebergTableError(entry.path, str(error)) from error


def inline(path: str, rows: RowSet) -> DeletionVector:
    """Return a vector that the log holds itself; raises IncompatibleError if it is too long."""
    found = inline_vector(rows)
    if len(found.place) > INLINE_CHARS_MAX:
        raise IncompatibleError(
            f"file {path} has {len(rows)} deleted rows, whose list has {len(found.place)} "
            f"characters; a record holds {INLINE_CHARS_MAX}. Let the table's writer compact it "
            "(rewrite_data_files), and import it then"
        )
    return found


def vector_in_puffin(file: BranchFile) -> DeletionVector:
    """Return the vector of an entry where it lies; its frame is that of Delta's vectors."""
    entry = file.entry
    size = (entry.content_size or 0) - BLOB_FRAME_BYTES
    if size <= 0:
        raise IcebergTableError(entry.path, f"a vector in it has {entry.content_size} bytes")
    return DeletionVector("p", entry.path, entry.content_offset, size, entry.record_count)
