"""Files of earlier specs: their values under the present spec are known, or they are refused."""

from collections.abc import Sequence
from typing import Any

import pytest
from pyroaring import BitMap

from ledger.errors import ConflictError
from ledger.iceberg.manifests import ManifestFile, manifest_bytes, manifest_file
from ledger.iceberg.manifests.rows import ManifestEntry
from projections.iceberg.errors import IcebergRefusal
from projections.iceberg.served.tables import ServedTables
from tests.iceberg.commits.rest_client import (
    Json,
    RestClient,
    Snapshot,
    entries_of,
    put,
    write_rows,
)

BY_V = ("v", 2, "identity")
BY_ID = ("id", 1, "identity")
BY_BUCKET = ("id_bucket", 1, "bucket[4]")
ONLY_V: Json = {
    "type": "struct",
    "fields": [{"id": 2, "name": "v", "type": "string", "required": False}],
}
"""The schema of a file that has no column `id`."""

Field = tuple[str, int, str]


def fields_of(*fields: Field) -> list[Json]:
    """Return the fields of a spec, each with an id that its meaning has for good."""
    numbers = {BY_V: 1000, BY_ID: 1001, BY_BUCKET: 1002}
    return [
        {"source-id": field[1], "field-id": numbers[field], "name": field[0], "transform": field[2]}
        for field in fields
    ]


def set_spec(client: RestClient, number: int, *fields: Field) -> None:
    client.commit(
        client.change(
            "t",
            [
                {"action": "add-spec", "spec": {"spec-id": number, "fields": fields_of(*fields)}},
                {"action": "set-default-spec", "spec-id": -1},
            ],
        )
    )


def table_of(client: RestClient, *fields: Field) -> Json:
    """Make a table that is divided by some fields; return its metadata."""
    return client.create("t", **{"partition-spec": {"spec-id": 0, "fields": fields_of(*fields)}})


def append(
    client: RestClient,
    metadata: Json,
    rows: Sequence[Json],
    values: Json | None = None,
    **more: Any,
) -> str:
    """Append a file under the spec that some metadata has; return its path."""
    made = Snapshot(metadata)
    place = made.add(rows, {int(number): value for number, value in (values or {}).items()}, **more)
    client.commit(client.change("t", made.updates("append")))
    return place


def served(client: RestClient) -> list[tuple[int, dict[int, Any], int | None]]:
    """Return of each live file the spec, the partition and the snapshot that added it."""
    made = Snapshot(client.load("t"))
    return [
        (named.spec_id, dict(entry.partition), entry.snapshot_id)
        for named in made.listed()
        if named.content == "data"
        for entry in entries_of(named)
        if entry.is_live
    ]


def partitions(client: RestClient) -> list[tuple[str | None, ...]]:
    return [tuple(file.partition) for file in client.ledger.read("db.t").files]


def test_a_file_of_an_earlier_spec_keeps_its_own_partition(client: RestClient) -> None:
    old = table_of(client, BY_V, BY_ID)
    set_spec(client, 1, BY_V)
    append(client, old, [{"id": 7, "v": "a"}], {"1000": "a", "1001": 7})
    assert partitions(client) == [("a",)]
    assert [each[:2] for each in served(client)] == [(0, {1000: "a", 1001: 7})]
    append(client, client.load("t"), [{"id": 8, "v": "b"}], {"1000": "b"})
    assert [each[:2] for each in served(client)] == [(1, {1000: "b"}), (0, {1000: "a", 1001: 7})]
    assert client.ledger.scan("db.t", "id = 7").to_arrow().to_pylist() == [{"id": 7, "v": "a"}]
    assert client.ledger.scan("db.t", "v = 'a'").to_arrow().to_pylist() == [{"id": 7, "v": "a"}]


def test_another_server_writes_the_same_manifests(client: RestClient) -> None:
    old = table_of(client, BY_V, BY_ID)
    set_spec(client, 1, BY_V)
    append(client, old, [{"id": 7, "v": "a"}], {"1000": "a", "1001": 7})
    other = ServedTables(client.ledger.reads, client.ledger.id)
    assert other.table(client.ledger.table("db.t")).metadata() == client.load("t")


