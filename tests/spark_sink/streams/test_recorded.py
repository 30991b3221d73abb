"""Whether a batch was applied is told by its number and offsets; in doubt the batch is refused."""

from typing import Any

import pytest

from ledger.client import Ledger
from ledger.log.file_list import AddFile
from ledger.sdk.receipt import Receipt
from ledger.sdk.streams import SourceOffset, StreamNote
from ledger.testing import InMemoryLedger
from spark_sink.streams.recorded import RecordedBatches


@pytest.fixture
def ledger(tmp_path: Any) -> Any:
    """Return a client of a ledger in memory."""
    with InMemoryLedger() as memory:
        yield memory.connect(warehouse=str(tmp_path))


def note(batch: int, end: Any, query: str = "q1") -> StreamNote:
    """Return the note of a batch."""
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
    """Return what is recorded of an application now."""
    token = ledger.begin("read_only").token
    return RecordedBatches(ledger.reads(), token, app, from_batch)


def test_same_batch(ledger: Ledger) -> None:
    """A batch with the number and the offsets of a recorded one has its receipt, also later."""
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


def test_earlier_batches_elsewhere(ledger: Ledger) -> None:
    """A query that comes from another sink may say at which batch it begins here."""
    assert recorded(ledger, from_batch=3).receipt_of(note(3, 40)) is None
    with pytest.raises(ValueError, match="from_batch=4"):
        recorded(ledger, from_batch=3).receipt_of(note(4, 50))
