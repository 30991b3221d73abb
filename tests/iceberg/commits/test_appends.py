"""Appends are rebased: a file that only adds rows depends on nothing that its client has seen."""

import json
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from ledger.config.settings import ClientSettings
from ledger.reads.port import TableRow
from ledger.testing import InMemoryLedger, LossyLog, Topic
from projections.iceberg.errors import IcebergRefusal
from projections.iceberg.served.table import ServedTable
from projections.iceberg.served.tables import ServedTables
from tests.iceberg.commits.rest_client import RestClient, Snapshot


def test_an_append_is_a_version_with_the_snapshot_of_the_client(client: RestClient) -> None:
    made = Snapshot(client.create("t"))
    made.add([{"id": 1, "v": "a"}])
    client.commit(client.change("t", made.updates("append"), made.requirements()))
    metadata = client.load("t")
    version = client.ledger.reads().version_row(client.ledger.table("db.t").table)
    assert version is not None
    assert client.rows("t") == [(1, "a")]
    assert metadata["current-snapshot-id"] == made.id
    assert (version.operation, version.blind, version.adds) == ("WRITE", True, 1)
    assert json.loads(version.info)["iceberg"] == {
        "snapshot-id": made.id,
        "operation": "append",
        "summary": {"engine": "test"},
    }


def test_stale_appends_all_win(client: RestClient) -> None:
    first = client.create("t")
    client.append("t", first, [{"id": 1, "v": "a"}])
    second = client.load("t")
    client.append("t", first, [{"id": 2, "v": "b"}])
    client.append("t", first, [{"id": 3, "v": "c"}])
    client.append("t", second, [{"id": 4, "v": "d"}])
    assert client.rows("t") == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert len(client.load("t")["snapshots"]) == 4


def test_a_stale_append_loses_where_the_level_is_serializable(client: RestClient) -> None:
    """The protocol does not say what the client read: a MERGE that finds no row appends too."""
    stale = client.create("t", properties={"delta.isolationLevel": "Serializable"})
    client.append("t", stale, [{"id": 1, "v": "a"}])
    with pytest.raises(IcebergRefusal) as refused:
        client.append("t", stale, [{"id": 1, "v": "b"}])
    assert refused.value.code == 409
    client.append("t", client.load("t"), [{"id": 2, "v": "b"}])
    assert client.rows("t") == [(1, "a"), (2, "b")]


def test_an_append_to_a_snapshot_that_is_not_listed_any_more_wins(client: RestClient) -> None:
    first = client.create("t")
    client.append("t", first, [{"id": 0, "v": "x"}])
    old = client.load("t")
    for number in range(1, 66):
        client.append("t", client.load("t"), [{"id": number, "v": "x"}])
    assert old["current-snapshot-id"] not in {
        each["snapshot-id"] for each in client.load("t")["snapshots"]
    }
    client.append("t", old, [{"id": 99, "v": "x"}])
    assert [row[0] for row in client.rows("t")] == [*range(66), 99]


def test_the_same_commit_again_is_done_once(client: RestClient) -> None:
    made = Snapshot(client.create("t"))
    made.add([{"id": 1, "v": "a"}])
    change = client.change("t", made.updates("append"), made.requirements())
    client.commit(change)
    client.commit(change)
    client.append("t", client.load("t"), [{"id": 2, "v": "b"}])
    client.commit(change)
    assert client.ledger.table("db.t").version == 2
    assert client.rows("t") == [(1, "a"), (2, "b")]


def test_a_repeat_that_another_server_gets_is_done_once(
    client: RestClient, memory: InMemoryLedger
) -> None:
    made = Snapshot(client.create("t"))
    made.add([{"id": 1, "v": "a"}])
    change = client.change("t", made.updates("append"), made.requirements())
    client.commit(change)
    RestClient(memory.connect()).commit(change)
    assert client.ledger.table("db.t").version == 1


def test_new_files_that_the_table_has_already_are_refused(client: RestClient) -> None:
    made = Snapshot(client.create("t"))
    place = made.add([{"id": 1, "v": "a"}])
    client.commit(client.change("t", made.updates("append"), made.requirements()))
    again = Snapshot(client.load("t"))
    again.add([{"id": 1, "v": "a"}], path=place)
    with pytest.raises(IcebergRefusal, match="in the table already") as refused:
        client.commit(client.change("t", again.updates("append"), again.requirements()))
    assert refused.value.code == 400
    assert client.ledger.table("db.t").version == 1


def test_an_append_loses_to_a_drop(client: RestClient) -> None:
    metadata = client.create("t")
    client.ledger.drop_table("db.t")
    with pytest.raises(IcebergRefusal) as refused:
        client.append("t", metadata, [{"id": 1, "v": "a"}])
    assert (refused.value.code, refused.value.kind) == (404, "NoSuchTableException")


def test_an_append_to_a_table_that_was_made_anew_is_refused(client: RestClient) -> None:
    metadata = client.create("t")
    client.ledger.drop_table("db.t")
    client.create("t")
    with pytest.raises(IcebergRefusal, match="Requirement failed: UUID does not match") as refused:
        client.append("t", metadata, [{"id": 1, "v": "a"}])
    assert (refused.value.code, refused.value.kind) == (409, "CommitFailedException")


