"""Imported tables as the ledger serves them to Iceberg: the same snapshots, by the same ids."""

from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.iceberg.imports.adopting import adopt_iceberg
from ledger.testing import InMemoryLedger
from projections.delta.adopting import PUBLISHED, publish_table
from projections.delta.publisher import DeltaPublisher
from projections.iceberg.served.tables import ServedTables
from tests.iceberg.imports.iceberg_tables import main_branch, new_table, pa, row_of, rows_of, take

from pyiceberg.partitioning import PartitionField, PartitionSpec  # isort: skip
from pyiceberg.schema import Schema  # isort: skip
from pyiceberg.table import StaticTable, Table  # isort: skip
from pyiceberg.transforms import BucketTransform, IdentityTransform  # isort: skip
from pyiceberg.types import (  # isort: skip
    DoubleType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
)


def evolved(folder: Path, form: str) -> Table:
    """Return a table whose schema and spec changed, with nested columns."""
    point = StructType(NestedField(11, "x", DoubleType()), NestedField(12, "y", DoubleType()))
    table = new_table(
        folder,
        Schema(
            NestedField(1, "id", LongType()),
            NestedField(2, "name", StringType()),
            NestedField(3, "p", point),
            NestedField(4, "tags", ListType(13, StringType(), element_required=False)),
        ),
        PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name")),
        format_version=form,
    )
    table.append(rows(1, 2))
    table.append(rows(3, name=None))
    with table.update_schema() as update:
        update.rename_column("p.x", "left")
        update.rename_column("name", "called")
    table.delete("id = 2")
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(4), "b")
    table.append(rows(4, 5).rename_columns(["id", "called", "p", "tags"]).select(["id", "called"]))
    return table


def rows(*numbers: int, name: str | None = "a") -> Any:
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "name": pa.array([name] * len(numbers), pa.string()),
            "p": [{"x": 1.0 * each, "y": None} for each in numbers],
            "tags": [["t", None] for _ in numbers],
        },
        schema=pa.schema(
            {
                "id": pa.int64(),
                "name": pa.string(),
                "p": pa.struct({"x": pa.float64(), "y": pa.float64()}),
                "tags": pa.list_(pa.string()),
            }
        ),
    )


@pytest.mark.parametrize("form", ["1", "2"])
def test_readers_go_on_by_the_ids_that_they_know(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path, form: str
) -> None:
    table = evolved(tmp_path, form)
    take(ledger, table)
    adopt_iceberg(ledger, row_of(ledger))
    with ledger.transaction() as txn:
        txn.insert("db.trips", [{"id": 9, "called": "z"}])
    reads = memory.reads
    served = ServedTables(lambda: reads, reads.identity().ledger).table(row_of(ledger))

    assert served.uuid == str(table.metadata.table_uuid)
    metadata = served.metadata()
    assert [each["snapshot-id"] for each in metadata["snapshots"]][:-1] == main_branch(table)
    ours = StaticTable.from_metadata(served.metadata_location)
    for snapshot in main_branch(table):
        wanted = rows_of(table.scan(snapshot_id=snapshot).to_arrow())
        assert rows_of(ours.scan(snapshot_id=snapshot).to_arrow()) == wanted
    assert len(ours.scan().to_arrow()) == len(table.scan().to_arrow()) + 1
    fields = {each.field_id: each.name for each in ours.schema().fields}
    assert fields == {each.field_id: each.name for each in table.schema().fields}
    assert ours.spec().fields == table.spec().fields
    assert "iceberg.adopted" not in metadata["properties"]


def test_an_adopted_table_is_published_as_delta_too(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path
) -> None:
    """Signs of partition values stand in paths, which Delta takes for URIs."""
    deltalake = pytest.importorskip("deltalake")
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"))
    table = new_table(tmp_path, schema, spec)
    for name in ("a b", "50%", "x/y", "é"):
        table.append(pa.table({"id": [1], "name": [name]}))
    take(ledger, table)
    adopt_iceberg(ledger, row_of(ledger))
    assert publish_table(ledger, row_of(ledger)) == PUBLISHED
    publisher, stop = DeltaPublisher(memory.log), Signal()
    publisher.run(stop, stop.set)

    assert dict(publisher.stopped) == {}
    found = deltalake.DeltaTable(tmp_path / "trips").to_pyarrow_table()
    assert rows_of(found.select(["id", "name"])) == rows_of(table.scan().to_arrow())
