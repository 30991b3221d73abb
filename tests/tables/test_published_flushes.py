"""Published tables with rows in the log: which state each version of their logs shows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from ledger.client import Ledger
from ledger.log.replay import Replay
from ledger.properties.column_mapping import PUBLISH
from ledger.testing import InMemoryLedger
from projections.delta.actions.metadata_action import FOLDER
from projections.delta.adopting import LogOwner
from projections.delta.log.log_folder import version_file
from projections.delta.log.log_marks import features_in
from projections.delta.log.object_log import log_at
from projections.delta.verify import verify_log
from tests.tables.delta_readers import by_deltalake, by_duckdb
from tests.tables.published_lake import PUBLISHED, PublishedLake

COLUMNS = [("day", "int"), ("id", "bigint")]
INLINE = {"lakeledger.inline": "on", "lakeledger.rows": "marks"}


@pytest.fixture
def lake(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> PublishedLake:
    """Return a ledger with a published table of two rows, one of which lies in the log."""
    made = PublishedLake(memory, ledger, tmp_path)
    ledger.create_table(
        "t",
        COLUMNS,
        partition_columns=["day"],
        location=tmp_path / "t",
        properties=PUBLISHED | INLINE,
    )
    append(made, 1)
    flush(made)
    append(made, 2)
    return made


def append(lake: PublishedLake, *ids: int, day: int = 1) -> None:
    lake.ledger.append("t", [{"id": number, "day": day} for number in ids])


def flush(lake: PublishedLake) -> None:
    lake.ledger.run(lambda txn: txn.flush("t"))


def version(lake: PublishedLake) -> int:
    return lake.ledger.table("t").version


def actions(lake: PublishedLake, folder: str = "t") -> Sequence[Mapping[str, Any]]:
    """Return the actions of the newest version, once it is published."""
    lake.publish()
    assert lake.publisher.stopped == {}
    log = lake.folder / folder / "_delta_log"
    lines = (log / version_file(version(lake))).read_text().splitlines()
    return [json.loads(line) for line in lines]


def shows(lake: PublishedLake, folder: str = "t") -> int:
    """Return the version that the newest one shows, as it says."""
    own = actions(lake, folder)[0]["commitInfo"]["lakeledger"]
    return int(own.get("shows", version(lake)))


def ids(lake: PublishedLake, folder: str = "t") -> list[int]:
    """Return what readers see in the newest version."""
    lake.publish()
    found = [
        sorted(reader(str(lake.folder / folder), version(lake))["id"].to_pylist())
        for reader in (by_deltalake, by_duckdb)
    ]
    assert found[0] == found[1]
    assert verify_log(Replay(lake.memory.log), lake.ledger.table("t").table).is_clean
    return found[0]


def test_rows_of_the_log_wait_for_their_flush(lake: PublishedLake) -> None:
    assert (shows(lake), version(lake), ids(lake)) == (2, 3, [1])
    assert [next(iter(each)) for each in actions(lake)] == ["commitInfo"]
    flush(lake)
    assert (shows(lake), version(lake), ids(lake)) == (4, 4, [1, 2])
    assert [each["add"]["dataChange"] for each in actions(lake) if "add" in each] == [True]


def test_the_publisher_says_for_how_long_rows_wait(lake: PublishedLake) -> None:
    lake.publish()
    assert lake.publisher.waiting_ms() > 0
    flush(lake)
    lake.publish()
    assert lake.publisher.waiting_ms() == 0


def test_a_flush_beside_appends_shows_the_state_before_the_rows_that_are_left(
    lake: PublishedLake,
) -> None:
    append(lake, 3)
    with lake.ledger.transaction() as txn:
        txn.flush("t")
        append(lake, 4)
        append(lake, 5)
    assert (version(lake), shows(lake), ids(lake)) == (7, 4, [1, 2, 3])
    append(lake, 6)
    assert (shows(lake), ids(lake)) == (4, [1, 2, 3])
    flush(lake)
    assert (shows(lake), ids(lake)) == (9, [1, 2, 3, 4, 5, 6])


def test_a_flush_beside_statements_shows_the_state_that_it_read(lake: PublishedLake) -> None:
    """Whatever is committed beside flushes, each of them lets the log go on."""
    append(lake, 3, 4, 9)
    with lake.ledger.transaction() as txn:
        txn.flush("t")
        lake.ledger.run(lambda other: other.delete("t", "id IN (1, 3)"))
        append(lake, 5)
        lake.ledger.run(lambda other: other.update("t", {"id": 40}, where="id = 4"))
    assert (version(lake), shows(lake), ids(lake)) == (8, 4, [1, 2, 3, 4, 9])
    append(lake, 6)
    with lake.ledger.transaction() as txn:
        txn.flush("t")
        append(lake, 7)
        lake.ledger.run(lambda other: other.delete("t", "id IN (2, 9)"))
    assert (version(lake), shows(lake), ids(lake)) == (12, 9, [2, 5, 6, 9, 40])
    flush(lake)
    assert (shows(lake), ids(lake)) == (13, [5, 6, 7, 40])


def test_a_flush_beside_a_compaction_that_is_shown_doubles_no_row(lake: PublishedLake) -> None:
    for number in (21, 22):
        append(lake, number, day=2)
        flush(lake)
    append(lake, 3, 4)
    with lake.ledger.transaction() as txn:
        txn.flush("t")
        lake.ledger.optimize("t", "day = 2")
        assert (version(lake), shows(lake), ids(lake)) == (9, 7, [1, 2, 21, 22])
        append(lake, 5)
        lake.ledger.run(lambda other: other.delete("t", "id IN (1, 3)"))
    assert (version(lake), shows(lake), ids(lake)) == (12, 8, [1, 2, 3, 4, 21, 22])
    append(lake, 6)
    assert ids(lake) == [1, 2, 3, 4, 21, 22]
    flush(lake)
    assert ids(lake) == [2, 4, 5, 6, 21, 22]


def test_rows_of_one_partition_do_not_come_before_earlier_rows_of_another(
    lake: PublishedLake,
) -> None:
    append(lake, 3, day=2)
    lake.ledger.optimize("t", "day = 2")
    assert (version(lake), shows(lake), ids(lake)) == (5, 2, [1])
    flush(lake)
    assert (shows(lake), ids(lake)) == (6, [1, 2, 3])


def test_a_large_append_waits_behind_rows_of_the_log(lake: PublishedLake) -> None:
    append(lake, *range(10, 3_000))
    assert (version(lake), shows(lake), ids(lake)) == (4, 2, [1])
    flush(lake)
    assert len(ids(lake)) == 2 + 2_990


def test_a_statement_writes_files_and_waits_behind_rows_of_the_log(lake: PublishedLake) -> None:
    append(lake, 3, 4)
    with lake.ledger.transaction() as txn:
        txn.update("t", {"id": "id + 10"}, where="id = 1")
    assert (version(lake), shows(lake), ids(lake)) == (5, 2, [1])
    assert len([file for file in lake.ledger.scan("t").files if file.rows]) == 2
    with lake.ledger.transaction() as txn:
        txn.delete("t", "id IN (2, 3)")
    assert (shows(lake), ids(lake)) == (2, [1])
    flush(lake)
    assert (shows(lake), ids(lake)) == (version(lake), [4, 11])
    kinds = [next(iter(each)) for each in actions(lake)]
    assert (kinds[0], set(kinds[1:])) == ("commitInfo", {"remove", "add"})


def test_a_compaction_of_files_that_are_shown_changes_no_data(lake: PublishedLake) -> None:
    flush(lake)
    lake.ledger.optimize("t")
    found = [fields["dataChange"] for each in actions(lake)[1:] for fields in each.values()]
    assert found == [False, False, False]
    assert ids(lake) == [1, 2]


def test_a_column_waits_with_the_rows(lake: PublishedLake) -> None:
    lake.ledger.alter_table("t", columns=[*COLUMNS, ("text", "string")])
    assert (shows(lake), ids(lake)) == (2, [1])
    names = [each.name for each in DeltaTable(lake.folder / "t").schema().fields]
    assert names == ["day", "id"]
    flush(lake)
    assert (shows(lake), ids(lake)) == (version(lake), [1, 2])
    names = [each.name for each in DeltaTable(lake.folder / "t").schema().fields]
    assert names == ["day", "id", "text"]


def test_the_progress_of_an_application_is_that_of_the_rows(lake: PublishedLake) -> None:
    table = DeltaTable(lake.folder / "t") if shows(lake) else None
    assert table is not None
    for number in (1, 2):
        lake.ledger.append("t", [{"id": 10 + number, "day": 1}], app=("loader", number))
    with lake.ledger.transaction() as txn:
        txn.flush("t")
        lake.ledger.append("t", [{"id": 13, "day": 1}], app=("loader", 3))
    assert (shows(lake), ids(lake)) == (5, [1, 2, 11, 12])
    assert DeltaTable(lake.folder / "t").transaction_version("loader") == 2
    flush(lake)
    assert ids(lake) == [1, 2, 11, 12, 13]
    assert DeltaTable(lake.folder / "t").transaction_version("loader") == 3


def test_a_new_table_shows_its_first_rows_at_once(lake: PublishedLake) -> None:
    properties = PUBLISHED | INLINE
    lake.ledger.create_table("new", [{"id": 1}], location=lake.folder / "n", properties=properties)
    lake.publish()
    assert by_deltalake(str(lake.folder / "n"), 0)["id"].to_pylist() == [1]


def test_a_log_ends_once_readers_find_every_row(lake: PublishedLake) -> None:
    lake.ledger.alter_table("t", unset=[PUBLISH])
    assert (shows(lake), ids(lake)) == (2, [1])
    assert "lakeledger" in features_in(log_at(str(lake.folder / "t")))
    flush(lake)
    assert ids(lake) == [1, 2]
    assert "lakeledger" not in features_in(log_at(str(lake.folder / "t")))


def test_a_release_puts_the_rows_into_files(lake: PublishedLake) -> None:
    row = lake.ledger.table("t")
    released = LogOwner(lake.ledger, lake.memory.log).release(row)
    assert (released.newest, released.stopped) == (version(lake), "")
    assert "lakeledger" not in features_in(log_at(str(lake.folder / "t")))
    assert ids(lake) == [1, 2]


def test_a_log_moves_once_readers_find_every_row(lake: PublishedLake) -> None:
    lake.ledger.alter_table("t", properties={FOLDER: str(lake.folder / "log")})
    assert (shows(lake), ids(lake)) == (2, [1])
    assert not (lake.folder / "log").exists()
    flush(lake)
    lake.publish()
    assert by_duckdb(str(lake.folder / "log"), version(lake))["id"].to_pylist() == [1, 2]
    assert not (lake.folder / "t" / "_delta_log" / version_file(version(lake))).exists()
