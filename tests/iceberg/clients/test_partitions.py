"""Partitions that pyiceberg and the SDK write: after each statement all readers agree."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from ledger.properties.column_mapping import PUBLISH
from tests.iceberg.clients.canonical import texts
from tests.iceberg.clients.readers import NULL_PARTS, Served, agreed, pyiceberg_catalog

PUBLISHED: Final = {PUBLISH: "delta"}
PLAIN: Final = [("id", "bigint"), ("name", "string")]
TABLE: Final = "db.t"
ODD_TEXTS: Final = ("a b", "100%", "%2e%2e", "a/b", "x:y=z?&#", "\u00e4\u6f22", "'", "+", "..")


def rows(*pairs: tuple[int, str | None]) -> pa.Table:
    kind = pa.schema([("id", pa.int64()), ("name", pa.string())])
    return pa.Table.from_pylist([{"id": n, "name": text} for n, text in pairs], schema=kind)


def of(*pairs: tuple[int, str | None]) -> list[str]:
    """Return rows as all readers show them."""
    return texts(rows(*pairs).to_pylist())


def plain(lake: Served, **more: Any) -> None:
    """Make a table with two rows by the SDK."""
    lake.ledger.create_table(TABLE, PLAIN, properties=PUBLISHED, **more)
    lake.ledger.append(TABLE, rows((1, "a"), (2, "b")))


def test_partitions_by_the_value_of_a_column(lake: Served) -> None:
    plain(lake, partition_columns=["name"])
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    table.append(rows((3, "a"), (4, "c"), (5, None)))
    assert agreed(lake, TABLE, without=NULL_PARTS) == of(
        (1, "a"), (2, "b"), (3, "a"), (4, "c"), (5, None)
    )
    table.dynamic_partition_overwrite(rows((7, "a")))
    assert agreed(lake, TABLE, without=NULL_PARTS) == of((2, "b"), (4, "c"), (5, None), (7, "a"))
    table.delete("name = 'c'")
    assert agreed(lake, TABLE, without=NULL_PARTS) == of((2, "b"), (5, None), (7, "a"))
    assert len(list(table.scan("name = 'a'").plan_files())) == 1


@pytest.mark.parametrize("text", ODD_TEXTS, ids=ascii)
def test_partitions_of_odd_texts(lake: Served, text: str) -> None:
    """A folder of each side has such a text in a form of its own; all read the same files."""
    plain(lake, partition_columns=["name"])
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    table.append(rows((3, text)))
    lake.ledger.append(TABLE, rows((4, text)))
    assert agreed(lake, TABLE) == of((1, "a"), (2, "b"), (3, text), (4, text))
    table.refresh()
    table.delete("id = 4")
    lake.ledger.update(TABLE, {"id": "33"}, "id = 3")
    assert agreed(lake, TABLE) == of((1, "a"), (2, "b"), (33, text))


def test_partitions_of_numbers_that_no_float_holds_exactly(lake: Served) -> None:
    columns = [("id", "bigint"), ("x", "float")]
    lake.ledger.create_table(TABLE, columns, partition_columns=["x"])
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    kind = table.schema().as_arrow()
    table.append(pa.Table.from_pylist([{"id": 1, "x": 0.9}, {"id": 2, "x": 0.5}], schema=kind))
    lake.ledger.append(TABLE, [{"id": 3, "x": 0.1}])
    assert [row.partition(", ")[0] for row in agreed(lake, TABLE)] == ["{id: 1", "{id: 2", "{id: 3"]


@pytest.mark.parametrize("kind", ["float", "double"])
def test_partitions_that_are_not_a_number(lake: Served, kind: str) -> None:
    """Pyiceberg itself writes no partition of NaN."""
    columns = [("id", "bigint"), ("x", kind)]
    lake.ledger.create_table(TABLE, columns, partition_columns=["x"])
    new = [{"id": 1, "x": math.nan}, {"id": 2, "x": -0.0}, {"id": 3, "x": math.inf}]
    lake.ledger.append(TABLE, new)
    assert len(agreed(lake, TABLE)) == len(new)


@pytest.mark.parametrize(
    ("transform", "column", "where"),
    [
        (BucketTransform(4), "id", "id = 3"),
        (TruncateTransform(3), "name", "name = 'name-3'"),
        (TruncateTransform(10), "id", "id < 10"),
        (YearTransform(), "at", "at >= '2026-01-01T00:00:00+00:00'"),
        (MonthTransform(), "at", "at < '2025-12-01T00:00:00+00:00'"),
        (DayTransform(), "at", "at = '2026-01-01T00:00:00+00:00'"),
        (HourTransform(), "at", "at < '2025-11-30T00:00:00+00:00'"),
    ],
    ids=str,
)
def test_partitions_by_transforms(
    lake: Served, transform: Transform[Any, Any], column: str, where: str
) -> None:
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "name", StringType()),
        NestedField(3, "at", TimestamptzType()),
    )
    source = schema.find_field(column).field_id
    spec = PartitionSpec(PartitionField(source, 1000, transform, f"{column}_part"))
    catalog = pyiceberg_catalog(lake.uri)
    catalog.create_namespace("py")
    table = catalog.create_table("py.parts", schema, partition_spec=spec)
    began = datetime(2025, 11, 30, 12, tzinfo=UTC)
    made: list[dict[str, Any]] = [
        {"id": n, "name": f"name-{n}", "at": began + timedelta(hours=36 + n * 24 - 24)}
        for n in range(68)
    ]
    made.append({"id": None, "name": None, "at": None})
    made.append({"id": 99, "name": "new year", "at": datetime(2026, 1, 1, tzinfo=UTC)})
    table.append(pa.Table.from_pylist(made, schema=schema.as_arrow()))
    assert agreed(lake, "py.parts", without=NULL_PARTS) == texts(made)
    matching = table.scan(where).to_arrow().num_rows
    assert matching == lake.ledger.scan("py.parts", sql_of(where)).count()
    lake.ledger.append("py.parts", made[:3])
    table.refresh()
    table.delete("id = 99")
    left = [row for row in (*made, *made[:3]) if row["id"] != 99]
    assert agreed(lake, "py.parts", without=NULL_PARTS) == texts(left)


def sql_of(where: str) -> str:
    """Return a condition of pyiceberg on times as the ledger reads it."""
    column, sign, value = where.split(maxsplit=2)
    return f"{column} {sign} {'TIMESTAMP ' if column == 'at' else ''}{value}"


def test_a_partition_field_is_added_to_a_table_with_rows(lake: Served) -> None:
    # Not published: Delta's log stops where columns of older files become partition columns.
    lake.ledger.create_table(TABLE, PLAIN)
    lake.ledger.append(TABLE, rows((1, "a"), (2, "b")))
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    with table.update_spec() as change:
        change.add_field("id", BucketTransform(4), "id_bucket")
    table.append(rows((3, "c")))
    assert agreed(lake, TABLE) == of((1, "a"), (2, "b"), (3, "c"))
    lake.ledger.append(TABLE, rows((4, "d")))
    table.refresh()
    table.delete("id = 1")
    assert agreed(lake, TABLE) == of((2, "b"), (3, "c"), (4, "d"))
    with table.update_spec() as change:
        change.remove_field("id_bucket")
        change.add_field("name", IdentityTransform(), "name")
    table.append(rows((5, "e")))
    assert agreed(lake, TABLE) == of((2, "b"), (3, "c"), (4, "d"), (5, "e"))


def test_a_client_appends_under_an_earlier_spec(lake: Served) -> None:
    plain(lake, partition_columns=["name", "bucket(4, id)"])
    late = pyiceberg_catalog(lake.uri).load_table(TABLE)
    with pyiceberg_catalog(lake.uri).load_table(TABLE).update_spec() as change:
        change.remove_field("id_bucket")
    late.append(rows((3, "a"), (4, "c"), (5, None)))
    assert agreed(lake, TABLE, without=NULL_PARTS) == of(
        (1, "a"), (2, "b"), (3, "a"), (4, "c"), (5, None)
    )
    assert lake.ledger.scan(TABLE, "name = 'a' AND id > 1").to_arrow().to_pylist() == [
        {"id": 3, "name": "a"}
    ]
    late.refresh()
    tasks = list(late.scan("name = 'c'").plan_files())
    assert [task.file.spec_id for task in tasks] == [0]
    late.delete("id = 3")
    assert agreed(lake, TABLE, without=NULL_PARTS) == of((1, "a"), (2, "b"), (4, "c"), (5, None))


def test_removed_files_of_columns_that_are_gone_are_read_past(lake: Served) -> None:
    """DuckDB would end with an abort if the snapshot listed them."""
    by = ["bucket(4, id)"]
    lake.ledger.create_table(TABLE, PLAIN, partition_columns=by)
    lake.ledger.append(TABLE, rows((1, "a"), (2, "b")))
    lake.ledger.alter_table(TABLE, partition_columns=[], columns=PLAIN[1:])
    lake.ledger.overwrite(TABLE, [{"name": "z"}])
    assert agreed(lake, TABLE) == texts([{"name": "z"}])
