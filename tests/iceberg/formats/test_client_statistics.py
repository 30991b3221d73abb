"""Bounds of a client's files on their way to the log: what is not sure is left out."""

import json
import math
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)

from ledger.arrow.schema import TableSchema
from ledger.expressions.column_bounds import stats_bounds
from ledger.iceberg.manifests import ADDED, ManifestEntry
from ledger.iceberg.statistics import metrics_of, stats_of
from ledger.iceberg.values import packed
from ledger.reads.rows import FileRow
from tests.iceberg.formats.drawn_rows import (
    ARROW,
    LEAVES,
    ROWS,
    SCHEMA,
    TABLE,
    THEIRS,
    check,
    values,
)


def their_entry(table: pa.Table) -> ManifestEntry:
    """Return the entry that pyiceberg makes of a file with these rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    metadata = pq.ParquetFile(pa.BufferReader(sink.getvalue())).metadata
    found = data_file_statistics_from_parquet_metadata(
        metadata, compute_statistics_plan(THEIRS, {}), parquet_path_to_id_mapping(THEIRS)
    ).to_serialized_dict()
    names: Any = (
        "value_counts",
        "null_value_counts",
        "nan_value_counts",
        "lower_bounds",
        "upper_bounds",
    )
    return ManifestEntry(ADDED, 1, 1, 1, "/t/a", found["record_count"], 1)._replace(
        **{name: found[name] for name in names}
    )


@given(rows=ROWS)
@settings(deadline=None, max_examples=120)
def test_bounds_of_a_clients_files_hold_in_the_ledger(rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows, ARROW)
    entry = their_entry(table)
    stats = stats_of(entry, TABLE)
    schema = TableSchema.of(TABLE)
    file = FileRow(1, "data/x.parquet", "", (), 1, 1, stats, 1, 1, 0)
    bounds = stats_bounds(file, schema, schema)

    assert json.loads(stats)["numRecords"] == len(rows)
    for number, (name, _) in LEAVES.items():
        found, known = values(rows, number), bounds(name)
        if known is None:
            continue
        assert known.nulls in (None, found.count(None))
        for value in found:
            if value is None:
                continue
            plain_ = value.replace(tzinfo=None) if isinstance(value, datetime) else value
            assert known.low is None or known.low <= plain_
            if known.high is not None and isinstance(plain_, str):
                assert plain_ <= known.high or plain_.startswith(known.high)
            elif known.high is not None:
                assert plain_ <= known.high
    # And back again, as of a file of another writer.
    check(metrics_of(stats, TABLE, SCHEMA, is_other=True), rows)


def entry(number: int, low: bytes | None, high: bytes | None, **more: Any) -> ManifestEntry:
    bounds: dict[str, Any] = {
        "lower_bounds": None if low is None else {number: low},
        "upper_bounds": None if high is None else {number: high},
    }
    return ManifestEntry(ADDED, 1, 1, 1, "/t/a", 10, 1)._replace(**bounds, **more)


def stated(given_: ManifestEntry) -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads(stats_of(given_, TABLE), parse_float=Decimal)
    assert found.pop("numRecords") == 10
    return {key: each for key, each in found.items() if each}


@pytest.mark.parametrize(
    ("given_", "wanted"),
    [
        (entry(2, None, None), {}),
        (
            entry(2, packed(-5, "long"), packed(7, "int")),
            {"minValues": {"l": -5}, "maxValues": {"l": 7}},
        ),
        (entry(2, packed(8, "long"), packed(7, "long")), {}),
        (entry(2, b"\1", bytes(9)), {}),
        (entry(99, bytes(8), bytes(8)), {}),
        (
            entry(5, packed("-1.5", "decimal(12, 3)"), packed("123456789.012", "decimal(12, 3)")),
            {
                "minValues": {"n": Decimal("-1.500")},
                "maxValues": {"n": Decimal("123456789.012")},
            },
        ),
        (entry(3, packed(0.5, "float"), packed(1.5, "float")), {}),
        (entry(3, packed(0.5, "float"), packed(1.5, "float"), nan_value_counts={3: 1}), {}),
        (
            entry(4, packed(0.5, "double"), packed(math.inf, "double"), nan_value_counts={4: 0}),
            {"minValues": {"d": Decimal("0.5")}},
        ),
        (
            entry(6, b"a" * 40, ("b" * 40).encode()),
            {"minValues": {"s": "a" * 32}, "maxValues": {"s": "b" * 32 + "\U0010ffff"}},
        ),
        (entry(6, b"\xff", b"\xff"), {}),
        (
            entry(9, packed("2026-01-01 00:00:00.0001Z", "timestamptz"),
                  packed("2026-01-01 00:00:00.0001Z", "timestamptz")),
            {
                "minValues": {"tz": "2026-01-01T00:00:00.000Z"},
                "maxValues": {"tz": "2026-01-01T00:00:00.001Z"},
            },
        ),
        (
            entry(7, bytes(4), bytes(4)),
            {"minValues": {"day": "1970-01-01"}, "maxValues": {"day": "1970-01-01"}},
        ),
        (entry(7, b"\0\0\0\x70", b"\0\0\0\x70"), {}),
        (entry(10, b"a", b"b"), {}),
        (entry(11, b"\0", b"\1"), {}),
        (
            entry(13, bytes(8), bytes(8)),
            {"minValues": {"place": {"x": 0}}, "maxValues": {"place": {"x": 0}}},
        ),
        (entry(1, None, None, null_value_counts={1: 3}), {"nullCount": {"i": 3}}),
        (entry(1, None, None, null_value_counts={1: 11}), {}),
        (entry(1, None, None, null_value_counts={1: 3}, value_counts={1: 12}), {}),
    ],
)  # fmt: skip
def test_what_is_not_sure_is_left_out(given_: ManifestEntry, wanted: Any) -> None:
    assert stated(given_) == wanted
