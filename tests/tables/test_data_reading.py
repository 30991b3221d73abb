"""The rows of one data file: columns by id and by name, partition values, types, deletions."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ledger.arrow.schema import TableSchema
from ledger.arrow.type_fields import FIELD_ID
from ledger.errors import UnreadableTableError
from ledger.files.data_reading import read_file
from ledger.files.storage import storage_at
from tests.tables.files import column, file_row, inline_vector, parquet, schema_of, stored_vector

OLD = schema_of(column("a", "int", 1), column("b", "string", 2))


def with_ids(**fields: tuple[int, pa.DataType]) -> pa.Schema:
    return pa.schema(
        [
            pa.field(name, type_, metadata={FIELD_ID: str(number).encode()})
            for name, (number, type_) in fields.items()
        ]
    )


def rows_of(
    folder: Path,
    schema: TableSchema,
    written: TableSchema | None = None,
    partition: tuple[str | None, ...] = (),
) -> list[dict[str, Any]]:
    found = read_file(storage_at(str(folder)), file_row("f", partition), schema, written=written)
    assert found.schema.equals(schema.arrow)
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


NOW = schema_of(column("c", "double", 3), column("renamed", "string", 2), column("a", "bigint", 1))


@pytest.mark.parametrize("has_ids", [True, False])
def test_columns_are_found_by_id(tmp_path: Path, has_ids: bool) -> None:  # noqa: FBT001
    data: dict[str, Any] = {"a": [1, None], "b": ["x", "y"]}
    schema = with_ids(a=(1, pa.int32()), b=(2, pa.string())) if has_ids else None
    parquet(tmp_path, "f", pa.table(data, schema=schema))
    assert rows_of(tmp_path, NOW, OLD) == [
        {"c": None, "renamed": "x", "a": 1},
        {"c": None, "renamed": "y", "a": None},
    ]


def test_a_column_that_was_added_again_is_new(tmp_path: Path) -> None:
    again = schema_of(column("a", "int", 7), column("b", "string", 2))
    parquet(tmp_path, "f", pa.table({"a": [1], "b": ["x"]}))
    assert rows_of(tmp_path, again, OLD) == [{"a": None, "b": "x"}]
    numbered = with_ids(a=(1, pa.int32()), b=(2, pa.string()))
    parquet(tmp_path, "f", pa.table({"a": [1], "b": ["x"]}, schema=numbered))
    assert rows_of(tmp_path, again, OLD) == [{"a": None, "b": "x"}]


def test_ids_of_another_writer_do_not_count(tmp_path: Path) -> None:
    """Ids that contradict the names of the table are another writer's own."""
    other = with_ids(b=(1, pa.string()), a=(2, pa.int32()))
    parquet(tmp_path, "f", pa.table({"b": ["x"], "a": [1]}, schema=other))
    assert rows_of(tmp_path, OLD) == [{"a": 1, "b": "x"}]


def test_names_are_found_in_any_case(tmp_path: Path) -> None:
    parquet(tmp_path, "f", pa.table({"A": [1], "b": ["x"], "B": ["y"]}))
    assert rows_of(tmp_path, OLD) == [{"a": 1, "b": "x"}]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_with_column_mapping_files_have_physical_names(tmp_path: Path, mode: str) -> None:
    nested = {
        "type": "struct",
        "fields": [
            {
                "name": "x",
                "type": "integer",
                "nullable": True,
                "metadata": {
                    "delta.columnMapping.id": 5,
                    "delta.columnMapping.physicalName": "col-5",
                },
            }
        ],
    }
    metadata = {
        "delta.columnMapping.physicalName": "col-1",
        "lakeledger.delta.type": {"type": "array", "elementType": nested},
    }
    plain = json.dumps({"delta.columnMapping.physicalName": "col-2"})
    schema = schema_of(
        column("s", "array<struct<x:int>>", 1, json.dumps(metadata)),
        column("col-1", "int", 2, plain),
        mode=mode,
    )
    inner = pa.struct([pa.field("col-5", pa.int32(), metadata={FIELD_ID: b"5"})])
    fields = [("col-1", 1, pa.list_(inner)), ("col-2", 2, pa.int32())]
    names = with_ids(**{name: (number, type_) for name, number, type_ in fields})
    data: dict[str, Any] = {"col-1": [[{"col-5": 3}, None], None], "col-2": [8, 9]}
    parquet(tmp_path, "f", pa.table(data, schema=names))
    assert rows_of(tmp_path, schema) == [
        {"s": [{"x": 3}, None], "col-1": 8},
        {"s": None, "col-1": 9},
    ]


