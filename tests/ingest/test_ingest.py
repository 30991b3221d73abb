"""Records become rows, each of them once, whatever owner or outcome is not known."""

from threading import Event as Signal
from typing import Any

import pytest

from ledger.errors import OffsetGoneError, RoleEndedError, SettingsError
from ledger.ingest.batch import PendingRecords
from ledger.ingest.offsets import HOME, KnownOffset, recorded
from ledger.ingest.source import Partition, TopicRecord
from tests.ingest.benches import NAME, IngestBench

EVENTS: dict[str, Any] = {"topic": "events", "table": "db.events"}
USERS: dict[str, Any] = {"topic": "users", "table": "db.users", "key": ["id"]}
KEPT = {"bad": "table", "bad_table": "db.bad"}
FIRST = Partition("events", 0)


def line(number: int, name: str = "a") -> bytes:
    return f'{{"id": {number}, "name": "{name}"}}'.encode()


def made(bench: IngestBench, *names: str, partitions: int = 1, **options: Any) -> None:
    for name in names or ("events",):
        columns = [("id", "BIGINT NOT NULL"), ("name", "STRING")]
        bench.ledger.create_table(f"db.{name}", columns, **options)
        bench.topics.create(name, partitions)


def put(bench: IngestBench, *numbers: int, partition: int = 0) -> None:
    for number in numbers:
        bench.topics.put("events", line(number), partition=partition)


def ids(bench: IngestBench, table: str = "db.events") -> list[int]:
    return sorted(row["id"] for row in bench.rows(table))


def test_records_of_two_topics_and_their_offsets_are_one_commit(bench: IngestBench) -> None:
    made(bench, "events", "users")
    ingest, _ = bench.process(EVENTS, USERS)
    bench.drain(ingest)
    put(bench, 1)
    bench.topics.put("users", line(7), b"7")

    ingest.gather()
    receipt = ingest.commit()

    assert receipt is not None
    home = bench.ledger.table(HOME).table
    assert set(receipt.versions) == {
        home,
        *(bench.ledger.table(f"db.{name}").table for name in ("events", "users")),
    }
    assert (ids(bench), ids(bench, "db.users")) == ([1], [7])
    assert bench.memory.reads.apps(bench.ledger.table("db.events").table) == []


def test_a_late_owner_that_was_skipped_goes_on_where_the_ledger_is(bench: IngestBench) -> None:
    """The new owner committed more than the late one took: nothing between comes twice."""
    made(bench)
    late, source = bench.process(EVENTS)
    put(bench, 1)
    late.gather()
    source.is_deaf = True
    put(bench, 2)
    new, _ = bench.process(EVENTS)
    bench.drain(new)

    first = late.commit()
    put(bench, 3)
    late.gather()
    second = late.commit()

    assert first is None
    assert second is not None
    assert ids(bench) == [1, 2, 3]


def test_a_late_owner_with_more_records_loses_its_commit(bench: IngestBench) -> None:
    made(bench)
    late, source = bench.process(EVENTS)
    put(bench, 1, 2)
    late.gather()
    source.is_deaf = True
    new, _ = bench.process(EVENTS)
    new.gather()
    put(bench, 3)
    late.gather()
    assert new.commit() is not None

    overtaken = late.commit()
    bench.drain(late)

    assert overtaken is None
    assert ids(bench) == [1, 2, 3]
    assert late.tally.repeats == 1


def test_batches_of_other_partitions_do_not_lose_to_each_other(bench: IngestBench) -> None:
    made(bench, partitions=2)
    ingest, _ = bench.process(EVENTS)
    for number, partitions in enumerate(((0,), (0, 1), (1,), (0, 1))):
        for partition in partitions:
            put(bench, number, partition=partition)
        ingest.gather()
        assert ingest.commit() is not None

    assert ids(bench) == [0, 1, 1, 2, 3, 3]
    assert ingest.tally.repeats == 0


def test_an_owner_of_some_partitions_keeps_its_own(bench: IngestBench) -> None:
    """Another process has progress in one partition of the batch: the rest is committed anew."""
    made(bench, partitions=2)
    late, source = bench.process(EVENTS)
    put(bench, 1)
    put(bench, 2, partition=1)
    late.gather()
    source.is_deaf = True
    new, other = bench.process(EVENTS, owns=False)
    bench.topics.give(other, FIRST)
    bench.drain(new)

    bench.drain(late)

    assert ids(bench) == [1, 2]


