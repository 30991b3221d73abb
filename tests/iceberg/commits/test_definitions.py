"""Changes of a table's columns, spec, order and properties, as clients ask for them."""

from typing import Any

import pytest

from projections.iceberg.errors import IcebergRefusal
from tests.iceberg.commits.rest_client import SCHEMA, Json, RestClient, Snapshot

ELEMENTS = {"type": "list", "element-id": 4, "element": "int", "element-required": True}
VALUES = {
    "type": "map",
    "key-id": 5,
    "key": "string",
    "value-id": 6,
    "value": "int",
    "value-required": True,
}
WITHIN_STRUCT = {
    "type": "struct",
    "fields": [{"id": 7, "name": "xs", "type": ELEMENTS, "required": False}],
}
USE = {"action": "set-current-schema", "schema-id": -1}


def field(number: int, name: str, kind: Any = "string", *, required: bool = False) -> Json:
    return {"id": number, "name": name, "type": kind, "required": required}


def schema(*fields: Json) -> list[Json]:
    """Return the updates that make these the columns of a table."""
    made = {"type": "struct", "schema-id": 1, "fields": list(fields)}
    return [{"action": "add-schema", "schema": made}, USE]


def columns(client: RestClient, name: str = "t") -> list[tuple[int, str, str]]:
    found = client.ledger.table(f"db.{name}").definition.columns
    return [(each.id, each.name, each.type) for each in found]


@pytest.fixture
def table(client: RestClient) -> RestClient:
    """Return a client of a table with one row."""
    client.append("t", client.create("t"), [{"id": 1, "v": "a"}])
    return client


def refused(client: RestClient, updates: list[Json], why: str) -> None:
    before = client.ledger.table("db.t")
    with pytest.raises(IcebergRefusal, match=why) as found:
        client.commit(client.change("t", updates))
    assert found.value.code == 400
    assert client.ledger.table("db.t") == before


def test_columns_are_added_renamed_widened_and_dropped(table: RestClient) -> None:
    table.ledger.alter_table("db.t", columns=[("id", "bigint"), ("v", "string"), ("n", "int")])
    updates = schema(field(2, "w"), field(3, "n", "long"), field(4, "new", "date"))
    table.commit(table.change("t", updates))
    assert columns(table) == [(2, "w", "string"), (3, "n", "bigint"), (4, "new", "date")]
    assert table.rows("t") == [("a", None, None)]


def test_a_smallint_stays_one(client: RestClient) -> None:
    client.ledger.create_table("db.t", [("id", "smallint")])
    client.commit(client.change("t", schema(field(1, "number", "int"), field(2, "w"))))
    assert columns(client) == [(1, "number", "smallint"), (2, "w", "string")]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ([field(1, "id", "string"), field(2, "v")], "must keep the type long or get a wider one"),
        ([field(1, "id", "int"), field(2, "v")], "must keep the type long"),
        ([field(1, "id", "long", required=True), field(2, "v")], "must stay optional"),
        ([field(1, "id", "long"), field(3, "w", required=True)], "must be optional"),
        ([field(1, "id", "uuid"), field(2, "v")], "uuid"),
        ([field(1, "id", "long"), field(1, "v")], "must be different"),
        ([field(1, "id", "long"), field(2, "ID")], "differ by more than case"),
        ([field(0, "id", "long")], "from 1"),
        ([{**field(3, "w"), "initial-default": "x"}], "default"),
        ([field(3, "w", ELEMENTS)], "w.element must be optional"),
        ([field(3, "w", VALUES)], "w.value must be optional"),
        ([field(3, "w", WITHIN_STRUCT)], "w.xs.element must be optional"),
        ([], "one column or more"),
    ],
)
def test_columns_that_rows_cannot_be_read_by(
    table: RestClient, fields: list[Json], why: str
) -> None:
    refused(table, schema(*fields), why)


