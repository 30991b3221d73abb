"""Columns of imported files: by ids, by a name mapping, or by names that never changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.arrow.schema import TableSchema
from ledger.client import Ledger
from ledger.errors import IncompatibleError
from ledger.iceberg.importer import import_iceberg
from ledger.properties.column_mapping import is_mapped
from tests.iceberg.imports.iceberg_tables import NAME, pa, row_of, rows_of
from tests.iceberg.imports.made_tables import MadeTable, field

pq = pytest.importorskip("pyarrow.parquet")

POINT = {"type": "struct", "fields": [field(3, "x", "double"), field(4, "y", "double")]}


def shown(ledger: Ledger, version: int | None = None) -> Any:
    return rows_of(ledger.scan(NAME, version=version).to_arrow())


def numbered(name: str, kind: Any, number: int) -> Any:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def put(made: MadeTable, name: str, table: Any) -> Any:
    """Write a data file as it is, and return its entry."""
    pq.write_table(table, made.folder / name, store_schema=False)
    return made.entry(name, len(table))


def test_names_of_a_file_mean_nothing_beside_its_ids(ledger: Ledger, tmp_path: Path) -> None:
    """A writer that knew an older schema has other names, at any depth."""
    made = MadeTable(tmp_path / "t", [field(1, "a"), field(2, "p", POINT), field(7, "b")])
    inner = pa.struct([numbered("y", pa.float64(), 3), numbered("old", pa.float64(), 4)])
    schema = pa.schema(
        [numbered("b", pa.int64(), 1), numbered("q", inner, 2), numbered("gone", pa.int64(), 9)]
    )
    rows = [{"b": 1, "q": {"y": 2.0, "old": 3.0}, "gone": 4}]
    made.commit(put(made, "data/x.parquet", pa.Table.from_pylist(rows, schema=schema)))
    made.commit(made.data(pa.table({"a": [5], "b": [6]})))
    import_iceberg(ledger, made.write(), NAME)

    first = {"a": 1, "b": None, "p": {"x": 2.0, "y": 3.0}}
    assert shown(ledger, 0) == [first]
    assert shown(ledger) == [first, {"a": 5, "b": 6, "p": None}]
    assert is_mapped(row_of(ledger).definition)
    with ledger.transaction() as txn:
        txn.insert(NAME, [{"a": 8, "b": 9, "p": {"x": 1.0, "y": 2.0}}])
    ledger.run(lambda txn: txn.delete(NAME, "a = 1"))
    assert shown(ledger) == [
        {"a": 5, "b": 6, "p": None},
        {"a": 8, "b": 9, "p": {"x": 1.0, "y": 2.0}},
    ]


def test_a_field_that_was_dropped_and_added_again_is_another(
    ledger: Ledger, tmp_path: Path
) -> None:
    made = MadeTable(
        tmp_path / "t", [field(2, "p", {"type": "struct", "fields": [field(9, "x", "double")]})]
    )
    inner = pa.struct([numbered("x", pa.float64(), 3)])
    table = pa.Table.from_pylist([{"p": {"x": 1.0}}], schema=pa.schema([numbered("p", inner, 2)]))
    made.commit(put(made, "data/x.parquet", table))
    import_iceberg(ledger, made.write(), NAME)

    assert shown(ledger) == [{"p": {"x": None}}]


def test_a_name_mapping_gives_ids_to_names(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", [field(1, "now"), field(2, "p", POINT)])
    names = [
        {"field-id": 1, "names": ["now", "then"]},
        {
            "field-id": 2,
            "names": ["p"],
            "fields": [{"field-id": 3, "names": ["x", "left"]}, {"field-id": 4, "names": ["y"]}],
        },
    ]
    made.more["properties"] = {"schema.name-mapping.default": json.dumps(names)}
    rows = [{"then": 1, "p": {"left": 2.0, "y": 3.0}, "unknown": 4}]
    made.commit(put(made, "data/x.parquet", pa.Table.from_pylist(rows)))
    made.commit(made.data(pa.table({"now": [5]})))
    import_iceberg(ledger, made.write(), NAME)

    assert shown(ledger) == [{"now": 1, "p": {"x": 2.0, "y": 3.0}}, {"now": 5, "p": None}]


def test_two_names_of_one_column_in_files_without_ids(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", [field(1, "now")])
    names = [{"field-id": 1, "names": ["now", "then"]}]
    made.more["properties"] = {"schema.name-mapping.default": json.dumps(names)}
    first = put(made, "data/x.parquet", pa.table({"then": [1]}))
    made.commit(first, put(made, "data/y.parquet", pa.table({"now": [2]})))

    with pytest.raises(IncompatibleError, match="calls column 1"):
        import_iceberg(ledger, made.write(), NAME)


def test_names_that_never_changed_are_sure(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", [field(1, "a"), field(2, "b")])
    made.commit(made.data(pa.table({"b": [2], "a": [1]}), ids=False))
    import_iceberg(ledger, made.write(), NAME)

    assert shown(ledger) == [{"a": 1, "b": 2}]
    assert TableSchema.of(row_of(ledger).definition).mapping == "none"


def test_names_that_changed_are_not_sure_without_ids(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", [field(1, "a")])
    made.more["schemas"] = [made.schema, {**made.schema, "schema-id": 1, "fields": [field(1, "b")]}]
    made.commit(made.data(pa.table({"a": [1]}), ids=False))

    with pytest.raises(IncompatibleError, match="has no field ids, and names of columns have"):
        import_iceberg(ledger, made.write(), NAME)


def test_columns_whose_names_differ_in_case(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", [field(1, "a"), field(2, "A")])
    with pytest.raises(IncompatibleError, match="differ in case only"):
        import_iceberg(ledger, made.write(), NAME)


@pytest.mark.parametrize("kind", ["uuid", "time", "fixed[3]", "variant", "timestamp_ns", "odd"])
def test_types_that_the_ledger_lacks(ledger: Ledger, tmp_path: Path, kind: str) -> None:
    made = MadeTable(tmp_path / "t", [field(1, "a", kind)])
    with pytest.raises(IncompatibleError, match="the ledger has no type"):
        import_iceberg(ledger, made.write(), NAME)


def test_defaults_of_columns_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", [{**field(1, "a"), "initial-default": 5}])
    with pytest.raises(IncompatibleError, match="initial-default"):
        import_iceberg(ledger, made.write(), NAME)


def test_keys_orders_and_properties(ledger: Ledger, tmp_path: Path) -> None:
    """What the ledger obeys is kept, what it cannot is named."""
    made = MadeTable(tmp_path / "t", [{**field(1, "a"), "required": True}, field(2, "b", "string")])
    made.schema["identifier-field-ids"] = [1]
    order = {
        "order-id": 1,
        "fields": [
            {
                "source-id": 2,
                "transform": "identity",
                "direction": "desc",
                "null-order": "nulls-last",
            }
        ],
    }
    made.more |= {
        "sort-orders": [{"order-id": 0, "fields": []}, order],
        "default-sort-order-id": 1,
        "properties": {"comment": "c", "Lakeledger.publish": "delta", "iceberg.adopted": "x"},
    }
    report = import_iceberg(ledger, made.write(), NAME)
    found = {each.key: each.value for each in row_of(ledger).definition.properties}
    assert found["lakeledger.key"] == "a"
    assert found["lakeledger.sort"].startswith("b DESC")
    assert found["comment"] == "c"
    assert report.left_out.keys() == {"Lakeledger.publish", "iceberg.adopted", "row ids"}
    assert found["iceberg.format-version"] == "3"

    order["fields"][0]["transform"] = "truncate[4]"  # type: ignore[index]
    import_iceberg(ledger, made.write(), "cut")
    found = {each.key: each.value for each in ledger.table("cut").definition.properties}
    assert found["lakeledger.sort"] == "truncate(4, b) DESC NULLS LAST"
    order["fields"][0]["transform"] = "zorder"  # type: ignore[index]
    report = import_iceberg(ledger, made.write(), "other")
    assert "sort order 1" in report.left_out