def test_the_value_of_a_column_gives_the_value_of_its_transform(client: RestClient) -> None:
    old = table_of(client, BY_ID)
    set_spec(client, 1, BY_BUCKET)
    append(client, old, [{"id": 34, "v": "a"}], {"1000": 34})
    assert partitions(client) == [("3",)]
    assert client.ledger.scan("db.t", "id = 34").count() == 1


def test_bounds_give_the_value_of_all_rows(client: RestClient) -> None:
    old = client.create("t")
    set_spec(client, 1, BY_V)
    bounds: Json = {
        "null_value_counts": {2: 0},
        "lower_bounds": {2: b"a"},
        "upper_bounds": {2: b"a"},
    }
    append(client, old, [{"id": 1, "v": "a"}, {"id": 2, "v": "a"}], **bounds)
    append(client, old, [{"id": 3, "v": None}], null_value_counts={2: 1})
    assert partitions(client) == [("a",), (None,)]
    assert client.rows("t") == [(1, "a"), (2, "a"), (3, None)]
    assert [each[:2] for each in served(client)] == [(0, {}), (0, {})]


@pytest.mark.parametrize(
    "bounds",
    [
        {},
        {"null_value_counts": {2: 0}},
        {"null_value_counts": {2: 1}, "lower_bounds": {2: b"a"}, "upper_bounds": {2: b"a"}},
        {"null_value_counts": {2: 0}, "lower_bounds": {2: b"a"}, "upper_bounds": {2: b"b"}},
        {"lower_bounds": {2: b"a"}, "upper_bounds": {2: b"a"}},
    ],
    ids=["nothing", "no bounds", "a NULL", "two values", "no count of NULLs"],
)
def test_a_file_that_may_lie_in_several_partitions_is_refused(
    client: RestClient, bounds: Json
) -> None:
    old = client.create("t")
    set_spec(client, 1, BY_V)
    with pytest.raises(IcebergRefusal, match="must have one value of the partition field v"):
        append(client, old, [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}], **bounds)
    assert client.rows("t") == []


def test_a_file_without_a_column_that_it_is_divided_by_is_refused(client: RestClient) -> None:
    old = table_of(client, BY_V, BY_ID)
    set_spec(client, 1, BY_V)
    made = Snapshot(old)
    place = made.add([], {1000: "a", 1001: 7}, record_count=1)
    write_rows(place, ONLY_V, [{"v": "a"}])
    with pytest.raises(IcebergRefusal, match="must have the column id"):
        client.commit(client.change("t", made.updates("append")))


def test_rows_of_a_file_from_an_earlier_spec_are_deleted(client: RestClient) -> None:
    old = table_of(client, BY_V, BY_ID)
    place = append(client, old, [{"id": 7, "v": "a"}] * 3, {"1000": "a", "1001": 7})
    before = served(client)
    set_spec(client, 1, BY_V)
    made = Snapshot(client.load("t"))
    made.delete_rows(place, BitMap([0]))
    client.commit(client.change("t", made.updates("delete"), made.requirements()))
    assert client.rows("t") == [(7, "a")] * 2
    assert partitions(client) == [("a",)]
    assert served(client) == before
    other = ServedTables(client.ledger.reads, client.ledger.id)
    assert other.table(client.ledger.table("db.t")).metadata() == client.load("t")


def test_deleted_rows_give_a_file_no_value_of_another_column(client: RestClient) -> None:
    """The values of both specs are one text, which means something else in each."""
    old = table_of(client, BY_V)
    place = append(client, old, [{"id": 1, "v": "7"}, {"id": 2, "v": "7"}], {"1000": "7"})
    set_spec(client, 1, BY_ID)
    made = Snapshot(client.load("t"))
    made.delete_rows(place, BitMap([0]))
    with pytest.raises(IcebergRefusal, match="must have one value of the partition field id"):
        client.commit(client.change("t", made.updates("delete"), made.requirements()))
    assert client.rows("t") == [(1, "7"), (2, "7")]


EIGHT = [{"id": number, "v": "a"} for number in range(8)]