def test_an_id_of_a_former_column_is_not_given_to_another(table: RestClient) -> None:
    table.ledger.alter_table("db.t", columns=[("id", "bigint"), ("v", "string"), ("n", "int")])
    table.commit(table.change("t", schema(field(1, "id", "long"))))
    metadata = table.load("t")
    assert metadata["last-column-id"] == 3
    kinds = {**SCHEMA, "schema-id": 1, "fields": [field(1, "id", "long"), field(2, "other", "int")]}
    table.commit(table.change("t", schema(field(1, "id", "long"), field(2, "v"))))
    assert columns(table) == [(1, "id", "bigint"), (2, "v", "string")]
    assert table.rows("t") == [(1, "a")]
    refused(table, [{"action": "add-schema", "schema": kinds}, USE], "must keep the type")


def test_a_new_column_has_an_id_above_all_others(table: RestClient) -> None:
    table.ledger.alter_table("db.t", columns=[("id", "bigint"), ("v", "string"), ("n", "int")])
    table.ledger.alter_table("db.t", columns=[("id", "bigint"), ("v", "string")])
    table.commit(table.change("t", schema(field(1, "id", "long"), field(2, "v"), field(4, "m"))))
    assert columns(table)[-1] == (4, "m", "string")
    fields = [field(1, "id", "long"), field(2, "v"), field(4, "m")]
    table.commit(table.change("t", schema(*fields[:2])))
    refused(
        table,
        schema(*fields[:2], field(9, "s", {"type": "list", "element-id": 0, "element": "int"})),
        "from 1",
    )


def test_a_schema_that_is_not_used_is_refused(table: RestClient) -> None:
    refused(table, schema(field(1, "id", "long"))[:1], "must be the one that the table uses")


def test_a_schema_of_before_is_used_again(table: RestClient) -> None:
    table.commit(table.change("t", schema(field(1, "id", "long"), field(2, "w"))))
    table.commit(table.change("t", [{"action": "set-current-schema", "schema-id": 0}]))
    assert columns(table) == [(1, "id", "bigint"), (2, "v", "string")]
    assert table.load("t")["current-schema-id"] == 0


def test_rows_and_columns_change_in_one_version(table: RestClient) -> None:
    metadata = table.load("t")
    updates = schema(field(1, "id", "long"), field(2, "v"), field(3, "n", "int"))
    after = {**updates[0]["schema"], "schema-id": 1}
    made = Snapshot({**metadata, "schemas": [after], "current-schema-id": 1})
    made.add([{"id": 2, "v": "b", "n": 5}])
    table.commit(table.change("t", [*updates, *made.updates("append")], made.requirements()))
    assert sorted(row[:2] for row in table.rows("t")) == [(1, "a"), (2, "b")]
    assert table.ledger.table("db.t").version == 2


def test_files_with_names_of_before_are_refused(table: RestClient) -> None:
    metadata = table.load("t")
    table.commit(table.change("t", schema(field(1, "id", "long"), field(2, "w"))))
    with pytest.raises(IcebergRefusal, match="'v' where the table has 'w'"):
        table.append("t", metadata, [{"id": 2, "v": "b"}])
    table.append("t", table.load("t"), [{"id": 2, "w": "b"}])
    assert table.rows("t") == [(1, "a"), (2, "b")]


def test_specs_are_added_and_used(table: RestClient) -> None:
    spec = {
        "spec-id": 1,
        "fields": [{"source-id": 1, "field-id": 1000, "name": "part", "transform": "bucket[4]"}],
    }
    updates: list[Json] = [
        {"action": "add-spec", "spec": spec},
        {"action": "set-default-spec", "spec-id": -1},
    ]
    old = table.load("t")
    table.commit(table.change("t", updates))
    metadata = table.load("t")
    assert table.ledger.table("db.t").definition.partition_columns == ["bucket(4, id)"]
    assert metadata["partition-specs"][-1]["fields"] == spec["fields"]
    table.append("t", old, [{"id": 2, "v": "b"}])
    made = Snapshot(table.load("t"))
    made.add([{"id": 3, "v": "c"}], {1000: 3})
    table.commit(table.change("t", made.updates("append"), made.requirements()))
    divided = {tuple(file.partition) for file in table.ledger.read("db.t").files}
    assert divided == {(), ("3",)}
    assert table.rows("t") == [(1, "a"), (2, "b"), (3, "c")]


