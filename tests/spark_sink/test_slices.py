"""A batch of Spark comes to the driver in slices of bounded bytes, whatever its records are."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_sink.slices import FIRST, OFFSETS_PER_BATCH, SLICE_BYTES, SliceRow, cut, slices_of

MIB = 1024 * 1024
EVENT_BYTES_MAX = 2 * MIB
HALF = SLICE_BYTES // 2


@pytest.mark.parametrize(
    ("sizes", "slices"),
    [
        ([], []),
        ([0, 0, 0], [3]),
        ([HALF, HALF], [2]),
        ([HALF, HALF, 1], [2, 1]),
        ([1, SLICE_BYTES, 1], [1, 1, 1]),
        ([SLICE_BYTES + 1, 1, 1], [1, 2]),
        ([1, 1, SLICE_BYTES + 1], [2, 1]),
    ],
)
def test_a_slice_has_as_many_rows_as_its_bytes_allow(sizes: list[int], slices: list[int]) -> None:
    rows = [SliceRow(offset, size, None) for offset, size in enumerate(sizes)]

    cuts = list(cut(rows))

    assert slices == [len(each) for each in cuts]
    assert rows == [row for each in cuts for row in each]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("records", "size", "slices", "readings"),
    [
        (0, 100, 0, 0),
        (1, EVENT_BYTES_MAX, 1, 0),
        (FIRST, EVENT_BYTES_MAX, 1, 0),
        (OFFSETS_PER_BATCH, 1_000, 1, 0),
        (FIRST + 1, EVENT_BYTES_MAX, 1, 1),
        (100, EVENT_BYTES_MAX, 4, 4),
        (OFFSETS_PER_BATCH, 4_000, 3, 3),
    ],
)
def test_slices(spark: SparkSession, records: int, size: int, slices: int, readings: int) -> None:
    """The slices are the batch; it is brought at once if that is little, else read once more."""
    topic = spark.range(0, records, 1, 1).selectExpr(
        "id as offset",
        f"cast(repeat('0', {size} - 9) || lpad(cast(id as string), 9, '0') as binary) as value",
    )
    read = []

    def again(start: int, end: int) -> DataFrame:
        read.append((start, end))
        return topic.where(f"{start} <= offset and offset < {end}")

    offsets, sliced = [], 0
    for each in slices_of(topic, again):
        assert sum(len(record.value) for record in each) <= SLICE_BYTES
        assert [int(record.value[-9:]) for record in each] == [record.offset for record in each]
        offsets += [record.offset for record in each]
        sliced += 1

    assert (list(range(records)), slices, readings) == (offsets, sliced, len(read))