def test_nested_columns_follow_their_fields(tmp_path: Path) -> None:
    kind = "struct<n:bigint,m:map<string,struct<z:int,y:string>>,l:array<array<double>>>"
    schema = schema_of(column("s", kind, 1), column("e", "struct<>", 2))
    inner = pa.map_(pa.string(), pa.struct([("Y", pa.string())]))
    type_ = pa.struct([("l", pa.list_(pa.list_(pa.float32()))), ("n", pa.int16()), ("m", inner)])
    values = [
        {"l": [[1.5], None, []], "n": 1, "m": [("k", {"Y": "v"}), ("j", None)]},
        None,
        {"l": None, "n": None, "m": None},
    ]
    parquet(tmp_path, "f", pa.table({"s": pa.array(values, type_)}))
    assert rows_of(tmp_path, schema) == [
        {
            "s": {"n": 1, "m": [("k", {"z": None, "y": "v"}), ("j", None)], "l": [[1.5], None, []]},
            "e": None,
        },
        {"s": None, "e": None},
        {"s": {"n": None, "m": None, "l": None}, "e": None},
    ]


AT = datetime(2024, 2, 29, 23, 59, 59, 123456)  # noqa: DTZ001 - a local time


@pytest.mark.parametrize(
    ("kind", "stored", "wanted"),
    [
        ("bigint", pa.array([1], pa.int8()), 1),
        ("int", pa.array([1], pa.uint16()), 1),
        ("double", pa.array([1], pa.int32()), 1.0),
        ("double", pa.array([1.5], pa.float32()), 1.5),
        ("decimal(10,2)", pa.array([3], pa.int64()), Decimal("3.00")),
        ("decimal(10,2)", pa.array([Decimal("1.5")], pa.decimal128(2, 1)), Decimal("1.50")),
        ("timestamp_ntz", pa.array([date(2024, 2, 29)]), datetime(2024, 2, 29)),  # noqa: DTZ001
        ("timestamp", pa.array([AT], pa.timestamp("us")), AT.replace(tzinfo=UTC)),
        ("timestamp", pa.array([AT], pa.timestamp("ns", "Asia/Tokyo")), AT.replace(tzinfo=UTC)),
        ("timestamp_ntz", pa.array([AT], pa.timestamp("us", "UTC")), AT),
        ("string", pa.array(["x"], pa.large_string()), "x"),
        ("string", pa.array(["x"]).dictionary_encode(), "x"),
        ("string", pa.array([b"x"]), "x"),
        ("binary", pa.array([b"\xff"]), b"\xff"),
        ("void", pa.array([1]), None),
        ("int", pa.array([None], pa.null()), None),
        ("array<int>", pa.array([[1]], pa.list_(pa.int32(), 1)), [1]),
        ("array<int>", pa.array([[1]], pa.large_list(pa.int32())), [1]),
    ],
)
def test_types_are_widened(tmp_path: Path, kind: str, stored: pa.Array, wanted: Any) -> None:
    """A value that its column's type holds is cast."""
    parquet(tmp_path, "f", pa.table({"a": stored}))
    assert rows_of(tmp_path, schema_of(column("a", kind, 1))) == [{"a": wanted}]


def test_timestamps_of_96_bits_are_read_far_from_1970_too(tmp_path: Path) -> None:
    early = datetime(1, 1, 1, tzinfo=UTC)
    data = pa.table({"a": pa.array([early, AT.replace(tzinfo=UTC)], pa.timestamp("us", "UTC"))})
    parquet(tmp_path, "f", data, use_deprecated_int96_timestamps=True)
    found = rows_of(tmp_path, schema_of(column("a", "timestamp", 1)))
    assert [each["a"] for each in found] == [early, AT.replace(tzinfo=UTC)]


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("int", pa.array([1 << 40])),
        ("int", pa.array([1.5])),
        ("float", pa.array([1.1])),
        ("int", pa.array(["1"])),
        ("string", pa.array([1])),
        ("string", pa.array([b"\xff"])),
        ("timestamp", pa.array([1])),
        ("timestamp", pa.array([1], pa.timestamp("ns"))),
        ("boolean", pa.array([1])),
        ("struct<x:int>", pa.array([1])),
        ("array<int>", pa.array([1])),
        ("int", pa.array([[1]])),
        ("decimal(3,1)", pa.array([Decimal("1.55")])),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(tmp_path: Path, kind: str, stored: pa.Array) -> None:
    parquet(tmp_path, "f", pa.table({"a": stored}))
    with pytest.raises(UnreadableTableError, match="column a of file f"):
        rows_of(tmp_path, schema_of(column("a", kind, 1)))


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("int", "01", 1),
        ("string", "a/b=c %3A", "a/b=c %3A"),
        ("string", "", None),
        ("int", "__HIVE_DEFAULT_PARTITION__", None),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("timestamp", "2024-02-29 23:59:59.123456", AT.replace(tzinfo=UTC)),
        ("timestamp", "2024-02-29T23:59:59.123456Z", AT.replace(tzinfo=UTC)),
        ("timestamp_ntz", "2024-02-29 23:59:59.123456", AT),
        ("decimal(5,2)", "1.5", Decimal("1.50")),
        ("double", "NaN", pytest.approx(float("nan"), nan_ok=True)),
        ("float", "0.1", pytest.approx(0.1)),
        ("boolean", "TRUE", True),
        ("binary", "\u00e9\1", "\u00e9\1".encode()),
        ("varchar(3)", "abc", "abc"),
    ],
)
def test_partition_values(tmp_path: Path, kind: str, text: str, wanted: Any) -> None:
    """The value in the log is the value of the column, in its type."""
    parquet(tmp_path, "f", pa.table({"a": [1, 2], "p": ["of", "the file"]}))
    schema = schema_of(column("a", "bigint", 1), column("p", kind, 2), by=["P"])
    assert rows_of(tmp_path, schema, partition=(text,)) == [
        {"a": 1, "p": wanted},
        {"a": 2, "p": wanted},
    ]


