"""Changes of several tables are one txn: all of them, or none."""

from typing import Any

import pytest

from projections.iceberg.errors import IcebergRefusal
from tests.iceberg.commits.rest_client import Json, RestClient, Snapshot

STAGED: dict[str, Any] = {"stage-create": True}


def moved(client: RestClient, name: str, metadata: Json, rows: list[Json]) -> Json:
    """Return the change by which a table has these rows alone."""
    made = Snapshot(metadata)
    for entry in made.live():
        made.delete_file(entry.path)
    made.add(rows)
    return client.change(name, made.updates("overwrite"), made.requirements())


@pytest.fixture
def accounts(client: RestClient) -> RestClient:
    """Return a client of two tables with 50 each."""
    for name in ("a", "b"):
        metadata = client.create(name)
        client.append(name, metadata, [{"id": 50, "v": name}])
    return client


def test_changes_of_two_tables_have_one_position(accounts: RestClient) -> None:
    client = accounts
    client.commit(
        moved(client, "a", client.load("a"), [{"id": 40, "v": "a"}]),
        moved(client, "b", client.load("b"), [{"id": 60, "v": "b"}]),
    )
    reads = client.ledger.reads()
    rows = [reads.version_row(client.ledger.table(f"db.{name}").table) for name in "ab"]
    assert len({row.position for row in rows if row}) == 1
    assert client.rows("a") + client.rows("b") == [(40, "a"), (60, "b")]


def test_a_conflict_in_one_table_leaves_all_as_they_were(accounts: RestClient) -> None:
    client = accounts
    before = [client.load(name) for name in "ab"]
    client.append("b", before[1], [{"id": 1, "v": "c"}])
    with pytest.raises(IcebergRefusal) as refused:
        client.commit(
            moved(client, "a", before[0], [{"id": 40, "v": "a"}]),
            moved(client, "b", before[1], [{"id": 60, "v": "b"}]),
        )
    assert refused.value.code == 409
    assert client.rows("a") == [(50, "a")]
    assert client.rows("b") == [(1, "c"), (50, "b")]


def test_a_refusal_of_one_table_leaves_all_as_they_were(accounts: RestClient) -> None:
    client = accounts
    good = moved(client, "a", client.load("a"), [{"id": 40, "v": "a"}])
    bad = client.change("b", [], [{"type": "assert-current-schema-id", "current-schema-id": 9}])
    with pytest.raises(IcebergRefusal, match="current schema changed: expected id 9 != 0"):
        client.commit(good, bad)
    assert client.rows("a") == [(50, "a")]


def test_an_append_beside_a_change_of_another_table_is_rebased(accounts: RestClient) -> None:
    client = accounts
    old = client.load("b")
    client.append("b", old, [{"id": 1, "v": "c"}])
    append = Snapshot(old)
    append.add([{"id": 2, "v": "d"}])
    client.commit(
        moved(client, "a", client.load("a"), [{"id": 40, "v": "a"}]),
        client.change("b", append.updates("append"), append.requirements()),
    )
    assert client.rows("b") == [(1, "c"), (2, "d"), (50, "b")]


def test_rows_and_a_new_table_come_together(accounts: RestClient) -> None:
    client = accounts
    staged = client.create("c", **STAGED)
    made = Snapshot(staged)
    made.add([{"id": 50, "v": "c"}])
    updates = [
        {"action": "assign-uuid", "uuid": staged["table-uuid"]},
        {"action": "add-schema", "schema": made.schema},
        {"action": "set-current-schema", "schema-id": -1},
        *made.updates("append"),
    ]
    client.commit(
        client.change("c", updates, [{"type": "assert-create"}]),
        moved(client, "a", client.load("a"), []),
    )
    positions = {
        row.position
        for name in "ac"
        if (row := client.ledger.reads().version_row(client.ledger.table(f"db.{name}").table))
    }
    assert len(positions) == 1
    assert client.rows("c") == [(50, "c")]
    assert client.load("c")["table-uuid"] == staged["table-uuid"]


def test_the_same_changes_again_are_done_once(accounts: RestClient) -> None:
    client = accounts
    changes = [
        moved(client, "a", client.load("a"), [{"id": 40, "v": "a"}]),
        moved(client, "b", client.load("b"), [{"id": 60, "v": "b"}]),
    ]
    client.commit(*changes)
    client.commit(*changes)
    assert [client.ledger.table(f"db.{name}").version for name in "ab"] == [2, 2]


def test_a_table_is_named_once(accounts: RestClient) -> None:
    client = accounts
    with pytest.raises(IcebergRefusal, match="name each table once"):
        client.commit(client.change("a", []), client.change("A", []))