def test_a_partition_that_the_ledger_has_at_an_earlier_place_is_read_again() -> None:
    """So it is behind a cut of the log: what lies between was lost with the rows."""
    pending = PendingRecords()
    pending.own({FIRST: KnownOffset(2, 10)})
    pending.add([TopicRecord(FIRST, offset, None, b"") for offset in (2, 3)])

    again = pending.settle({FIRST: KnownOffset(1, 8)})
    pending.add([TopicRecord(FIRST, offset, None, b"") for offset in (1, 2)])

    assert again == [FIRST]
    assert (pending.count, pending.ends(), pending.read_at()) == (2, {FIRST: 3}, 8)


def test_the_first_bad_record_stops_the_ingest_and_is_named(bench: IngestBench) -> None:
    made(bench)
    ingest, _ = bench.process(EVENTS)
    put(bench, 1)
    bench.topics.put("events", b"x")
    ingest.gather()

    with pytest.raises(RoleEndedError, match="topic events, partition 0, offset 1 does not fit"):
        ingest.commit()

    assert ids(bench) == []


def test_bad_records_are_rows_of_a_table_of_their_own(bench: IngestBench) -> None:
    made(bench)
    ingest, _ = bench.process({**EVENTS, **KEPT})
    put(bench, 1)
    bench.topics.put("events", b"x", b"key", gap=3)
    bench.drain(ingest)

    (row,) = bench.rows("db.bad", "offset")

    assert (row["topic"], row["partition"], row["offset"]) == ("events", 0, 4)
    assert (row["key"], row["value"]) == (b"key", b"x")
    assert "malformed" in row["reason"]
    assert row["at"].timestamp() == 1_700_000_000.004
    assert ids(bench) == [1]


def test_a_row_that_breaks_a_constraint_is_bad(bench: IngestBench) -> None:
    made(bench, properties={"delta.constraints.small": "id < 10"})
    ingest, _ = bench.process({**EVENTS, **KEPT})
    put(bench, 1, 10, 2, 11)
    bench.drain(ingest)

    assert ids(bench) == [1, 2]
    assert [row["offset"] for row in bench.rows("db.bad", "offset")] == [1, 3]
    assert "constraint small (id < 10)" in bench.rows("db.bad", "offset")[0]["reason"]


def test_a_new_field_becomes_a_column(bench: IngestBench) -> None:
    made(bench)
    ingest, _ = bench.process({**EVENTS, "new_fields": "add"})
    put(bench, 1)
    bench.topics.put("events", b'{"id": 2, "price": 1.5, "paid": true, "none": null}')
    bench.drain(ingest)

    found = bench.rows("db.events")

    assert [row["price"] for row in found] == [None, 1.5]
    assert found[1].keys() == {"id", "name", "price", "paid"}


def test_two_processes_that_add_one_column_both_go_on(bench: IngestBench) -> None:
    made(bench, partitions=2)
    one, first = bench.process({**EVENTS, "new_fields": "add"})
    two, second = bench.process({**EVENTS, "new_fields": "add"}, owns=False)
    bench.topics.give(first, FIRST)
    bench.topics.give(second, Partition("events", 1))
    for partition in (0, 1):
        bench.topics.put("events", b'{"id": 1, "price": 2}', partition=partition)
    one.gather()
    two.gather()
    bench.drain(one)
    bench.drain(two)

    assert [row["price"] for row in bench.rows("db.events")] == [2, 2]


def test_a_column_that_goes_while_records_come_ends_the_ingest(bench: IngestBench) -> None:
    made(bench)
    ingest, _ = bench.process({**EVENTS, "columns": {"id": "id", "name": "name"}})
    put(bench, 1)
    bench.drain(ingest)
    bench.ledger.alter_table("db.events", columns=[("id", "BIGINT NOT NULL")])
    put(bench, 2)
    ingest.gather()

    with pytest.raises(SettingsError, match=r"table db\.events has no column name"):
        ingest.commit()


@pytest.mark.parametrize(
    ("policy", "left", "bad"), [("delete", [2], 0), ("ignore", [1, 2], 0), ("bad", [1, 2], 1)]
)
def test_a_tombstone_deletes_or_not(
    bench: IngestBench, policy: str, left: list[int], bad: int
) -> None:
    made(bench, "users")
    ingest, _ = bench.process({**USERS, **KEPT, "tombstones": policy})
    for number in (1, 2):
        bench.topics.put("users", line(number), b"%d" % number)
    bench.drain(ingest)
    bench.topics.put("users", None, b"1")
    bench.drain(ingest)

    assert ids(bench, "db.users") == left
    assert len(bench.rows("db.bad", "offset")) == bad


