"""Slices: the records of a micro-batch, brought to the driver in bounded portions.

Spark bounds a batch by its number of records, and a record may have 300 bytes or two megabytes. The
result of a job is in the driver's heap several times: 50,000 records of 5 KB killed a driver with a
gigabyte. So a batch brings the bytes of short records and of the first ones, and only the size of
the others. Slices with missing bytes are read once more from the topic, by their offsets: only they
cost a second read.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from pyspark.sql import DataFrame

from ledger.log.port import Record

OFFSETS_PER_BATCH: Final = 50_000
SLICE_BYTES: Final = 64 * 1024 * 1024
# All records up to this size of a batch fit into one slice.
SHORT_BYTES: Final = SLICE_BYTES // OFFSETS_PER_BATCH
# The first few come with their bytes at any size: a small batch is one job.
FIRST: Final = 16
SIZE: Final = "coalesce(length(value), 0) as size"
IS_BROUGHT: Final = f"length(value) <= {SHORT_BYTES} or monotonically_increasing_id() < {FIRST}"
SEEN: Final = ("offset", SIZE, f"if({IS_BROUGHT}, value, null) as value")
WHOLE: Final = ("offset", SIZE, "value")

Read = Callable[[int, int], DataFrame]


class SliceRow(NamedTuple):
    """A record of a batch; `value` is None where only the size was brought."""

    offset: int
    size: int
    value: bytes | None


def slices_of(batch: DataFrame, read: Read) -> Iterator[list[Record]]:
    """Yield the records of a batch in offset order, at most `SLICE_BYTES` at a time.

    A single record may be larger. `read` returns the records of the topic from an offset to before
    another one.
    """
    for rows in cut(rows_of(batch, *SEEN)):
        is_brought = all(row.value is not None for row in rows)
        whole = rows if is_brought else rows_of(read(rows[0].offset, rows[-1].offset + 1), *WHOLE)
        yield [Record(row.offset, b"", row.value or b"", 0) for row in whole]


def cut(rows: Sequence[SliceRow]) -> Iterator[Sequence[SliceRow]]:
    """Yield the rows again, cut where a slice would have more than `SLICE_BYTES`."""
    first, held = 0, 0
    for index, row in enumerate(rows):
        if held + row.size > SLICE_BYTES and first < index:
            yield rows[first:index]
            first, held = index, 0
        held += row.size
    if rows:
        yield rows[first:]


def rows_of(batch: DataFrame, *columns: str) -> list[SliceRow]:
    """Return rows of these columns in offset order, by one job."""
    table = batch.selectExpr(*columns).toArrow()
    fields = (table[name].to_pylist() for name in SliceRow._fields)
    return sorted(map(SliceRow, *fields), key=lambda row: row.offset)
