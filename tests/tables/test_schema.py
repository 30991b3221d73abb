"""The schema of a table: columns, ids, and the names in data files."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ledger.arrow.schema import TableSchema
from ledger.arrow.type_fields import field_number, physical_name
from ledger.client import Ledger
from ledger.core.commands import Column, Property, TableDefinition
from ledger.errors import UnreadableTableError

NESTED = {
    "type": "struct",
    "fields": [
        {
            "name": "x",
            "type": {"type": "array", "elementType": "null", "containsNull": True},
            "nullable": True,
            "metadata": {"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "col-7"},
        }
    ],
}
MAPPED = json.dumps({"delta.columnMapping.physicalName": "col-3", "lakeledger.delta.type": NESTED})

STRUCT = Column("s", "struct<x:array<void>>", nullable=True, id=3, metadata=MAPPED)


def definition(*columns: Column, by: tuple[str, ...] = (), mode: str = "") -> TableDefinition:
    properties = [Property("delta.columnMapping.mode", mode)] if mode else []
    return TableDefinition("managed", "listed", "/t", columns, by, properties)


def test_columns_have_types_and_ids() -> None:
    schema = TableSchema.of(
        definition(
            Column("Id", "bigint", nullable=False, id=4),
            Column("p", "date", nullable=True, id=9),
            by=("P",),
        )
    )
    assert schema.arrow.equals(
        pa.schema([pa.field("Id", pa.int64(), nullable=False), ("p", pa.date32())])
    )
    assert [field_number(each) for each in schema.arrow] == [4, 9]
    assert schema.partition_columns == ("p",)
    assert schema.stored.names == ["Id"]
    assert schema.find("iD") is schema.columns[0]
    assert schema.find("other") is None


def test_a_mapped_table_has_physical_names() -> None:
    columns = (Column("a", "int", nullable=True, id=1), STRUCT)
    schema = TableSchema.of(definition(*columns, mode="name"))
    assert schema.arrow.names == ["a", "s"]
    assert schema.stored.names == ["a", "col-3"]
    stored = schema.stored.field("col-3").type.field(0)
    assert (stored.name, field_number(stored)) == ("col-7", 7)
    assert physical_name(schema.arrow.field("s").type.field(0)) == "col-7"


def test_names_left_from_a_mapping_do_not_count() -> None:
    schema = TableSchema.of(definition(STRUCT))
    assert schema.stored.field(0).name == "s"
    assert schema.stored.field(0).type.field(0).name == "x"


def test_a_partition_column_may_be_no_column() -> None:
    """A table of folders may name its partition columns only: they are texts."""
    schema = TableSchema.of(definition(by=("day",)))
    assert schema.arrow == pa.schema([("day", pa.string())])
    assert schema.stored.names == []


@pytest.mark.parametrize(
    ("columns", "by", "words"),
    [
        ([("p", "int")], ["p"], "must have a column in its files"),
        ([("x", "void")], [], "must have a column in its files"),
        ([("id", "int"), ("b", "binary")], ["b"], "column b of table db.t cannot partition"),
        ([("id", "int"), ("s", "struct<a:int>")], ["s"], "column s of table db.t cannot"),
    ],
)
def test_rows_are_refused_by_a_table_whose_files_could_not_hold_them_as_they_are(
    ledger: Ledger, tmp_path: Path, columns: Any, by: list[str], words: str
) -> None:
    ledger.create_table("db.t", columns, partition_columns=by, location=tmp_path / "t")
    row = {name: None for name, _ in columns}
    with pytest.raises(ValueError, match=words):
        ledger.append("db.t", [row])
    with pytest.raises(ValueError, match=words), ledger.transaction() as txn:
        txn.insert("db.t", [row])
    assert ledger.table("db.t").version == 0
    assert list((tmp_path / "t").rglob("*.parquet")) == []


def test_an_unreadable_type_names_the_column() -> None:
    schema = TableSchema.of(definition(Column("i", "interval day", nullable=True, id=1)))
    with pytest.raises(UnreadableTableError, match=r"column i: .*'interval day'"):
        schema.columns[0].check_readable()