def test_a_topic_that_begins_at_its_end_is_begun_for_all_its_partitions(bench: IngestBench) -> None:
    """A partition that is added later is read from its start, and so is one that nobody had."""
    made(bench, partitions=2)
    put(bench, 1)
    put(bench, 2, partition=1)
    ingest, source = bench.process({**EVENTS, "start": "latest"}, owns=False)
    bench.topics.give(source, FIRST)
    bench.drain(ingest)
    put(bench, 3)
    put(bench, 4, partition=1)
    bench.topics.create("events", 3)
    put(bench, 5, partition=2)
    bench.topics.give(source)

    bench.drain(ingest)

    assert ids(bench) == [3, 4, 5]


@pytest.mark.parametrize("is_running", [True, False])
def test_records_that_were_deleted_unread_stop_the_ingest(
    bench: IngestBench, *, is_running: bool
) -> None:
    made(bench)
    ingest, _ = bench.process(EVENTS)
    put(bench, 1)
    bench.drain(ingest)
    put(bench, 2, 3)
    bench.topics.remove_below(FIRST, 2)
    if not is_running:
        ingest, _ = bench.process(EVENTS)

    with pytest.raises(OffsetGoneError, match="the ledger is at offset 1, and the topic holds 2"):
        ingest.gather()


@pytest.mark.parametrize("is_running", [True, False])
def test_records_that_were_deleted_unread_are_counted_where_the_mapping_goes_on(
    bench: IngestBench, *, is_running: bool
) -> None:
    made(bench)
    goes_on = {**EVENTS, "lost": "continue"}
    ingest, _ = bench.process(goes_on)
    put(bench, 1)
    bench.drain(ingest)
    put(bench, 2, 3)
    bench.topics.remove_below(FIRST, 2)
    if not is_running:
        ingest, _ = bench.process(goes_on)
    ingest.gather()
    lost = [each.note.lost for each in recorded(bench.ledger, NAME)]
    bench.drain(ingest)

    assert lost == [1]
    assert ids(bench) == [1, 3]


def test_a_topic_that_lost_its_end_stops_the_ingest(bench: IngestBench) -> None:
    made(bench)
    ingest, _ = bench.process({**EVENTS, "lost": "continue"})
    put(bench, 1, 2)
    bench.drain(ingest)
    bench.topics.records[FIRST].clear()
    again, _ = bench.process({**EVENTS, "lost": "continue"})

    with pytest.raises(OffsetGoneError, match="lost its end, or was made anew"):
        again.gather()


def test_a_topic_that_was_made_anew_stops_the_ingest(bench: IngestBench) -> None:
    made(bench)
    ingest, _ = bench.process(EVENTS)
    put(bench, 1)
    bench.drain(ingest)
    bench.topics.ids["events"] = "another"
    again, _ = bench.process(EVENTS)

    with pytest.raises(OffsetGoneError, match="topic events was made anew"):
        again.gather()


def test_rows_that_another_program_changes_meanwhile_are_merged_anew(bench: IngestBench) -> None:
    """The merge of the ingest loses to the other commit, and is made once more."""
    made(bench, "users")
    ingest, _ = bench.process(USERS)
    bench.topics.put("users", line(1), b"1")
    bench.drain(ingest)
    bench.topics.put("users", line(1, "b"), b"1")
    ingest.gather()
    with bench.ledger.begin() as other:
        other.update("db.users", {"name": "'c'"})
        other.commit()

    bench.drain(ingest)

    assert [row["name"] for row in bench.rows("db.users")] == ["b"]


def test_a_table_of_hive_folders_is_refused(bench: IngestBench) -> None:
    made(bench, layout="directories", location=bench.folder / "events")

    with pytest.raises(SettingsError, match="must be a managed table of layout listed"):
        bench.process(EVENTS)


def test_a_stopped_ingest_commits_what_it_took(bench: IngestBench) -> None:
    made(bench)
    ingest, _ = bench.process(EVENTS)
    put(bench, 1, 2)
    stop = Signal()
    ingest.run(stop, lambda _: stop.set())

    assert ids(bench) == [1, 2]
