"""History of an Iceberg table: each snapshot is a version with the rows that pyiceberg reads."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from tests.iceberg.imports.iceberg_tables import (
    NAME,
    check_same_rows,
    files_of,
    main_branch,
    new_table,
    noted,
    pa,
    row_of,
    take,
    version_by_snapshot,
    versions,
)

from pyiceberg.schema import Schema  # isort: skip
from pyiceberg.types import (  # isort: skip
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

FORMATS = pytest.mark.parametrize("form", ["1", "2"])


def plain_schema() -> Schema:
    return Schema(
        NestedField(1, "id", LongType(), required=True), NestedField(2, "name", StringType())
    )


def rows(*numbers: int, name: str = "a") -> Any:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])
    return pa.table({"id": list(numbers), "name": [name] * len(numbers)}, schema=schema)


@FORMATS
def test_appends_deletes_and_overwrites(ledger: Ledger, tmp_path: Path, form: str) -> None:
    table = new_table(tmp_path, plain_schema(), format_version=form)
    table.append(rows(1, 2, 3))
    table.append(rows(4, 5))
    table.delete("id = 2")
    table.overwrite(rows(7), overwrite_filter="id = 4")

    report = take(ledger, table)

    snapshots = main_branch(table)
    assert (report.snapshot, report.versions) == (snapshots[-1], len(snapshots))
    assert list(version_by_snapshot(ledger)) == snapshots
    assert row_of(ledger).definition.partition_columns == []
    check_same_rows(ledger, table)
    again = take(ledger, table)
    assert (again.versions, again.version) == (0, report.version)


def test_what_a_version_notes(ledger: Ledger, tmp_path: Path) -> None:
    table = new_table(tmp_path, plain_schema())
    table.append(rows(1))
    table.delete("id = 1")

    take(ledger, table)

    first, second = [noted(version) for version in versions(ledger)]
    snapshots = table.metadata.snapshots
    assert first is not None
    assert second is not None
    assert [each["snapshot-id"] for each in (first, second)] == main_branch(table)
    assert [each["operation"] for each in (first, second)] == ["append", "delete"]
    summary = snapshots[0].summary
    assert summary is not None
    assert first["summary"] == summary.additional_properties
    assert f'"timestamp":{snapshots[0].timestamp_ms}' in versions(ledger)[0].info


def every_type() -> Schema:
    point = StructType(
        NestedField(21, "x", DoubleType(), required=False),
        NestedField(22, "y y", DoubleType(), required=False),
    )
    return Schema(
        NestedField(1, "b", BooleanType()),
        NestedField(2, "i", IntegerType()),
        NestedField(3, "l", LongType()),
        NestedField(4, "f", FloatType()),
        NestedField(5, "d", DoubleType()),
        NestedField(6, "n", DecimalType(20, 3)),
        NestedField(7, "day", DateType()),
        NestedField(8, "at", TimestamptzType()),
        NestedField(9, "local", TimestampType()),
        NestedField(10, "s", StringType()),
        NestedField(11, "raw", BinaryType()),
        NestedField(12, "p", point),
        NestedField(13, "ps", ListType(23, point_of(24), element_required=False)),
        NestedField(14, "m", MapType(27, StringType(), 28, point_of(29), value_required=False)),
    )


def point_of(number: int) -> StructType:
    return StructType(
        NestedField(number, "x", DoubleType(), required=False),
        NestedField(number + 1, "label", StringType(), required=False),
    )


@FORMATS
def test_every_type_and_nested_ids(ledger: Ledger, tmp_path: Path, form: str) -> None:
    table = new_table(tmp_path, every_type(), format_version=form)
    row = {
        "b": True,
        "i": -1,
        "l": 2**40,
        "f": 1.5,
        "d": -0.25,
        "n": Decimal("12.345"),
        "day": date(2026, 1, 2),
        "at": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        "local": datetime(2026, 1, 2, 3),  # noqa: DTZ001 - the type has no zone
        "s": "é",
        "raw": b"\0\xff",
        "p": {"x": 1.0, "y y": 2.0},
        "ps": [{"x": 1.0, "label": "a"}, None],
        "m": [("k", {"x": 3.0, "label": "b"})],
    }
    table.append(pa.Table.from_pylist([row, {}], schema=table.schema().as_arrow()))
    take(ledger, table)

    check_same_rows(ledger, table)
    columns = row_of(ledger).definition.columns
    assert [(each.name, each.id) for each in columns] == [
        (field.name, field.field_id) for field in table.schema().fields
    ]
    inner = ledger.scan(NAME).schema.field("p").type.field("y y")
    number = table.schema().find_field("p.y y").field_id
    assert inner.metadata[b"PARQUET:field_id"] == str(number).encode()


@FORMATS
def test_columns_renamed_dropped_and_added_again(ledger: Ledger, tmp_path: Path, form: str) -> None:
    table = new_table(tmp_path, plain_schema(), format_version=form)
    table.append(rows(1))
    with table.update_schema() as update:
        update.rename_column("name", "called")
    table.append(rows(2, name="b").rename_columns(["id", "called"]))
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("called")
    table.append(rows(3).select(["id"]))
    with table.update_schema() as update:
        update.add_column("name", StringType())
        update.move_first("name")
    table.append(rows(4, name="d").select(["name", "id"]))

    take(ledger, table)

    check_same_rows(ledger, table)
    assert [each.id for each in row_of(ledger).definition.columns] == [3, 1]


def test_statistics_of_manifests(ledger: Ledger, tmp_path: Path) -> None:
    table = new_table(tmp_path, plain_schema())
    table.append(rows(1, 5))
    table.append(rows(7))
    take(ledger, table)

    found = [json.loads(file.stats) for file in files_of(ledger, 0)]
    assert [
        (each["numRecords"], each["minValues"]["id"], each["maxValues"]["id"]) for each in found
    ] == [(2, 1, 5)]
    assert found[0]["nullCount"] == {"id": 0, "name": 0}
    assert ledger.scan(NAME, "id > 6").count() == 1
