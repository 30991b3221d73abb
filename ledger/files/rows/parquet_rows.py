"""The rows of one Parquet file of a storage, by top-level columns and row groups."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet as pq

from ledger.errors import UnreadableTableError
from ledger.files.bloom_filters import Has, filter_of
from ledger.files.storage import Storage

BATCH_ROWS: Final = 65_536


class ParquetRows:
    """A Parquet file, open for reads.

    Attributes:
        arrow: its columns.
        metadata: its footer.
        group_rows: how many rows each row group has.
    """

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage, self._path = storage, path
        with unreadable_named(path):
            self._parquet = pq.ParquetFile(
                storage.open(path), coerce_int96_timestamp_unit="us", pre_buffer=True
            )
            self.arrow: pa.Schema = self._parquet.schema_arrow
        self.metadata = self._parquet.metadata
        self.group_rows: Sequence[int] = [
            self.metadata.row_group(at).num_rows for at in range(self.metadata.num_row_groups)
        ]

    def batches(
        self, read: Sequence[int], groups: Sequence[int]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield top-level columns by their places, with the number of each first row."""
        starts = [0]
        for rows in self.group_rows:
            starts.append(starts[-1] + rows)
        leaves = self._leaves(read)
        for group in groups:
            start, end = starts[group], starts[group + 1]
            if not read:
                for first in range(start, end, BATCH_ROWS):
                    yield first, blank(min(BATCH_ROWS, end - first))
                continue
            with unreadable_named(self._path):
                # By place: names of columns may hold dots, as paths of leaves do.
                for batch in self._parquet.reader.iter_batches(
                    BATCH_ROWS, row_groups=[group], column_indices=leaves
                ):
                    yield start, batch
                    start += batch.num_rows

    def _leaves(self, read: Sequence[int]) -> list[int]:
        """Return the places of the leaf columns below top-level columns."""
        found: list[int] = []
        first = 0
        for at, field in enumerate(self.arrow):
            count = leaf_count(field.type)
            if at in read:
                found += range(first, first + count)
            first += count
        return found

    def filter(self, part: Any) -> Has:
        """Return the Bloom filter of a column of a row group, which is read when it is asked."""

        @cache
        def found() -> Has | None:
            with self._storage.open(self._path) as stream:
                stream.seek(part.bloom_filter_offset)
                data = stream.read(part.bloom_filter_length)
            return filter_of(bytes(data), part.physical_type)

        def has(value: Any) -> bool:
            known = found()
            return known is None or known(value)

        return has

    def close(self) -> None:
        """Close the file."""
        self._parquet.close(force=True)


def leaf_count(type_: pa.DataType) -> int:
    """Return the number of leaf columns that a type has in a file."""
    if not pa.types.is_nested(type_):
        return 1
    return sum(leaf_count(type_.field(at).type) for at in range(type_.num_fields))


def blank(rows: int) -> pa.RecordBatch:
    """Return rows without columns of the file."""
    return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=[""])


@contextmanager
def unreadable_named(path: str) -> Iterator[None]:
    """Raise UnreadableTableError, with the file's path, for bytes that are no Parquet."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
        raise UnreadableTableError(
            f"file {path} cannot be read as Parquet: {problem}. Restore it from a copy, or "
            "remove it from the table"
        ) from problem
