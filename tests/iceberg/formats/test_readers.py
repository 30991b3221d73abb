"""Whole tables made of the forms: pyiceberg and DuckDB read the rows that were written."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from ledger.arrow.schema import TableSchema
from ledger.core.commands import Property, TableDefinition
from ledger.iceberg.schemas import columns_of, fresh
from tests.iceberg.formats.tables import DataFile, DiskTable

NESTED = {
    "type": "struct",
    "fields": [
        {"id": 50, "name": "id", "required": True, "type": "long"},
        {"id": 51, "name": "name", "required": False, "type": "string"},
        {"id": 52, "name": "moment", "required": False, "type": "timestamptz"},
        {"id": 53, "name": "local", "required": False, "type": "timestamp"},
        {"id": 54, "name": "price", "required": False, "type": "decimal(12, 3)"},
        {"id": 55, "name": "day", "required": False, "type": "date"},
        {"id": 56, "name": "ratio", "required": False, "type": "double"},
        {"id": 57, "name": "raw", "required": False, "type": "binary"},
        {"id": 58, "name": "is_on", "required": False, "type": "boolean"},
        {
            "id": 59,
            "name": "place",
            "required": False,
            "type": {
                "type": "struct",
                "fields": [
                    {"id": 60, "name": "x", "required": False, "type": "int"},
                    {
                        "id": 61,
                        "name": "tags",
                        "required": False,
                        "type": {
                            "type": "list",
                            "element-id": 62,
                            "element": "string",
                            "element-required": False,
                        },
                    },
                ],
            },
        },
        {
            "id": 63,
            "name": "counts",
            "required": False,
            "type": {
                "type": "map",
                "key-id": 64,
                "key": "string",
                "value-id": 65,
                "value": "float",
                "value-required": False,
            },
        },
    ],
}


def definition(*partition_columns: str, **properties: str) -> TableDefinition:
    """Return a table with a column of each kind, by the ids that a catalog gives it."""
    schema, _ = fresh(NESTED)
    given = [Property(key.replace("_", "."), each) for key, each in sorted(properties.items())]
    return TableDefinition(
        "managed", "listed", "/t", columns_of(schema), list(partition_columns), given
    )


def row(number: int) -> dict[str, Any]:
    if number % 5 == 4:
        return {"id": number}
    return {
        "id": number,
        "name": f"name {number}" * (number % 7),
        "moment": datetime(2026, 1, 1 + number % 28, 3, 4, 5, 678_901, tzinfo=UTC),
        "local": datetime(1969, 12, 31, 23, 59, 59, number),  # noqa: DTZ001 - without a zone
        "price": Decimal(number - 30).scaleb(-3),
        "day": date(1969, 12, 1 + number % 28),
        "ratio": number / 7 - 4,
        "raw": bytes([number % 256, 0]),
        "is_on": number % 2 == 0,
        "place": {"x": number - 50, "tags": [str(number), None]},
        "counts": [("a", 0.5), (str(number), None)],
    }


def rows(table: TableDefinition, numbers: range) -> pa.Table:
    return pa.Table.from_pylist([row(each) for each in numbers], TableSchema.of(table).arrow)


def in_order(found: pa.Table, schema: pa.Schema) -> list[dict[str, Any]]:
    return sorted(found.cast(schema).to_pylist(), key=lambda each: each["id"])


@pytest.mark.parametrize("version", [2, 3])
def test_rows_of_all_types_come_back(tmp_path: Path, version: int) -> None:
    table = definition()
    schema = pa.schema([field.remove_metadata() for field in rows(table, range(1)).schema])
    made = DiskTable(tmp_path / "t", table, version)
    made.write([DataFile(rows(table, range(40))), DataFile(rows(table, range(40, 90)))])
    wanted = in_order(rows(table, range(90)), rows(table, range(1)).schema)

    assert in_order(made.by_pyiceberg(), schema) == wanted
    assert in_order(made.by_duckdb(), schema) == wanted


@pytest.mark.parametrize("version", [2, 3])
def test_deleted_rows_stay_away(tmp_path: Path, version: int) -> None:
    table = definition()
    made = DiskTable(tmp_path / "t", table, version)
    made.write(
        [
            DataFile(rows(table, range(40)), deleted=BitMap([0, 7, 39])),
            DataFile(rows(table, range(40, 90)), deleted=BitMap(range(20))),
            DataFile(rows(table, range(90, 95))),
        ]
    )
    gone = {0, 7, 39, *range(40, 60)}
    wanted = [each for each in range(95) if each not in gone]

    assert sorted(made.by_pyiceberg()["id"].to_pylist()) == wanted
    assert sorted(made.by_duckdb()["id"].to_pylist()) == wanted


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("column", "text", "condition"),
    [
        ("day", "1969-12-05", "day = DATE '1969-12-05'"),
        ("days(moment)", "2026-01-06", "moment = TIMESTAMPTZ '2026-01-06 03:04:05.678901+00'"),
        ("hours(local)", "1969-12-31-23", "local < TIMESTAMP '1970-01-01'"),
        ("months(day)", "1969-12", "day < DATE '1970-01-01'"),
        ("years(day)", "1969", "day < DATE '1970-01-01'"),
        ("price", "-0.026", "price = -0.026"),
        ("truncate(3, name)", "~nam", "name LIKE 'name%'"),
        ("truncate(10, id)", "0", "id < 10"),
        ("bucket(1, id)", "0", "id = 4"),
        ("name", None, "name IS NULL"),
        ("is_on", "true", "is_on"),
    ],
)
def test_partitions_are_found_by_their_values(
    tmp_path: Path, version: int, column: str, text: str | None, condition: str
) -> None:
    """A wrong value in a manifest hides the file from a reader that looks for its rows."""
    table = definition(column)
    made = DiskTable(tmp_path / "t", table, version)
    chosen = rows(table, range(9) if text else range(4, 5))
    if column in ("day", "price", "is_on"):
        # Files of the ledger lack the column: its values are those of the partition.
        chosen = chosen.slice(4, 1)
    made.write([DataFile(chosen, (text,))])
    wanted = made.by_duckdb().num_rows

    assert wanted == len(chosen)
    assert made.by_pyiceberg().num_rows == wanted
    assert made.by_duckdb(condition).num_rows > 0


@pytest.mark.parametrize("number", [0, 3, 8, 41, 60, 89])
def test_bounds_leave_no_row_out(tmp_path: Path, number: int) -> None:
    table = definition()
    made = DiskTable(tmp_path / "t", table, 2)
    made.write([DataFile(rows(table, range(at, at + 10))) for at in range(0, 90, 10)])
    for name, value in row(number).items():
        if not isinstance(value, list | dict | bytes):
            shown = f"'{value}'" if not isinstance(value, bool | int | float) else f"{value!r}"
            shown = f"({shown})::TIMESTAMPTZ" if name == "moment" else shown
            found = made.by_duckdb(f"{name} = {shown}")
            assert number in found["id"].to_pylist(), name