def test_a_partition_value_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    parquet(tmp_path, "f", pa.table({"a": [1]}))
    schema = schema_of(column("a", "bigint", 1), column("p", "int", 2), by=["p"])
    with pytest.raises(UnreadableTableError, match=r"file f: partition column p .*'soon'"):
        rows_of(tmp_path, schema, partition=("soon",))
    with pytest.raises(UnreadableTableError, match="has 0 partition values"):
        rows_of(tmp_path, schema)


def test_a_file_of_before_has_the_values_of_the_partition_columns_of_then(tmp_path: Path) -> None:
    now = schema_of(column("a", "int", 1), column("q", "string", 2), by=["a"])
    then = schema_of(column("a", "int", 1), column("p", "string", 2), by=["p"])
    parquet(tmp_path, "f", pa.table({"a": [1, 2]}))
    assert rows_of(tmp_path, now, then, ("x",)) == [{"a": 1, "q": "x"}, {"a": 2, "q": "x"}]


@pytest.mark.parametrize("in_log", [True, False])
def test_deleted_rows_are_left_out(tmp_path: Path, in_log: bool) -> None:  # noqa: FBT001
    parquet(tmp_path, "f", pa.table({"a": list(range(10))}), row_group_size=3)
    rows = [0, 4, 9]
    vector = inline_vector(rows) if in_log else stored_vector(tmp_path, rows)
    schema = schema_of(column("a", "bigint", 1))
    found = read_file(
        storage_at(str(tmp_path)), file_row("f", vector=vector), schema, numbered=True
    )
    assert found.to_pydict() == {"a": [1, 2, 3, 5, 6, 7, 8], "_row_number": [1, 2, 3, 5, 6, 7, 8]}
    assert read_file(
        storage_at(str(tmp_path)), file_row("f", vector=vector), schema, [], numbered=True
    ).to_pydict() == {"_row_number": [1, 2, 3, 5, 6, 7, 8]}


def test_a_vector_of_another_file_is_noticed(tmp_path: Path) -> None:
    parquet(tmp_path, "f", pa.table({"a": [1]}))
    schema = schema_of(column("a", "bigint", 1))
    storage = storage_at(str(tmp_path))
    with pytest.raises(UnreadableTableError, match="another file"):
        read_file(storage, file_row("f", vector=inline_vector([1])), schema)
    lost = file_row("f")._replace(vector="uabc@1")
    with pytest.raises(UnreadableTableError, match="does not say where"):
        read_file(storage, lost, schema)


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"no parquet, but long enough to have a footer")
    with pytest.raises(UnreadableTableError, match="file f cannot be read as Parquet"):
        rows_of(tmp_path, OLD)


def test_a_name_with_a_dot_is_no_path(tmp_path: Path) -> None:
    schema = schema_of(column("a.b", "int", 1), column("a", "struct<b:string,c:int>", 2))
    data = {"a": [{"b": "x", "c": 1}], "a.b": [2]}
    parquet(tmp_path, "f", pa.table(data))
    assert rows_of(tmp_path, schema) == [{"a.b": 2, "a": {"b": "x", "c": 1}}]
    found = read_file(storage_at(str(tmp_path)), file_row("f"), schema, ["a"])
    assert found.to_pylist() == [{"a": {"b": "x", "c": 1}}]


def test_rows_can_be_counted_without_a_column(tmp_path: Path) -> None:
    parquet(tmp_path, "f", pa.table({"a": [1, 2]}))
    assert read_file(storage_at(str(tmp_path)), file_row("f"), OLD, []).num_rows == 2
