"""Tables of format 1: what clients may ask of them, and bring into them."""

from typing import Any, Final

import pytest
from pyroaring import BitMap

from projections.iceberg.errors import IcebergRefusal
from tests.iceberg.commits.rest_client import SCHEMA, Json, RestClient, Snapshot

FIRST: Final = {"format-version": "1"}
ROWS: Final = [{"id": number, "v": "a"} for number in range(4)]


def upgrade(version: int) -> list[Json]:
    return [{"action": "upgrade-format-version", "format-version": version}]


def setting(**values: str) -> list[Json]:
    return [{"action": "set-properties", "updates": values}]


def refused(client: RestClient, change: Json, why: str) -> None:
    before = client.ledger.table("db.t")
    with pytest.raises(IcebergRefusal, match=why) as found:
        client.commit(change)
    assert found.value.code == 400
    assert client.ledger.table("db.t") == before


@pytest.fixture
def table(client: RestClient) -> RestClient:
    """Return a client of a table of format 1 with rows."""
    client.append("t", client.create("t", properties=FIRST), ROWS)
    return client


def test_a_table_of_format_1_is_created_and_takes_rows(table: RestClient) -> None:
    metadata = table.load("t")
    assert metadata["format-version"] == 1
    assert "format-version" not in metadata["properties"]
    assert [row[0] for row in table.rows("t")] == [0, 1, 2, 3]


def test_a_described_table_of_format_1_is_created_by_its_first_commit(client: RestClient) -> None:
    more: Json = {"stage-create": True}
    staged = client.create("t", properties=FIRST, **more)
    assert staged["format-version"] == 1
    assert staged["schema"] == staged["schemas"][0]
    assert staged["partition-spec"] == []
    assert "last-sequence-number" not in staged
    made = Snapshot(staged)
    made.add(ROWS)
    updates: list[Json] = [
        {"action": "assign-uuid", "uuid": staged["table-uuid"]},
        *upgrade(1),
        {"action": "add-schema", "schema": SCHEMA},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "set-location", "location": staged["location"]},
        *made.updates("append"),
    ]
    client.commit(client.change("t", updates, [{"type": "assert-create"}]))
    assert client.load("t")["format-version"] == 1
    assert len(client.rows("t")) == len(ROWS)


@pytest.mark.parametrize("version", [2, 3])
def test_the_format_becomes_higher_and_never_lower(table: RestClient, version: int) -> None:
    table.commit(table.change("t", upgrade(version)))
    assert table.load("t")["format-version"] == version
    table.append("t", table.load("t"), [{"id": 9, "v": "b"}])
    assert len(table.rows("t")) == len(ROWS) + 1
    refused(table, table.change("t", upgrade(1)), f"must not become lower than {version}, got 1")


def test_an_append_that_builds_on_format_1_is_taken_after_a_change_to_2(table: RestClient) -> None:
    old = table.load("t")
    table.commit(table.change("t", upgrade(2)))
    table.append("t", old, [{"id": 9, "v": "b"}])
    assert len(table.rows("t")) == len(ROWS) + 1


@pytest.mark.parametrize("is_vector", [False, True])
def test_deletes_of_rows_are_refused_up_to_a_change_of_the_format(
    table: RestClient, is_vector: Any
) -> None:
    # Its manifests are of a higher format, as format 1 has none of deletes.
    made = Snapshot({**table.load("t"), "format-version": 2 + is_vector})
    (entry,) = made.live()
    delete = made.delete_by_vector if is_vector else made.delete_rows
    delete(entry.path, BitMap([1]))
    updates = made.updates("delete")
    refused(table, table.change("t", updates), "of format 1, which has no deleted rows")
    table.commit(table.change("t", [*upgrade(2 + is_vector), *updates]))
    assert [row[0] for row in table.rows("t")] == [0, 2, 3]


@pytest.mark.parametrize(
    ("key", "value"), [("lakeledger.rows", "marks"), ("delta.enableDeletionVectors", "true")]
)
def test_properties_for_deleted_rows_are_refused(table: RestClient, key: str, value: str) -> None:
    refused(table, table.change("t", setting(**{key: value})), f"{key} asks .* format 1")
    table.commit(table.change("t", [*upgrade(2), *setting(**{key: value})]))
    with pytest.raises(IcebergRefusal, match=f"{key} asks .* format 1"):
        table.create("u", properties={**FIRST, key: value})
