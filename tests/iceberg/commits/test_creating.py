"""Tables that clients create: at once, with their first rows, or in the place of others."""

from pathlib import Path
from typing import Any

import pytest

from projections.iceberg.commits.commits import create
from projections.iceberg.errors import IcebergRefusal
from tests.iceberg.commits.rest_client import SCHEMA, Json, RestClient, Snapshot, path_in

STAGED: dict[str, Any] = {"stage-create": True}


def creating(staged: Json, *more: Json) -> list[Json]:
    """Return the updates that create a table as it was described."""
    return [
        {"action": "assign-uuid", "uuid": staged["table-uuid"]},
        {"action": "upgrade-format-version", "format-version": staged["format-version"]},
        {"action": "add-schema", "schema": staged["schemas"][0]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": staged["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": staged["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": staged["location"]},
        {"action": "set-properties", "updates": staged["properties"]},
        *more,
    ]


CREATE = [{"type": "assert-create"}]


def test_a_created_table_has_ids_in_the_order_of_the_catalog(client: RestClient) -> None:
    nested = {"type": "list", "element-id": 3, "element": "int", "element-required": False}
    fields = [
        {"id": 9, "name": "a", "type": nested, "required": False},
        {"id": 5, "name": "b", "type": "long", "required": True},
    ]
    spec = {"fields": [{"source-id": 5, "field-id": 1, "name": "p", "transform": "bucket[2]"}]}
    key = {"source-id": 5, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}
    metadata = client.create(
        "t",
        {"type": "struct", "fields": fields, "identifier-field-ids": [5]},
        **{"partition-spec": spec, "write-order": {"order-id": 3, "fields": [key]}},
        properties={"owner": "ada"},
    )
    made = metadata["schemas"][0]
    assert [each["id"] for each in made["fields"]] == [1, 2]
    assert made["fields"][0]["type"]["element-id"] == 3
    assert made["identifier-field-ids"] == [2]
    assert metadata["partition-specs"][0]["fields"] == [
        {"source-id": 2, "field-id": 1000, "name": "p", "transform": "bucket[2]"}
    ]
    assert metadata["sort-orders"][-1]["fields"] == [{**key, "source-id": 2}]
    assert metadata["properties"] == {"owner": "ada", "gc.enabled": "false"} | {
        each: value for each, value in metadata["properties"].items() if "lakeledger" in each
    }
    assert path_in(metadata["location"], "data").is_dir()


@pytest.mark.parametrize("more", [{}, STAGED])
def test_required_elements_are_refused(client: RestClient, more: dict[str, Any]) -> None:
    """The ledger would serve them as optional."""
    kind = {"type": "list", "element-id": 3, "element": "int", "element-required": True}
    wanted = {
        "type": "struct",
        "fields": [{"id": 1, "name": "xs", "type": kind, "required": False}],
    }
    with pytest.raises(IcebergRefusal, match=r"xs\.element must be optional") as found:
        client.create("t", wanted, **more)
    assert found.value.code == 400
    assert client.ledger.reads().table_named("main", "db.t") is None


def test_a_described_table_is_not_there_yet(client: RestClient) -> None:
    before = client.ledger.reads().position()
    staged = client.create("t", **STAGED)
    assert client.ledger.reads().position() == before
    assert client.ledger.reads().table_named("main", "db.t") is None
    assert path_in(staged["location"], "metadata").is_dir()


def test_a_described_table_comes_with_its_rows(client: RestClient) -> None:
    staged = client.create("t", **STAGED)
    made = Snapshot(staged)
    made.add([{"id": 1, "v": "a"}])
    change = client.change("t", creating(staged, *made.updates("append")), CREATE)
    client.commit(change)
    client.commit(change)
    metadata = client.load("t")
    assert metadata["table-uuid"] == staged["table-uuid"]
    assert metadata["location"] == staged["location"]
    assert metadata["current-snapshot-id"] == made.id
    assert client.ledger.table("db.t").version == 0
    assert client.rows("t") == [(1, "a")]


def test_a_described_table_without_rows_is_created_once(client: RestClient) -> None:
    staged = client.create("t", **STAGED)
    client.commit(client.change("t", creating(staged), CREATE))
    client.commit(client.change("t", creating(staged), CREATE))
    assert client.load("t")["table-uuid"] == staged["table-uuid"]
    assert client.rows("t") == []


def test_the_name_of_a_described_table_may_be_taken_first(client: RestClient) -> None:
    staged = client.create("t", **STAGED)
    client.create("t")
    with pytest.raises(IcebergRefusal, match="Requirement failed: table already exists") as found:
        client.commit(client.change("t", creating(staged), CREATE))
    assert (found.value.code, found.value.kind) == (409, "CommitFailedException")


def test_a_table_without_its_location_gets_the_described_one(client: RestClient) -> None:
    staged = client.create("t", **STAGED)
    made = Snapshot(staged)
    made.add([{"id": 1, "v": "a"}])
    updates = [
        each
        for each in creating(staged, *made.updates("append"))
        if each["action"] != "set-location"
    ]
    client.commit(client.change("t", updates, CREATE))
    assert client.load("t")["location"] == staged["location"]


def test_a_name_that_is_taken(client: RestClient) -> None:
    client.create("t")
    with pytest.raises(IcebergRefusal) as found:
        client.create("T")
    assert (found.value.code, found.value.kind) == (409, "AlreadyExistsException")


def test_a_namespace_that_is_not_there(client: RestClient) -> None:
    with pytest.raises(IcebergRefusal) as found:
        create(client.ledger, client.served, ("nowhere",), {"name": "t", "schema": SCHEMA})
    assert (found.value.code, found.value.kind) == (404, "NoSuchNamespaceException")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ([], "must be a JSON object"),
        ({}, "name of the body must be a text"),
        ({"name": "t"}, "schema of the body"),
        ({"name": "a.b", "schema": SCHEMA}, "without a dot"),
        ({"name": "t", "schema": {"type": "struct", "fields": []}}, "one column or more"),
        ({"name": "t", "schema": {"type": "struct"}}, "fields"),
        ({"name": "t", "schema": SCHEMA, "stage-create": "yes"}, "true or false"),
        ({"name": "t", "schema": SCHEMA, "location": "/etc/lake"}, "below the warehouse"),
        ({"name": "t", "schema": SCHEMA, "properties": {"a": None}}, "must be a text"),
        ({"name": "t", "schema": SCHEMA, "properties": {"format-version": "9"}}, "2 or 3"),
        ({"name": "t", "schema": SCHEMA, "properties": {"lakeledger.inline": "on"}}, "must be off"),
        ({"name": "t", "schema": SCHEMA, "partition-spec": {"fields": [{}]}}, "source-id"),
        ({"name": "t", "schema": {"type": "struct", "fields": [{"id": 1, "name": "x"}]}}, "type"),
    ],
)
def test_bodies_that_create_nothing(client: RestClient, body: Any, why: str) -> None:
    before = client.ledger.reads().position()
    with pytest.raises(IcebergRefusal, match=why) as found:
        create(client.ledger, client.served, ("db",), body)
    assert found.value.code == 400
    assert client.ledger.reads().position() == before


