"""Statements of pyiceberg: after each, the SDK, the other clients and the Delta log agree."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    NamespaceNotEmptyError,
    NoSuchTableError,
    TableAlreadyExistsError,
    ValidationException,
)
from pyiceberg.schema import Schema
from pyiceberg.types import (
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from tests.iceberg.clients.canonical import texts
from tests.iceberg.clients.duckdb_client import attached
from tests.iceberg.clients.plain_table import PLAIN, PUBLISHED, TABLE, of, plain, rows
from tests.iceberg.clients.readers import Served, agreed, by_iceberg_in_duckdb, pyiceberg_catalog

ODD_TEXTS: Final = ("a b", "100%", "%2e%2e", "a/b", "x:y=z?&#", "\u00e4\u6f22", "'", "+", "..")


def test_rows_change_by_pyiceberg_and_all_readers_see_them(lake: Served) -> None:
    plain(lake)
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    table.append(rows((3, "c")))
    assert agreed(lake, TABLE) == of((1, "a"), (2, "b"), (3, "c"))
    table.delete("id = 1")
    assert agreed(lake, TABLE) == of((2, "b"), (3, "c"))
    table.overwrite(rows((2, "B")), overwrite_filter="id = 2")
    assert agreed(lake, TABLE) == of((2, "B"), (3, "c"))
    found = table.upsert(rows((3, "C"), (4, "d")), ["id"])
    assert (found.rows_updated, found.rows_inserted) == (1, 1)
    assert agreed(lake, TABLE) == of((2, "B"), (3, "C"), (4, "d"))
    table.overwrite(rows((9, None)))
    assert agreed(lake, TABLE) == of((9, None))
    table.delete()
    assert agreed(lake, TABLE) == []


def test_a_table_of_format_1_changes_and_gets_a_higher_format(lake: Served) -> None:
    catalog = pyiceberg_catalog(lake.uri)
    lake.ledger.create_namespace("db")
    table = catalog.create_table(TABLE, rows().schema, properties={"format-version": "1"})
    assert table.format_version == 1
    table.append(rows((1, "a"), (2, "b"), (3, "c")))
    table.append(rows((4, "d")))
    table.delete("id = 1")
    table.overwrite(rows((2, "B")), overwrite_filter="id = 2")
    lake.ledger.append(TABLE, rows((5, "e")))
    assert agreed(lake, TABLE) == of((2, "B"), (3, "c"), (4, "d"), (5, "e"))
    table.refresh()
    with table.transaction() as change:
        change.upgrade_table_version(2)
    table.delete("id = 3")
    assert agreed(lake, TABLE) == of((2, "B"), (4, "d"), (5, "e"))


def test_partition_fields_of_format_1_are_removed_and_added(lake: Served) -> None:
    """A gone field stays as a void one, as the ids of a spec have no gap in this format."""
    catalog = pyiceberg_catalog(lake.uri)
    lake.ledger.create_namespace("db")
    table = catalog.create_table(TABLE, rows().schema, properties={"format-version": "1"})
    for add, gone in (("name", ""), ("id", "name")):
        with table.update_spec() as change:
            if gone:
                change.remove_field(gone)
            change.add_identity(add)
        table.append(rows((1, add), (2, "x")))
    assert [each.field_id for each in table.spec().fields] == [1000, 1001]
    wanted = of((1, "id"), (1, "name"), (2, "x"), (2, "x"))
    assert texts(table.scan().to_arrow().to_pylist()) == wanted
    assert texts(lake.ledger.scan(TABLE).to_arrow().to_pylist()) == wanted
    assert by_iceberg_in_duckdb(lake.uri, TABLE) == wanted


def test_changes_of_the_sdk_and_of_pyiceberg_follow_each_other(lake: Served) -> None:
    plain(lake)
    catalog = pyiceberg_catalog(lake.uri)
    catalog.load_table(TABLE).append(rows((3, "c")))
    lake.ledger.update(TABLE, {"name": "'x'"}, "id < 3")
    catalog.load_table(TABLE).delete("id = 2")
    lake.ledger.optimize(TABLE)
    catalog.load_table(TABLE).append(rows((4, "d")))
    assert agreed(lake, TABLE) == of((1, "x"), (3, "c"), (4, "d"))
    lake.ledger.delete(TABLE, "id = 3")
    assert agreed(lake, TABLE) == of((1, "x"), (4, "d"))


def test_an_append_with_an_old_base_is_taken(lake: Served) -> None:
    plain(lake)
    catalog = pyiceberg_catalog(lake.uri)
    old = catalog.load_table(TABLE)
    for number in (3, 4):
        catalog.load_table(TABLE).append(rows((number, "new")))
    lake.ledger.delete(TABLE, "id = 1")
    old.append(rows((5, "late")))
    assert agreed(lake, TABLE) == of((2, "b"), (3, "new"), (4, "new"), (5, "late"))


def test_a_change_of_rows_that_another_changed_since_is_refused(lake: Served) -> None:
    plain(lake)
    catalog = pyiceberg_catalog(lake.uri)
    old = catalog.load_table(TABLE)
    catalog.load_table(TABLE).overwrite(rows((1, "first")), overwrite_filter="id = 1")
    with pytest.raises((CommitFailedException, ValidationException)):
        old.overwrite(rows((1, "second")), overwrite_filter="id = 1")
    assert agreed(lake, TABLE) == of((1, "first"), (2, "b"))


def test_every_snapshot_shows_the_rows_of_its_version(lake: Served) -> None:
    plain(lake)
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    table.append(rows((3, "c")))
    lake.ledger.alter_table(TABLE, properties={"owner": "ada"})
    lake.ledger.delete(TABLE, "id = 2")
    table.refresh()
    wanted = [
        texts(lake.ledger.scan(TABLE, version=each.version).to_arrow().to_pylist())
        for each in reversed(lake.ledger.history(TABLE))
        if each.adds + each.removes
    ]
    found = [
        texts(table.scan(snapshot_id=each.snapshot_id).to_arrow().to_pylist())
        for each in table.snapshots()
    ]
    assert found == wanted


def test_a_snapshot_that_replaces_files_is_an_overwrite(lake: Served) -> None:
    """Clients look for conflicts by the operations of the snapshots that came before theirs."""
    plain(lake)
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    table.overwrite(rows((1, "x")), overwrite_filter="id = 1")
    table.delete("id = 2")
    table.append(rows((3, "c")))
    found = [each.summary.operation.value for each in table.snapshots() if each.summary]
    assert found[-3:] == ["overwrite", "delete", "append"]


def test_columns_are_added_renamed_widened_and_dropped(lake: Served) -> None:
    columns = [("id", "bigint"), ("name", "string"), ("n", "int")]
    lake.ledger.create_table(TABLE, columns)
    lake.ledger.append(TABLE, [{"id": 1, "name": "a", "n": 7}])
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    with table.update_schema() as change:
        change.add_column("extra", LongType())
        change.rename_column("name", "title")
        change.update_column("n", field_type=LongType())
    wanted = [{"id": 1, "title": "a", "n": 7, "extra": None}]
    assert agreed(lake, TABLE) == texts(wanted)
    more = {"id": 2, "title": "b", "n": 1 << 40, "extra": 5}
    table.append(pa.Table.from_pylist([more], schema=table.schema().as_arrow()))
    assert agreed(lake, TABLE) == texts([*wanted, more])
    with table.update_schema() as change:
        change.delete_column("extra")
        change.add_column("extra", StringType())
    wanted = [{**row, "extra": None} for row in (*wanted, more)]
    assert agreed(lake, TABLE) == texts(wanted)


def test_a_table_goes_on_after_its_format_went_up(lake: Served) -> None:
    plain(lake)
    with attached(lake.uri) as duck:
        duck.execute(f"DELETE FROM lake.{TABLE} WHERE id = 1")
        duck.execute(f"ALTER TABLE lake.{TABLE} SET ('format-version' = 3)")
        duck.execute(f"INSERT INTO lake.{TABLE} VALUES (3, 'c')")
        assert agreed(lake, TABLE) == of((2, "b"), (3, "c"))
        duck.execute(f"DELETE FROM lake.{TABLE} WHERE id = 2")
    assert agreed(lake, TABLE) == of((3, "c"))


def test_nested_columns_of_both_sides(lake: Served) -> None:
    person = StructType(
        NestedField(10, "n", StringType()),
        NestedField(11, "xs", ListType(12, IntegerType(), element_required=False)),
    )
    kinds = MapType(20, StringType(), 21, person, value_required=False)
    schema = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "who", person),
        NestedField(3, "kinds", kinds),
    )
    catalog = pyiceberg_catalog(lake.uri)
    catalog.create_namespace("py")
    made: list[dict[str, Any]] = [
        {"id": 1, "who": {"n": "q", "xs": [1, None]}, "kinds": [("k", {"n": "v", "xs": []})]},
        # pyiceberg writes an empty map for NULL.
        {"id": 2, "who": None, "kinds": []},
    ]
    with catalog.create_table_transaction("py.nested", schema) as txn:
        kind = txn.table_metadata.schema().as_arrow()
        txn.append(pa.Table.from_pylist(made, schema=kind))
    assert agreed(lake, "py.nested") == texts(made)
    more = {"id": 3, "who": {"n": None, "xs": None}, "kinds": []}
    lake.ledger.append("py.nested", [{**more, "kinds": {}}])
    lake.ledger.delete("py.nested", "id = 2")
    assert agreed(lake, "py.nested") == texts([made[0], more])


def test_types_keep_their_values(lake: Served) -> None:
    kinds = [
        *(("b", "boolean"), ("i", "int"), ("l", "bigint"), ("f", "float"), ("d", "double")),
        *(("m", "decimal(12, 3)"), ("day", "date"), ("at", "timestamp"), ("s", "string")),
        *(("local", "timestamp_ntz"), ("raw", "binary"), ("small", "smallint")),
    ]
    lake.ledger.create_table(TABLE, kinds)
    first = {
        "b": True,
        "i": -1,
        "l": 1 << 60,
        "f": 0.5,
        "d": -1e300,
        "m": Decimal("-7.125"),
        "day": date(1969, 12, 31),
        "at": datetime(1969, 12, 31, 23, 59, tzinfo=UTC),
        "s": "ä\u0000'",
        "local": datetime.fromisoformat("2026-03-29T02:30:00"),
        "raw": b"\x00\xff",
        "small": -300,
    }
    lake.ledger.append(TABLE, [first, dict.fromkeys(first)])
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    table.append(lake.ledger.scan(TABLE).to_arrow().cast(table.schema().as_arrow()))
    assert agreed(lake, TABLE) == texts([first, first, dict.fromkeys(first), dict.fromkeys(first)])
    assert table.scan("day < '1970-01-01' and m < -7").to_arrow().num_rows == 2


def test_a_definition_and_rows_in_one_commit(lake: Served) -> None:
    plain(lake)
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    before = lake.ledger.history(TABLE, 1)[0].version
    with table.transaction() as txn:
        txn.set_properties({"owner": "ada"})
        txn.append(rows((3, "c")))
    assert lake.ledger.history(TABLE, 1)[0].version == before + 1
    assert dict(lake.ledger.table(TABLE).definition.properties)["owner"] == "ada"
    assert agreed(lake, TABLE) == of((1, "a"), (2, "b"), (3, "c"))


def test_tables_are_listed_renamed_and_dropped(lake: Served) -> None:
    catalog = pyiceberg_catalog(lake.uri)
    catalog.create_namespace("py", {"owner": "ada"})
    assert catalog.load_namespace_properties("py")["owner"] == "ada"
    schema = rows().schema
    catalog.create_table("py.a", schema)
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table("py.a", schema)
    catalog.rename_table("py.a", "py.b")
    assert catalog.list_tables("py") == [("py", "b")]
    with pytest.raises(NoSuchTableError):
        catalog.load_table("py.a")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("py")
    catalog.load_table("py.b").append(rows((1, "a")))
    (file,) = lake.ledger.read("py.b")
    place = Path(str(lake.ledger.table("py.b").definition.location).removeprefix("file://"))
    catalog.purge_table("py.b")
    assert catalog.list_tables("py") == []
    catalog.drop_namespace("py")
    assert ("py",) not in catalog.list_namespaces()
    # The files stay for readers of older versions, until a vacuum.
    assert (place / file.path).exists()


def test_a_pinned_catalog_shows_the_past_and_takes_no_change(lake: Served) -> None:
    plain(lake)
    position = lake.ledger.history(TABLE, 1)[0].position
    lake.ledger.delete(TABLE, "id = 1")
    assert agreed(lake, TABLE, position=position) == of((1, "a"), (2, "b"))
    assert agreed(lake, TABLE) == of((2, "b"))
    past = pyiceberg_catalog(lake.uri, f"main@{position}").load_table(TABLE)
    with pytest.raises(BadRequestError):
        past.append(rows((3, "c")))


@pytest.mark.parametrize("form", ["2", "3"])
def test_rows_that_the_sdk_marked_as_deleted(lake: Served, form: str) -> None:
    properties = {**PUBLISHED, "lakeledger.rows": "marks", "iceberg.format-version": form}
    lake.ledger.create_table(TABLE, PLAIN, properties=properties)
    lake.ledger.append(TABLE, rows(*((n, "a") for n in range(10))))
    lake.ledger.delete(TABLE, "id < 3")
    assert agreed(lake, TABLE) == of(*((n, "a") for n in range(3, 10)))
    lake.ledger.update(TABLE, {"name": "'b'"}, "id = 5")
    lake.ledger.delete(TABLE, "id = 9")
    wanted = [(n, "b" if n == 5 else "a") for n in range(3, 9)]
    assert agreed(lake, TABLE) == of(*wanted)
    lake.ledger.optimize(TABLE)
    assert agreed(lake, TABLE) == of(*wanted)
