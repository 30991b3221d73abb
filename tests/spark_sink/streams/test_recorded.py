"""Whether a batch was applied is told by its number and offsets; in doubt the batch is refused."""

from typing import Any

import pytest

from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile
from ledger.sdk.recorded_batches import RecordedBatches
from ledger.sdk.streams import SourceOffset, StreamNote
from ledger.session.receipt import Receipt
from ledger.testing import InMemoryLedger
from spark_sink.streams.recorded import HOME, home_of


@pytest.fixture
def ledger(tmp_path: Any) -> Any:
    with InMemoryLedger() as memory:
        yield memory.connect(warehouse=str(tmp_path))


def note(batch: int, end: Any, query: str = "q1") -> StreamNote:
    return StreamNote(query, "clicks", batch, (SourceOffset("files", end, None),))


def applied(ledger: Ledger, said: StreamNote, *tables: int, app: str = "") -> Receipt:
    """Commit a batch into tables."""
    with ledger.transaction() as txn:
        txn.app(app or said.query, said.batch, tables=tables, info=said.info)
        for table in tables:
            txn.add_files(table, [AddFile(f"{said.batch}.parquet")])
    assert txn.receipt is not None
    return txn.receipt


def recorded(ledger: Ledger, app: str = "q1", from_batch: int = 0) -> RecordedBatches:
    token = ledger.begin("read_only").token
    return RecordedBatches(ledger.reads(), token, app, from_batch)


def test_a_repeated_batch_has_the_receipt_of_the_recorded_one(ledger: Ledger) -> None:
    first, second = (ledger.create_table(name).table for name in ("db.a", "db.b"))
    receipts = [
        applied(ledger, note(0, 10), first, second),
        applied(ledger, note(1, 20), first),
        applied(ledger, note(2, 30), second),
    ]
    found = recorded(ledger)
    for batch, receipt in enumerate(receipts):
        again = found.receipt_of(note(batch, 10 * batch + 10))
        assert again is not None
        assert (again.txn, again.position) == (receipt.txn, receipt.position)
        assert again.tables == receipt.tables
        assert again.skipped
    assert found.receipt_of(note(3, 40)) is None
    assert sorted(found.tables) == [first, second]


@pytest.mark.parametrize(
    ("said", "app", "why"),
    [
        (note(1, 21), "q1", "was applied with the offsets"),
        (note(0, 10), "q1", "no commit has recorded it"),
        (note(2, 30, "q2"), "mine", "query q1 clicks"),
        (note(2, 30), "loader", "no query"),
        (note(3, 40, "q3"), "q3", "from_batch=3"),
        (note(4, 50), "q1", "must go on with batch 2, got batch 4"),
    ],
)
def test_refused(ledger: Ledger, said: StreamNote, app: str, why: str) -> None:
    """A batch that is not known to be new or the same is refused, with what to do."""
    table = ledger.create_table("db.a").table
    applied(ledger, note(1, 20), table)
    applied(ledger, note(1, 20), table, app="mine")
    ledger.append(table, ["x.parquet"], app=("loader", 1))
    with pytest.raises(ValueError, match=why):
        recorded(ledger, app).receipt_of(said)


@pytest.mark.parametrize(
    ("known", "from_batch", "batch", "answer"),
    [
        ({}, 0, 0, "applied"),
        ({}, 0, 1, "at batch 1, and no table of this ledger has its earlier batches"),
        ({}, 3, 3, "applied"),
        ({}, 3, 2, "applied"),
        ({}, 3, 4, "give from_batch=4"),
        ({"a": 2}, 0, 3, "applied"),
        ({"a": 2}, 0, 2, "left out"),
        ({"a": 2}, 0, 4, "of batch 3 would be missing"),
        ({"a": 2}, 0, 9, "of batches 3 to 8 would be missing"),
        ({"a": 2}, 9, 9, "applied"),
        ({"a": 2}, 5, 9, "give from_batch=9"),
        ({"a": 4, "b": 2}, 0, 5, "applied"),
        ({"a": 2, "b": 4}, 0, 5, "applied"),
        ({"a": 2, "b": 4}, 0, 6, "the last batch that this ledger knows is 4"),
        ({"a": 2, "dropped": 4}, 0, 5, "applied"),
        ({"a": 2, "dropped": 4}, 0, 6, "must go on with batch 5"),
        ({"dropped": 4}, 0, 5, "no table of this ledger has its earlier batches"),
    ],
)
def test_a_batch_follows_the_last_one_that_any_table_has(
    ledger: Ledger, known: dict[str, int], from_batch: int, batch: int, answer: str
) -> None:
    for name, last in sorted(known.items(), key=lambda each: each[1]):
        applied(ledger, note(last, last), ledger.create_table(f"db.{name}").table)
    if "dropped" in known:
        ledger.drop_table("db.dropped")
    found = recorded(ledger, from_batch=from_batch)
    if answer in ("applied", "left out"):
        assert (found.receipt_of(note(batch, batch)) is None) is (answer == "applied")
        return
    with pytest.raises(ValueError, match=answer):
        found.receipt_of(note(batch, batch))


def test_batches_that_write_nothing_have_one_table(ledger: Ledger) -> None:
    home = home_of(ledger)
    applied(ledger, note(0, 10), home)
    assert home_of(ledger) == home == ledger.table(HOME).table
    assert recorded(ledger).tables == [home]
    assert recorded(ledger).receipt_of(note(1, 20)) is None
