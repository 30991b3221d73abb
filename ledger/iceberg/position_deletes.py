"""Position delete files of format 2: rows of data files that are deleted, in Parquet.

A file that is written has the rows of one data file, so readers of that file alone need it. A file
that is read may have the rows of many, in any order; its columns are known by their ids.
"""

from array import array
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ledger.core.rows.bitmaps import ROW_MAX, RowSet, empty
from ledger.iceberg.limits import DELETES_LIMITS, IcebergFormatError, ReadLimits

PATH_ID: Final = 2147483546
POSITION_ID: Final = 2147483545
"""The ids of the two columns, which Iceberg keeps for them."""

PATH: Final = "file_path"
POSITION: Final = "pos"
FIELD_ID: Final = b"PARQUET:field_id"
BATCH_ROWS: Final = 64 * 1024
WORD: Final = "I"
SCHEMA: Final = pa.schema(
    [
        pa.field(PATH, pa.string(), False, {FIELD_ID: str(PATH_ID).encode()}),  # noqa: FBT003
        pa.field(POSITION, pa.int64(), False, {FIELD_ID: str(POSITION_ID).encode()}),  # noqa: FBT003
    ]
)


def position_delete_bytes(path: str, rows: RowSet) -> bytes:
    """Return a delete file with some rows of the data file at `path`, as manifests name it.

    Equal rows give equal bytes, with one release of Arrow.
    """
    numbers = rows.to_array()
    paths = pa.DictionaryArray.from_arrays(
        pa.nulls(len(numbers), pa.int32()).fill_null(0), pa.array([path])
    )
    positions = pa.array(numbers, pa.uint32()).cast(pa.int64())
    data = BytesIO()
    pq.write_table(
        pa.table([paths.cast(pa.string()), positions], schema=SCHEMA),
        data,
        use_dictionary=[PATH],
        column_encoding={POSITION: "DELTA_BINARY_PACKED"},
        compression="none",
        store_schema=False,
    )
    return data.getvalue()


def delete_bounds(path: str) -> Mapping[int, bytes]:
    """Return the lower and the upper bounds of a delete file of one data file.

    By equal bounds of the path, readers see that they need the file for this data file alone.
    """
    return {PATH_ID: path.encode()}


def read_position_deletes(data: bytes, limits: ReadLimits = DELETES_LIMITS) -> Mapping[str, RowSet]:
    """Return the deleted rows of each data file that a delete file names.

    `limits` bound the bytes, the row numbers and the data files. Raises IcebergFormatError for
    anything but a whole Parquet file with paths and row numbers, none of them NULL.
    """
    limits.check_bytes("a delete file", len(data))
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        names = columns_in(file)
        check_size(file.metadata, limits)
        found: dict[str, RowSet] = {}
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=[names[0]])
        for batch in file.iter_batches(BATCH_ROWS, columns=list(names)):
            take(batch, names, found, limits)
    except IcebergFormatError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise IcebergFormatError(f"a delete file cannot be read: {error}") from error
    return found


def columns_in(file: Any) -> tuple[str, str]:
    """Return the names of the two columns of a delete file; raises IcebergFormatError.

    They are known by their ids; a file without ids has the names of the specification.
    """
    known = {}
    for field in file.schema_arrow:
        number = (field.metadata or {}).get(FIELD_ID)
        known[field.name if number is None else number.decode()] = field
    path = known.get(str(PATH_ID), known.get(PATH))
    position = known.get(str(POSITION_ID), known.get(POSITION))
    if path is None or position is None:
        raise IcebergFormatError("a delete file must have the columns file_path and pos")
    is_text = pa.types.is_string(path.type) or pa.types.is_large_string(path.type)
    if not is_text or not pa.types.is_integer(position.type):
        raise IcebergFormatError(
            f"a delete file must have texts and whole numbers, got {path.type} and {position.type}"
        )
    return path.name, position.name


def check_size(metadata: Any, limits: ReadLimits) -> None:
    """Raise IcebergFormatError for more rows, or more bytes after decompression, than allowed."""
    if metadata.num_rows > limits.entries:
        raise IcebergFormatError(
            f"a delete file must have at most {limits.entries} rows, got {metadata.num_rows}"
        )
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    limits.check_bytes("a delete file", sum(max(each.total_byte_size, 0) for each in groups))


def take(batch: Any, names: tuple[str, str], found: dict[str, RowSet], limits: ReadLimits) -> None:
    """Add the rows of a batch to what was found; raises IcebergFormatError."""
    paths, positions = (batch.column(name) for name in names)
    if paths.null_count or positions.null_count:
        raise IcebergFormatError("a delete file must not have NULL as a path or a row number")
    if not len(batch):
        return
    lowest, highest = pc.min_max(positions).as_py().values()
    if lowest < 0 or highest > ROW_MAX:
        raise IcebergFormatError(f"a row number must be 0 to {ROW_MAX}, got {lowest}, {highest}")
    # Arrow does not look whether the indices of a file are in its dictionary.
    first, last = pc.min_max(paths.indices).as_py().values()
    if first < 0 or last >= len(paths.dictionary):
        raise IcebergFormatError("a delete file has a path that is not in its dictionary")
    # One pass over runs of equal paths: many paths in a batch cost no more than few.
    order = pc.sort_indices(paths.indices)
    numbers = positions.cast(pa.uint32()).take(order)
    runs = pc.run_end_encode(paths.indices.take(order))
    start = 0
    for index, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        path = paths.dictionary[index].as_py()
        if path not in found and len(found) >= limits.items:
            raise IcebergFormatError(f"a delete file must name at most {limits.items} files")
        if path is None or not path or "\0" in path:
            raise IcebergFormatError(f"a delete file must name data files, got {path!r}")
        found.setdefault(path, empty()).update(rows_of(numbers[start:end]))
        start = end


def rows_of(numbers: Any) -> RowSet:
    """Return an array of row numbers as a set."""
    size = pa.uint32().bit_width // 8
    start = numbers.offset * size
    words = array(WORD, bytes(numbers.buffers()[1])[start : start + len(numbers) * size])
    return type(empty())(words)