def with_undivided_file(client: RestClient) -> tuple[Json, str]:
    """Append a file from before a table got buckets; return the metadata from before, its path."""
    old = client.create("t")
    set_spec(client, 1, BY_BUCKET)
    return old, append(client, old, EIGHT)


def test_a_file_may_lie_in_several_partitions_of_transforms(client: RestClient) -> None:
    """Scans open it, and statements change rows of it; an optimize divides it."""
    with_undivided_file(client)
    ledger = client.ledger
    assert partitions(client) == [()]
    assert [each[:2] for each in served(client)] == [(0, {})]
    assert ledger.scan("db.t", "id = 5").to_arrow().to_pylist() == [EIGHT[5]]
    ledger.delete("db.t", "id = 5")
    ledger.update("db.t", {"v": "'b'"}, "id = 6")
    kept = [(each["id"], "b" if each["id"] == 6 else "a") for each in EIGHT if each["id"] != 5]
    assert client.rows("t") == kept
    ledger.optimize("db.t")
    assert {len(values) for values in partitions(client)} == {1}
    assert client.rows("t") == kept


def test_a_client_deletes_rows_of_a_file_in_several_partitions(client: RestClient) -> None:
    _, path = with_undivided_file(client)
    made = Snapshot(client.load("t"))
    made.delete_rows(path, BitMap([0]))
    client.commit(client.change("t", made.updates("delete"), made.requirements()))
    assert partitions(client) == [()]
    assert [each[:2] for each in served(client)] == [(0, {})]
    assert client.rows("t") == [(each["id"], "a") for each in EIGHT[1:]]


def test_a_file_in_several_partitions_meets_reads_of_each(client: RestClient) -> None:
    old, _ = with_undivided_file(client)
    serializable = {"delta.isolationLevel": "Serializable"}
    client.ledger.alter_table("db.t", properties=serializable)
    old = {**client.load("t"), "default-spec-id": 0}
    txn = client.ledger.begin()
    assert txn.scan("db.t", "id = 34").count() == 0
    txn.insert("db.t", [{"id": 34, "v": "c"}])
    append(client, old, [{"id": 35, "v": "b"}, {"id": 36, "v": "b"}])
    with pytest.raises(ConflictError):
        txn.commit()


def listed_as(
    made: Snapshot, entries: Sequence[ManifestEntry], spec: Json, header: Json
) -> ManifestFile:
    """Write a manifest whose header has one spec and whose line in the list has another."""
    place = f"{made.location}/metadata/{made.id}-m0.avro"
    data = manifest_bytes(entries, header, made.schema, "data", 2)
    put(place, data)
    return manifest_file(
        place,
        data,
        entries,
        spec=spec,
        schema=made.schema,
        content="data",
        snapshot_id=made.id,
        sequence_number=1,
    )


def test_the_list_says_of_which_spec_a_manifest_is(client: RestClient) -> None:
    old = table_of(client, BY_V, BY_ID)
    set_spec(client, 1, BY_V)
    made = Snapshot(client.load("t"))
    made.add([{"id": 7, "v": "a"}], {1000: "a", 1001: 7})
    first = old["partition-specs"][0]
    named = listed_as(made, made.added, first, {**first, "spec-id": 1})
    client.commit(client.change("t", made.updates("append", [named])))
    assert [each[:2] for each in served(client)] == [(0, {1000: "a", 1001: 7})]


def test_a_manifest_without_the_fields_of_its_spec_is_refused(client: RestClient) -> None:
    table_of(client, BY_V)
    set_spec(client, 1, BY_V, BY_ID)
    made = Snapshot(client.load("t"))
    made.add([{"id": 7, "v": "a"}], {1000: "a"})
    first, second = made.metadata["partition-specs"]
    named = listed_as(made, made.added, second, first)._replace(partitions=None)
    with pytest.raises(IcebergRefusal, match="values of its partition spec 1"):
        client.commit(client.change("t", made.updates("append", [named])))
    named = listed_as(made, made.added, {**second, "spec-id": 5}, first)._replace(partitions=None)
    with pytest.raises(IcebergRefusal, match="of a partition spec of the table, got spec 5"):
        client.commit(client.change("t", made.updates("append", [named])))
