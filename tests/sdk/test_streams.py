"""Streams are listed by what their commits recorded, and their lag by what their sources said."""

from typing import Any

import pytest

from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile
from ledger.sdk.streams import (
    LEDGER_SOURCE,
    SourceOffset,
    StreamNote,
    distance,
    first_receipt,
    notes_before,
    streams_in,
)
from ledger.work.app_notes import progress_in

KAFKA = "KafkaV2[Subscribe[clicks]]"


def batch(ledger: Ledger, number: int, tables: list[int], end: Any, latest: Any = None) -> None:
    """Commit a batch of the query q1 into tables."""
    note = StreamNote("q1", "clicks", number, (SourceOffset(KAFKA, end, latest),))
    with ledger.transaction() as txn:
        txn.app("q1", number, info=note.info)
        for table in tables:
            txn.add_files(table, [AddFile(f"{number}.parquet")])


@pytest.mark.parametrize(
    ("end", "latest", "lag"),
    [
        (5, 9, 4),
        (9, 5, 0),
        (None, 9, 9),
        ({"t": {"0": 3, "1": 4}}, {"t": {"0": 5, "1": 4, "2": 7}}, 9),
        ({"t": {"0": 3}}, {"t": {"0": "x"}}, None),
        ("a", "b", None),
        (True, 4, None),
        (3, {"t": 4}, None),
    ],
)
def test_offsets_that_are_counts_have_a_distance(end: Any, latest: Any, lag: int | None) -> None:
    assert distance(end, latest) == lag


def test_a_stream_is_one_row_whichever_tables_it_wrote(ledger: Ledger) -> None:
    first, second = (ledger.create_table(name).table for name in ("db.a", "db.b"))
    batch(ledger, 0, [first, second], {"t": {"0": 3}}, {"t": {"0": 10}})
    batch(ledger, 1, [first], {"t": {"0": 6}}, {"t": {"0": 10}})
    with ledger.transaction() as txn:
        txn.app("loader", 18, tables=[second], info={"offsets": {"visits": 52}})
        txn.app("plain", 1)
    loader, query = streams_in(ledger.reads())
    assert (loader.application, loader.query, loader.batch, loader.lag) == ("loader", "", 18, None)
    assert loader.offsets == {"visits": 52}
    assert (query.application, query.query, query.name, query.batch) == ("q1", "q1", "clicks", 1)
    assert [table.name for table in query.tables] == ["db.a", "db.b"]
    assert query.offsets == [{"source": KAFKA, "end": {"t": {"0": 6}}, "latest": {"t": {"0": 10}}}]
    assert query.lag == 4
    assert query.at > 0
    assert streams_in(ledger.reads(), "q1") == [query]


def test_a_stream_that_reads_a_table_is_behind_by_versions(ledger: Ledger) -> None:
    source, target = (ledger.create_table(name).table for name in ("db.a", "db.b"))
    end = {LEDGER_SOURCE: source, "version": 0}
    batch(ledger, 0, [target], end)
    assert [each.lag for each in streams_in(ledger.reads())] == [0]
    for number in range(3):
        ledger.append(source, [f"{number}.parquet"])
    assert [each.lag for each in streams_in(ledger.reads())] == [3]


def test_the_history_of_a_table_has_the_notes_of_all_batches(ledger: Ledger) -> None:
    table = ledger.create_table("db.a").table
    for number in range(3):
        batch(ledger, number, [table], number)
        ledger.append(table, [f"other-{number}.parquet"], app=("other", number))
    (progress,) = progress_in(ledger.reads(), "q1")
    found = [
        (note.batch, note.sources[0].end) for note, _ in notes_before(ledger.reads(), progress)
    ]
    assert found == [(2, 2), (1, 1), (0, 0)]


def test_a_skipped_batch_has_the_receipt_of_its_first_commit(ledger: Ledger) -> None:
    table = ledger.create_table("db.a").table
    receipts = []
    for _ in range(2):
        with ledger.transaction() as txn:
            txn.app("q1", 0, info={"offsets": 1})
            txn.add_files(table, [AddFile("a.parquet")])
        receipts.append(txn.receipt)
    first, again = receipts
    assert first is not None
    assert again is not None
    found = first_receipt(ledger.reads(), again, [table])
    assert (found.txn, found.position, found.tables) == (first.txn, first.position, first.tables)
    assert (found.skipped, found.repeated) == (True, True)
