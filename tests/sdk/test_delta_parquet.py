"""Checkpoints in Parquet: what they have in typed form becomes what a log in JSON would say."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from ledger.delta.actions import DeltaAdd
from ledger.delta.log import DeltaLog
from ledger.errors import DeltaLogError
from tests.sdk.delta_logs import CHECKPOINT, MAPS, PROTOCOL, Action, add, metadata, write_checkpoint

PART = "00000000000000000002.checkpoint.000000000{}.0000000002.parquet"
HEAD: list[Action] = [PROTOCOL, metadata()]
DAYS = pa.date32()
MICROS = pa.timestamp("us")
UTC_MICROS = pa.timestamp("us", "UTC")
NEW_YEAR_9999 = 253402214400000000
YEAR_10000 = 253402300800000000


def read(table: Path) -> list[DeltaAdd]:
    (state,) = DeltaLog.open(table).versions()
    return list(state.adds.values())


def write_bounds(table: Path, bound: pa.Array, **options: Any) -> None:
    """Write a checkpoint of a file per bound, each the greatest value of a column."""
    count = len(bound)
    most = pa.StructArray.from_arrays([bound], ["x"])
    stats = pa.StructArray.from_arrays([pa.array([3] * count), most], ["numRecords", "maxValues"])
    fields = {
        "path": pa.array([str(number) for number in range(count)]),
        "partitionValues": pa.array([[]] * count, MAPS),
        "size": pa.array([1] * count),
        "dataChange": pa.array([False] * count),
        "stats_parsed": stats,
    }
    files = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    write_checkpoint(table, PART.format(1), HEAD)
    path = table / "_delta_log" / PART.format(2)
    parquet.write_table(pa.Table.from_arrays([files], ["add"]), path, **options)


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (pa.array(["z"]), "z"),
        (pa.array([True]), True),
        (pa.array([2**62]), 2**62),
        (pa.array([1.5]), 1.5),
        (pa.array([float("nan")]), "NaN"),
        (pa.array([float("-inf")]), "-Infinity"),
        (pa.array([Decimal("1.50")]), 1.5),
        (pa.array([Decimal(10**30)]), 10**30),
        (pa.array([Decimal("12345678901234567890.12")]), None),
        (pa.array([20_455]).cast(pa.int32()).cast(DAYS), "2026-01-02"),
        (pa.array([6_585_227]).cast(pa.int32()).cast(DAYS), None),
        (pa.array([-800_000]).cast(pa.int32()).cast(DAYS), None),
        (pa.array([NEW_YEAR_9999]).cast(MICROS), "9999-12-31T00:00:00.000"),
        (pa.array([NEW_YEAR_9999 + 123_456]).cast(UTC_MICROS), "9999-12-31T00:00:00.123Z"),
        (pa.array([YEAR_10000]).cast(UTC_MICROS), None),
        (pa.array([b"z"]), None),
    ],
)
def test_typed_statistics(tmp_path: Path, bound: pa.Array, expected: Any) -> None:
    """Statistics are written as Delta writes them, without bounds that cannot be said exactly."""
    write_bounds(tmp_path, bound)

    (found,) = read(tmp_path)

    bounds = {} if expected is None else {"x": expected}
    assert json.loads(found.stats) == {"numRecords": 3, "maxValues": bounds}


def test_older_timestamps(tmp_path: Path) -> None:
    """Timestamps in the form that Spark writes unless told otherwise are instants of any year."""
    instants = pa.array([NEW_YEAR_9999, -62_135_596_800_000_000, None]).cast(UTC_MICROS)
    write_bounds(tmp_path, instants, use_deprecated_int96_timestamps=True)

    bounds = [json.loads(each.stats)["maxValues"] for each in read(tmp_path)]

    assert bounds == [{"x": "9999-12-31T00:00:00.000Z"}, {"x": "0001-01-01T00:00:00.000Z"}, {}]


def test_statistics_that_are_there_as_a_text_are_kept_as_they_are(tmp_path: Path) -> None:
    parsed = {"numRecords": 3, "minValues": {"id": Decimal("1.50")}}
    state = [*HEAD, add("a", stats="{}", stats_parsed=parsed)]
    write_checkpoint(tmp_path, PART.format(1).replace("02.parquet", "01.parquet"), state)

    assert [each.stats for each in read(tmp_path)] == ["{}"]


@pytest.mark.parametrize(
    ("pairs", "what"),
    [
        ([("day", "1"), ("day", "2")], r"add has \[\[.* as partitionValues, where a map of texts"),
        (None, "add has null as partitionValues, where a map of texts"),
    ],
)
def test_partition_values_that_are_no_map_from_names_to_values_are_refused(
    tmp_path: Path, pairs: Sequence[tuple[str, str]] | None, what: str
) -> None:
    file = {**add("a")["add"], "partitionValues": pairs}
    rows = pa.Table.from_pylist([*HEAD, {"add": file}], CHECKPOINT)
    path = tmp_path / "_delta_log" / "00000000000000000002.checkpoint.parquet"
    path.parent.mkdir()
    parquet.write_table(rows, path)

    with pytest.raises(DeltaLogError, match=what):
        read(tmp_path)