def test_a_location_of_its_own(client: RestClient, tmp_path: Path) -> None:
    place = tmp_path / "lake" / "mine"
    metadata = client.create("t", location=f"file:{place}/")
    assert metadata["location"] == f"file:{place}"
    for other in (place, place / "inner", tmp_path / "lake"):
        with pytest.raises(IcebergRefusal) as found:
            client.create("u", location=str(other))
        assert found.value.code == 400


def test_create_or_replace_puts_other_columns_and_rows_in_the_place(client: RestClient) -> None:
    client.append("t", client.create("t"), [{"id": 1, "v": "a"}])
    metadata = client.load("t")
    fields = [
        {"id": 1, "name": "id", "type": "long", "required": False},
        {"id": 2, "name": "v", "type": "int", "required": False},
    ]
    after = {"type": "struct", "schema-id": 1, "fields": fields}
    made = Snapshot(
        {**metadata, "schemas": [after], "current-schema-id": 1, "current-snapshot-id": None}
    )
    made.add([{"id": 7, "v": 5}])
    updates: list[Json] = [
        {"action": "remove-snapshot-ref", "ref-name": "main"},
        {"action": "add-schema", "schema": after},
        {"action": "set-current-schema", "schema-id": -1},
        *made.updates("append"),
    ]
    asserted = [{"type": "assert-table-uuid", "uuid": metadata["table-uuid"]}]
    client.commit(client.change("t", updates, asserted))
    row = client.ledger.table("db.t")
    assert client.rows("t") == [(7, 5)]
    assert row.version == 2
    assert [len(client.ledger.read("db.t", version=each).files) for each in (1, 2)] == [1, 1]
    assert client.load("t")["current-snapshot-id"] == made.id


def test_create_or_replace_without_rows_empties_the_table(client: RestClient) -> None:
    client.append("t", client.create("t"), [{"id": 1, "v": "a"}])
    client.commit(client.change("t", [{"action": "remove-snapshot-ref", "ref-name": "main"}]))
    assert client.rows("t") == []


def test_create_or_replace_may_keep_a_file(client: RestClient) -> None:
    """The file stays, and the version has the snapshot of the client."""
    first = client.create("t")
    client.append("t", first, [{"id": 1, "v": "a"}])
    client.append("t", first, [{"id": 2, "v": "b"}])
    made = Snapshot({**client.load("t"), "current-snapshot-id": None})
    kept = Snapshot(client.load("t")).live()[0]
    made.added.append(kept)
    replace = {"action": "remove-snapshot-ref", "ref-name": "main"}
    client.commit(client.change("t", [replace, *made.updates("append")]))
    assert client.load("t")["current-snapshot-id"] == made.id
    assert [file.path for file in client.ledger.read("db.t").files] == [
        kept.path.removeprefix(f"{made.location}/")
    ]


def test_create_or_replace_twice_at_once_is_judged(client: RestClient) -> None:
    client.append("t", client.create("t"), [{"id": 1, "v": "a"}])
    metadata = {**client.load("t"), "current-snapshot-id": None}
    replace = {"action": "remove-snapshot-ref", "ref-name": "main"}
    for number in (7, 8):
        made = Snapshot(metadata)
        made.add([{"id": number, "v": "x"}])
        client.commit(client.change("t", [replace, *made.updates("append")]))
    assert client.rows("t") == [(8, "x")]
