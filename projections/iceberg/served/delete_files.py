"""Delete files: the deleted rows of data files, in the form that a format's readers know.

Format 2 has files of row numbers, format 3 has vectors. Both are made from the vectors of the
ledger. A vector that an Iceberg writer left in a file of its own is named where it lies.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ledger.core.rows.bitmaps import rows_in
from ledger.files.deletion_vectors import (
    PUFFIN_SUFFIX,
    deleted_rows,
    is_in_puffin,
    path_of,
    portable,
)
from ledger.iceberg.position_deletes import delete_bounds, position_delete_bytes
from ledger.iceberg.puffin import MAGIC, VectorBlob, puffin_bytes
from ledger.log.wire.file_extras import DeletionVector
from projections.iceberg.served.entries import DeletesEntry
from projections.iceberg.served.metadata.folder import PREFIX, MetadataFolder, digest_of
from projections.iceberg.served.paths import file_text
from projections.iceberg.served.shapes import ROW_IDS_FROM

DELETES: Final = "-deletes.parquet"
FRAME_BYTES: Final = 8
"""A blob has the size of its vector before it and its checksum behind it."""


class DeleteFile(NamedTuple):
    """Where the deletes of a data file lie; the place is in a Puffin file."""

    path: str
    size: int
    file_format: str
    bounds: Mapping[int, bytes] | None
    offset: int | None = None
    length: int | None = None


def delete_file(entry: DeletesEntry, data_path: str, folder: MetadataFolder) -> DeleteFile:
    """Return the delete file of a data file, which readers know by `data_path`, and write it.

    Raises DamagedVectorError for a vector that cannot be read.
    """
    vector = vector_of(entry)
    if is_served_in_place(entry, vector):
        place = path_of(vector)
        path = file_text(folder.location, place, folder.storage)
        length = vector.size + FRAME_BYTES
        size = folder.storage.size(place)
        return DeleteFile(path, size, "PUFFIN", None, vector.offset, length)
    rows = rows_in(portable(deleted_rows(folder.storage, vector)))
    name = own_name(entry, data_path)
    if entry.format_version >= ROW_IDS_FROM:
        data, (blob,) = puffin_bytes([VectorBlob(data_path, rows)])
        made = DeleteFile(folder.place(name), len(data), "PUFFIN", None, *blob)
    else:
        data = position_delete_bytes(data_path, rows)
        bounds = delete_bounds(data_path)
        made = DeleteFile(folder.place(name), len(data), "PARQUET", bounds)
    folder.ensure(name, len(data), lambda: data)
    return made


def gone_file(entry: DeletesEntry, data_path: str, folder: MetadataFolder) -> DeleteFile:
    """Return the delete file that a snapshot removes, as the log alone tells it.

    It may be there no more, and nothing reads it: its size is that of its vector.
    """
    vector = vector_of(entry)
    is_vector = entry.format_version >= ROW_IDS_FROM
    length = vector.size + FRAME_BYTES if is_vector else None
    if is_served_in_place(entry, vector):
        path = file_text(folder.location, path_of(vector), folder.storage)
        return DeleteFile(path, vector.size, "PUFFIN", None, vector.offset, length)
    path = folder.place(own_name(entry, data_path))
    if is_vector:
        return DeleteFile(path, vector.size, "PUFFIN", None, len(MAGIC), length)
    return DeleteFile(path, vector.size, "PARQUET", delete_bounds(data_path))


def vector_of(entry: DeletesEntry) -> DeletionVector:
    """Return where the log has the row numbers of deletes."""
    assert entry.file.deletion_vector is not None, f"the file {entry.path} must have a vector"
    return entry.file.deletion_vector


def is_served_in_place(entry: DeletesEntry, vector: DeletionVector) -> bool:
    """Return whether readers find a vector where it lies."""
    return entry.format_version >= ROW_IDS_FROM and is_in_puffin(vector)


def own_name(entry: DeletesEntry, data_path: str) -> str:
    """Return the name of a delete file, which tells its data file and its vector."""
    said = f"{data_path}\0{vector_of(entry).id}\0{entry.format_version}".encode()
    suffix = PUFFIN_SUFFIX if entry.format_version >= ROW_IDS_FROM else DELETES
    return f"{PREFIX}{digest_of(said)}{suffix}"