def test_a_renamed_source_stays_the_source(client: RestClient) -> None:
    fields = [{"source-id": 2, "field-id": 1000, "name": "v", "transform": "identity"}]
    client.create("t", **{"partition-spec": {"fields": fields}})
    client.commit(client.change("t", schema(field(1, "id", "long"), field(2, "w"))))
    assert client.ledger.table("db.t").definition.partition_columns == ["w"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ([{"source-id": 1, "field-id": 1000, "name": "v", "transform": "void"}], "leave it out"),
        ([{"source-id": 9, "name": "x", "transform": "identity"}], "id 9"),
        ([{"source-id": 1, "name": "x", "transform": "shuffle"}], "must have a transform"),
        ([{"source-id": 1, "name": "x", "transform": "year"}], "must be a transform that takes"),
        ("id", "must have a list of fields"),
    ],
)
def test_specs_that_the_ledger_lacks(table: RestClient, fields: Any, why: str) -> None:
    spec = {"spec-id": 1, "fields": fields}
    use = {"action": "set-default-spec", "spec-id": -1}
    refused(table, [{"action": "add-spec", "spec": spec}, use], why)


def test_an_order_is_obeyed_or_refused(table: RestClient) -> None:
    key = {"source-id": 1, "transform": "identity", "direction": "desc", "null-order": "nulls-last"}
    use = {"action": "set-default-sort-order", "sort-order-id": -1}

    def order(*keys: Json) -> Json:
        made = {"order-id": 1, "fields": list(keys)}
        return {"action": "add-sort-order", "sort-order": made}

    table.commit(table.change("t", [order(key), use]))
    assert ("lakeledger.sort", "id DESC NULLS LAST") in table.ledger.table(
        "db.t"
    ).definition.properties
    refused(table, [order({**key, "transform": "zorder"}), use], "order")
    refused(table, [order({**key, "transform": "day"}), use], "no day of id")
    cut = {**key, "transform": "bucket[4]", "null-order": "nulls-first"}
    table.commit(table.change("t", [order(cut, key), use]))
    metadata = table.load("t")
    assert metadata["default-sort-order-id"] == 2
    assert metadata["sort-orders"] == [
        {"order-id": 0, "fields": []},
        {"order-id": 1, "fields": [key]},
        {"order-id": 2, "fields": [cut, key]},
    ]
    table.commit(table.change("t", [{**use, "sort-order-id": 1}]))
    assert table.load("t")["default-sort-order-id"] == 1
    table.commit(table.change("t", [{**use, "sort-order-id": 0}]))
    held = dict(table.ledger.table("db.t").definition.properties)
    assert "lakeledger.sort" not in held


def test_identifier_fields_are_the_key(client: RestClient) -> None:
    made = {**SCHEMA, "fields": [field(1, "id", "long", required=True), field(2, "v")]}
    client.create("t", {**made, "identifier-field-ids": [1]})
    held = dict(client.ledger.table("db.t").definition.properties)
    assert held["lakeledger.key"] == "id"
    client.commit(client.change("t", [{"action": "add-schema", "schema": made}, USE]))
    assert "lakeledger.key" not in dict(client.ledger.table("db.t").definition.properties)


def test_properties_are_set_and_removed(table: RestClient) -> None:
    table.commit(table.change("t", [{"action": "set-properties", "updates": {"a": "1", "b": "2"}}]))
    table.commit(table.change("t", [{"action": "remove-properties", "removals": ["a", "none"]}]))
    assert table.load("t")["properties"] == {"b": "2", "gc.enabled": "false"}


def test_what_changes_nothing_makes_no_version(table: RestClient) -> None:
    before = table.ledger.reads().position()
    table.commit(table.change("t", []))
    table.commit(table.change("t", [{"action": "remove-properties", "removals": ["none"]}]))
    table.commit(table.change("t", [{"action": "set-properties", "updates": {}}]))
    assert table.ledger.reads().position() == before


