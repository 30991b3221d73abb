"""Tables whose rows the ledger's own writers check or compute take no files of other writers."""

from typing import Any

import pytest
from pyroaring import BitMap

from projections.iceberg.errors import IcebergRefusal
from tests.iceberg.commits.rest_client import RestClient, Snapshot

ROWS = [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]

TABLES: dict[str, tuple[list[tuple[str, str]], dict[str, str], str]] = {
    "a constraint": (
        [("id", "bigint"), ("v", "string")],
        {"delta.constraints.positive": "id > 0"},
        "check the constraint positive",
    ),
    "a unique key": (
        [("id", "bigint"), ("v", "string")],
        {"lakeledger.key": "id", "lakeledger.unique": "true"},
        "keep its key unique",
    ),
    "a generated column": (
        [("id", "bigint"), ("v", "string"), ("w", "bigint GENERATED ALWAYS AS (id + 1)")],
        {},
        "compute the column w",
    ),
    "an identity column": (
        [("id", "bigint"), ("v", "string"), ("w", "bigint GENERATED ALWAYS AS IDENTITY")],
        {},
        "compute the column w",
    ),
    "texts with a length": ([("id", "bigint"), ("v", "varchar(1)")], {}, "size of values"),
}


def with_rows(client: RestClient, kind: str) -> str:
    """Create a table with two rows, and return the path of its file."""
    columns, properties, _ = TABLES[kind]
    client.ledger.create_table("db.t", columns, properties=properties)
    client.ledger.append("db.t", ROWS)
    (entry,) = Snapshot(client.load("t")).live()
    return entry.path


@pytest.mark.parametrize("kind", TABLES)
def test_new_rows_are_refused(client: RestClient, kind: str) -> None:
    with_rows(client, kind)
    made = Snapshot(client.load("t"))
    made.metadata["schemas"][0]["fields"] = made.schema["fields"][:2]
    made.add([{"id": 3, "v": "c"}])
    version = client.ledger.table("db.t").version
    with pytest.raises(IcebergRefusal, match=TABLES[kind][2]) as found:
        client.commit(client.change("t", made.updates("append")))
    assert found.value.code == 400
    assert client.ledger.table("db.t").version == version


@pytest.mark.parametrize("kind", TABLES)
def test_rows_are_deleted(client: RestClient, kind: str) -> None:
    place = with_rows(client, kind)
    made = Snapshot(client.load("t"))
    made.delete_rows(place, BitMap([0]))
    client.commit(client.change("t", made.updates("delete")))
    assert [row[0] for row in client.rows("t")] == [2]


def test_rows_of_a_table_that_is_only_appended_to_stay(client: RestClient) -> None:
    client.ledger.create_table(
        "db.t", [("id", "bigint"), ("v", "string")], properties={"delta.appendOnly": "true"}
    )
    client.append("t", client.load("t"), ROWS)
    made = Snapshot(client.load("t"))
    (entry,) = made.live()
    made.delete_file(entry.path)
    with pytest.raises(IcebergRefusal, match=r"delta\.appendOnly = true"):
        client.commit(client.change("t", made.updates("delete")))
    again = Snapshot(client.load("t"))
    again.delete_file(entry.path)
    again.add(ROWS)
    client.commit(client.change("t", again.updates("replace")))
    assert len(client.rows("t")) == 2


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"null_value_counts": {1: 1}}, "column id must have no NULL, got 1"),
        ({}, "no bounds"),
        ({"lower_bounds": {2: b"\1\0\0\0"}, "upper_bounds": {2: b"\0\0\1\0"}}, "got 65536"),
        ({"lower_bounds": {2: b"\1\0\0\0"}, "upper_bounds": {2: b"\2\0\0\0"}}, ""),
        ({"null_value_counts": {2: 1}}, ""),
    ],
)
def test_values_that_columns_cannot_hold(
    client: RestClient, entry: dict[str, Any], why: str
) -> None:
    client.ledger.create_table("db.t", [("id", "bigint NOT NULL"), ("v", "smallint")])
    made = Snapshot(client.load("t"))
    made.add([{"id": 1, "v": 2}], **{"null_value_counts": {}, **entry})
    change = client.change("t", made.updates("append"))
    if not why:
        client.commit(change)
        return
    with pytest.raises(IcebergRefusal, match=why) as found:
        client.commit(change)
    assert found.value.code == 400