def test_several_snapshots_of_appends_are_one_version(client: RestClient) -> None:
    first = Snapshot(client.create("t"))
    first.add([{"id": 1, "v": "a"}])
    updates = first.updates("append")
    form = updates[0]["snapshot"]
    second = Snapshot({**first.metadata, "snapshots": [form], "current-snapshot-id": first.id})
    second.add([{"id": 2, "v": "b"}])
    more = second.updates("append")
    client.commit(client.change("t", [*updates, *more], first.requirements()))
    assert client.rows("t") == [(1, "a"), (2, "b")]
    assert client.ledger.table("db.t").version == 1
    assert client.load("t")["current-snapshot-id"] == second.id


def test_files_that_were_compacted_do_not_come_again(client: RestClient) -> None:
    made = Snapshot(client.create("t"))
    place = made.add([{"id": 1, "v": "a"}])
    client.commit(client.change("t", made.updates("append"), made.requirements()))
    client.append("t", client.load("t"), [{"id": 2, "v": "b"}])
    with client.ledger.transaction() as txn:
        txn.optimize("db.t")
    again = Snapshot(client.load("t"))
    again.add([{"id": 1, "v": "a"}], path=place)
    with pytest.raises(IcebergRefusal, match="is or was in the table already"):
        client.commit(client.change("t", again.updates("append"), again.requirements()))
    assert client.rows("t") == [(1, "a"), (2, "b")]


def test_threads_that_send_one_commit_at_once_do_it_once(client: RestClient) -> None:
    made = Snapshot(client.create("t"))
    made.add([{"id": 1, "v": "a"}])
    change = client.change("t", made.updates("append"), made.requirements())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: client.commit(change), range(8)))
    assert client.ledger.table("db.t").version == 1


def test_a_commit_that_does_not_fit_one_record_is_one_version(client: RestClient) -> None:
    metadata = client.create("t")
    made = Snapshot(metadata)
    made.add([{"id": 1, "v": "a"}])
    (entry,) = made.added
    made.added += [
        entry._replace(path=f"{made.location}/data/{name_of(number)}.parquet", record_count=0)
        for number in range(2_500)
    ]
    change = client.change("t", made.updates("append"), made.requirements())
    client.commit(change)
    client.commit(change)
    row = client.ledger.reads().version_row(client.ledger.table("db.t").table)
    assert row is not None
    events = {event.type for event in client.ledger.reads().history(0, 1_000)}
    assert "WritesStaged" in events
    assert (row.version, row.adds, row.operation) == (1, 2_501, "WRITE")
    assert json.loads(row.info)["iceberg"]["snapshot-id"] == made.id
    again = Snapshot(client.load("t"))
    again.added = made.added[:100]
    with pytest.raises(IcebergRefusal, match="already"):
        client.commit(client.change("t", again.updates("append")))


def name_of(number: int) -> str:
    """Return a long name that cannot be compressed."""
    return "".join(sha256(f"{number} {part}".encode()).hexdigest() for part in range(12))


def test_a_table_that_changes_before_the_txn_opens_is_planned_again(client: RestClient) -> None:
    metadata = client.create("t")
    made = Snapshot(metadata)
    made.add([{"id": 1, "v": "a"}])
    updates = [{"action": "set-properties", "updates": {"a": "1"}}, *made.updates("append")]
    served = client.served

    class ChangesOnce(ServedTables):
        """Another client commits as soon as the plan is made."""

        left = 1

        def table(self, row: TableRow, position: int | None = None) -> ServedTable:
            found = super().table(row, position)
            if self.left:
                self.left -= 1
                client.append("t", metadata, [{"id": 2, "v": "b"}])
            return found

    client.served = ChangesOnce(client.ledger.reads, client.ledger.id)
    later = RestClient(client.ledger)
    later.served, client.served = client.served, served
    later.commit(later.change("t", updates, made.requirements()))
    assert client.rows("t") == [(1, "a"), (2, "b")]
    assert client.load("t")["properties"]["a"] == "1"


def test_an_outcome_that_is_not_known_is_said_as_such(tmp_path: Path) -> None:
    log = LossyLog()
    with InMemoryLedger(log=log) as memory:
        settings = ClientSettings(timeout_s=1.0, attempt_s=0.1)
        ledger = memory.connect(warehouse=tmp_path, settings=settings)
        ledger.create_namespace("db")
        client = RestClient(ledger)
        made = Snapshot(client.create("t"))
        made.add([{"id": 1, "v": "a"}])
        change = client.change("t", made.updates("append"), made.requirements())
        log.lost[Topic.COMMANDS] = 1_000_000
        with pytest.raises(IcebergRefusal) as refused:
            client.commit(change)
        log.lost[Topic.COMMANDS] = 0
        assert (refused.value.code, refused.value.kind) == (500, "CommitStateUnknownException")
        client.commit(change)
        assert client.rows("t") == [(1, "a")]


def test_an_append_puts_rows_of_the_log_into_files_first(client: RestClient) -> None:
    stale = client.create("t")
    client.ledger.alter_table("db.t", properties={"lakeledger.inline": "on"})
    client.ledger.append("db.t", [{"id": 1, "v": "a"}])
    with pytest.raises(IcebergRefusal, match="rows in the log") as refused:
        client.load("t")
    assert refused.value.code == 400
    client.append("t", stale, [{"id": 2, "v": "b"}])
    assert client.rows("t") == [(1, "a"), (2, "b")]
    assert [each.operation for each in client.ledger.history("db.t")][:2] == ["WRITE", "FLUSH"]