@pytest.mark.parametrize(
    ("updates", "why"),
    [
        ([{"action": "set-properties", "updates": {"gc.enabled": "true"}}], "must be false"),
        ([{"action": "set-properties", "updates": {"iceberg.table-uuid": "x"}}], "ledger's own"),
        ([{"action": "remove-properties", "removals": ["iceberg.format-version"]}], "ledger's own"),
        ([{"action": "set-properties", "updates": {"lakeledger.sorted": "x"}}], "lakeledger.sort"),
        ([{"action": "set-properties", "updates": {"format-version": "x"}}], "a number"),
        ([{"action": "upgrade-format-version", "format-version": 4}], "1, 2 or 3, got 4"),
        ([{"action": "assign-uuid", "uuid": "x"}], "must stay"),
        ([{"action": "set-location", "location": "/elsewhere"}], "must stay at"),
        ([USE], "must follow a new schema"),
        ([{**USE, "schema-id": 7}], "must be of a schema of the table, got 7"),
        ([{"action": "set-default-spec", "spec-id": 7}], "must be of a spec of the table, got 7"),
    ],
)
def test_changes_that_are_refused(table: RestClient, updates: list[Json], why: str) -> None:
    refused(table, updates, why)


def test_the_format_becomes_newer_and_never_older(table: RestClient) -> None:
    upgrade = {"action": "upgrade-format-version", "format-version": 3}
    table.commit(table.change("t", [upgrade]))
    assert table.load("t")["format-version"] == 3
    refused(table, [{**upgrade, "format-version": 2}], "must not become lower")


@pytest.mark.parametrize(
    ("requirement", "why"),
    [
        ({"type": "assert-create"}, "table already exists"),
        ({"type": "assert-table-uuid", "uuid": "x"}, "UUID does not match"),
        ({"type": "assert-current-schema-id", "current-schema-id": 1}, "current schema changed"),
        (
            {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 1},
            "last assigned field id changed: expected id 1 != 2",
        ),
        (
            {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1},
            "last assigned partition id changed",
        ),
        (
            {"type": "assert-default-spec-id", "default-spec-id": 1},
            "default partition spec changed",
        ),
        (
            {"type": "assert-default-sort-order-id", "default-sort-order-id": 1},
            "default sort order changed",
        ),
        (
            {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 1},
            "branch main has changed",
        ),
        ({"type": "assert-ref-snapshot-id", "ref": "x", "snapshot-id": 1}, "x is missing"),
    ],
)
def test_requirements_that_fail(table: RestClient, requirement: Json, why: str) -> None:
    with pytest.raises(IcebergRefusal, match=f"Requirement failed: .*{why}") as found:
        table.commit(table.change("t", [], [requirement]))
    assert (found.value.code, found.value.kind) == (409, "CommitFailedException")


def test_two_changes_of_columns_conflict(table: RestClient) -> None:
    metadata = table.load("t")
    asserted = [
        {"type": "assert-current-schema-id", "current-schema-id": metadata["current-schema-id"]}
    ]
    for number, name in enumerate(("a", "b")):
        updates = schema(field(1, "id", "long"), field(2, "v"), field(3, name))
        if not number:
            table.commit(table.change("t", updates, asserted))
            continue
        with pytest.raises(IcebergRefusal) as found:
            table.commit(table.change("t", updates, asserted))
        assert found.value.code == 409
    assert columns(table)[-1] == (3, "a", "string")


def test_a_table_without_files_stays_where_it_is_too(client: RestClient) -> None:
    metadata = client.create("t")
    client.commit(
        client.change("t", [{"action": "set-location", "location": f"{metadata['location']}/"}])
    )
    with pytest.raises(IcebergRefusal, match="must stay at"):
        client.commit(client.change("t", [{"action": "set-location", "location": "/"}]))
    assert client.load("t")["location"] == metadata["location"]
