"""What a producer does in a txn, and what it is told."""

import gc
import math
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.core.commands import CoarseWrite, TableWrite
from ledger.errors import (
    CommandInvalidError,
    ConcurrentDeleteDeleteException,
    NotOwnerError,
    TxnNotOpenError,
    UnknownTableError,
)
from ledger.log.wire.file_list import AddFile
from ledger.session.receipt import TableVersion
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.sdk.writing import written

INSERT = CoarseWrite("unpartitioned", "", "insert")
UPDATE = CoarseWrite("unpartitioned", "", "update")
NO_MIN_OPEN = 2**63 - 1


def test_a_block_that_ends_commits_its_txn(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")

    with ledger.transaction() as txn:
        write_id = txn.write_id("flights")
        txn.wrote("flights", "insert")

    assert (write_id, txn.status) == (1, "committed")
    assert txn.receipt is not None
    assert {flights.table: TableVersion(1, 1)} == txn.receipt.tables
    assert (txn.id, ledger.token) == (txn.receipt.txn, txn.receipt.token)
    assert not txn.receipt.repeated


def test_opens_with_write_ids(ledger: Ledger, memory: InMemoryLedger) -> None:
    ledger.create_table("flights")
    ledger.create_table("planes")
    ledger.begin(tables=["planes"]).commit()
    before = memory.reads.position()

    first, second = ledger.begin_many(2, tables=["flights", "planes"])

    assert memory.reads.position() == before + 1
    assert [first.write_ids(["flights", "planes"]), second.write_ids(["flights", "planes"])] == [
        [1, 2],
        [2, 3],
    ]
    assert memory.reads.position() == before + 1
    assert first.valid_write_ids("planes").text() == f"main.planes:2:{NO_MIN_OPEN}::"


def test_what_opened_with_a_write_id_is_committed_there(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")

    with ledger.transaction(tables=["flights"]) as txn:
        pass

    assert txn.receipt is not None
    assert {flights.table: TableVersion(1, 1)} == txn.receipt.tables


def test_no_txn_opens_with_a_table_that_is_gone(ledger: Ledger, memory: InMemoryLedger) -> None:
    flights = ledger.create_table("flights")
    ledger.drop_table("flights")

    with pytest.raises(UnknownTableError):
        ledger.begin(tables=[flights.table])

    assert memory.reads.txn(1) is None


def test_receipt_has_its_time(ledger: Ledger, memory: InMemoryLedger) -> None:
    receipt = ledger.begin().commit()

    committed = memory.reads.txn(receipt.txn)
    assert committed is not None
    assert committed.ended_at == round(receipt.at.timestamp() * 1000)
    assert receipt.at.tzname() == "UTC"


@pytest.mark.parametrize("error", [ValueError("no more rows"), KeyboardInterrupt(), SystemExit(3)])
def test_block_aborts(ledger: Ledger, memory: InMemoryLedger, error: BaseException) -> None:
    """A block that raises aborts its txn with that as the reason, and raises it again."""
    ledger.create_table("flights")

    with pytest.raises(type(error)) as raised:
        write_and_raise(ledger, error)

    row = memory.reads.txn(1)
    assert row is not None
    assert error is raised.value
    assert ("aborted", type(error).__name__) == (row.status, row.reason)
    assert [part.wrote for part in row.parts] == [True]


def write_and_raise(ledger: Ledger, error: BaseException) -> None:
    with ledger.transaction() as txn:
        txn.write_id("flights")
        raise error


def test_abort_without_writes_pins_nothing(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="early"), ledger.transaction():
        raise ValueError("early")

    assert ledger.begin().id == ledger.reads().watermark().watermark


def test_a_txn_that_ended_within_its_block_is_left_alone(ledger: Ledger) -> None:
    with ledger.transaction() as committed:
        committed.commit()
    with ledger.transaction() as aborted:
        aborted.abort("changed my mind", ())

    assert (committed.status, aborted.status) == ("committed", "aborted")


def test_unread_plan_is_refused_and_aborted(memory: InMemoryLedger, ledger: Ledger) -> None:
    flights = ledger.create_table("flights")

    with (
        pytest.raises(CommandInvalidError, match="read_at must be at most"),
        ledger.transaction() as txn,
    ):
        txn.wrote(flights, "update", read_at=ledger.token.at(1_000_000))

    row = memory.reads.txn(txn.id)
    assert row is not None
    assert (row.status, txn.status) == ("aborted", "aborted")


def test_conflict(ledger: Ledger, memory: InMemoryLedger) -> None:
    """The second of two that changed the same rows loses, and is told to whom."""
    ledger.create_table("flights")
    winner, loser = ledger.begin(), ledger.begin()
    winner.wrote("flights", "update")
    loser.wrote("flights", "delete")
    winner.commit()

    with pytest.raises(ConcurrentDeleteDeleteException) as raised:
        loser.commit()

    assert ("aborted", loser.id) == (loser.status, raised.value.subject)
    assert winner.id == raised.value.evidence.winner.txn
    explained = raised.value.explain()
    assert f"txn {winner.id}: update by" in explained
    assert "coarse_write_write" in explained
    assert [loser.id] == [row.txn for row in memory.reads.aborted_txns(10)]


def test_inserts_do_not_conflict(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")
    first, second = ledger.begin_many(2)
    first.wrote(flights, "insert")
    second.wrote(flights, "insert")

    versions = [txn.commit().tables[flights.table].version for txn in (second, first)]

    assert versions == [1, 2]


def test_a_table_known_by_id_changes_as_a_whole(ledger: Ledger, memory: InMemoryLedger) -> None:
    flights = ledger.create_table("flights", [("day", "int")], partition_columns=["day"])
    first, second = ledger.begin(), memory.connect().begin()
    first.wrote("flights", "update", "day=1")
    second.wrote(flights.table, "update")
    first.commit()

    with pytest.raises(ConcurrentDeleteDeleteException, match="table"):
        second.commit()


def test_a_txn_that_read_the_rows_again_after_the_winner_does_not_lose(ledger: Ledger) -> None:
    ledger.create_table("flights")
    loser = ledger.begin()
    with ledger.transaction() as winner:
        winner.wrote("flights", "update")

    loser.wrote("flights", "update", read_at=ledger.token)

    assert loser.commit().position > winner.opened


def test_the_oldest_of_several_reads_of_a_table_counts(ledger: Ledger) -> None:
    ledger.create_table("flights")
    loser = ledger.begin()
    with ledger.transaction() as winner:
        winner.wrote("flights", "update")
    loser.wrote("flights", "update", read_at=ledger.token)
    loser.wrote("flights", "delete")

    with pytest.raises(ConcurrentDeleteDeleteException):
        loser.commit()


def test_a_commit_without_a_txn_is_one_round_trip(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")

    receipt = ledger.commit_once([TableWrite(flights.table, 0, (INSERT,))])

    assert {flights.table: TableVersion(1, 1)} == receipt.tables
    assert ledger.snapshot().is_valid(receipt.txn)


def test_commit_at_once_loses(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")
    planned = ledger.token.position
    with ledger.transaction() as winner:
        winner.wrote(flights, "update")

    with pytest.raises(ConcurrentDeleteDeleteException, match="the commit was aborted"):
        ledger.commit_once([TableWrite(flights.table, planned, (UPDATE,))])


def test_anyone_may_abort_a_txn(ledger: Ledger, memory: InMemoryLedger) -> None:
    txn = ledger.begin()

    memory.connect().abort(txn.id, "it held the watermark")

    with pytest.raises(TxnNotOpenError, match="aborted"):
        txn.commit()
    assert txn.status == "aborted"


def test_a_txn_that_is_aborted_again_is_told_where_it_was_aborted_first(ledger: Ledger) -> None:
    txn = ledger.begin()
    first = txn.abort("no longer wanted")

    again = txn.abort("no longer wanted")

    assert (first.position, True) == (again.position, again.repeated)


def test_a_committed_txn_cannot_be_aborted(ledger: Ledger) -> None:
    txn = ledger.begin()
    txn.commit()

    with pytest.raises(TxnNotOpenError, match="committed"):
        ledger.abort(txn.id, "too late")


def test_a_txn_committed_again_is_told_where_it_committed_first(ledger: Ledger) -> None:
    flights = ledger.create_table("flights").table
    txn = written(ledger, "flights")
    first = txn.commit()

    again = txn.commit()

    assert replace(first, repeated=True) == again
    assert {flights: TableVersion(1, 1)} == again.tables
    assert first == txn.receipt


def test_only_the_owner_writes(ledger: Ledger, memory: InMemoryLedger) -> None:
    ledger.create_table("flights")
    txn = memory.connect().begin()
    own = ledger.begin()

    with pytest.raises(NotOwnerError):
        ledger.allocate([own, txn], ["flights"])


@pytest.mark.parametrize("named", [{"txns": [1]}, {"table": "flights", "write_ids": [1]}])
def test_forget_aborted(ledger: Ledger, memory: InMemoryLedger, named: dict[str, Any]) -> None:
    """Aborted ids whose files are gone let the watermark move on, named one way or the other."""
    ledger.create_table("flights", layout="directories")
    txn = written(ledger, "flights")
    txn.abort("no longer wanted", ["flights"])
    held = ledger.reads().watermark().watermark

    ledger.forget_aborted(**named)

    assert held == txn.id
    assert txn.id < ledger.reads().watermark().watermark
    assert tuple(memory.reads.aborted_txns(10)) == ()


@pytest.mark.parametrize(("deadline_s", "deadline_ms"), [(1.5, 1_500), (0.0001, 1)])
def test_a_txn_has_the_deadline_it_was_opened_with_however_short_that_is(
    ledger: Ledger, memory: InMemoryLedger, deadline_s: float, deadline_ms: int
) -> None:
    row = memory.reads.txn(ledger.begin(deadline_s=deadline_s).id)

    assert row is not None
    assert row.deadline - row.opened_at == deadline_ms


@pytest.mark.parametrize("deadline_s", [0, -1.0, math.nan, math.inf, 1e300])
def test_what_is_no_positive_duration_is_refused(ledger: Ledger, deadline_s: float) -> None:
    with pytest.raises(ValueError, match="deadline_s must be above 0"):
        ledger.begin(deadline_s=deadline_s)


def test_who_opened_a_txn_can_be_seen(ledger: Ledger, memory: InMemoryLedger) -> None:
    row = memory.reads.txn(ledger.begin().id)

    assert row is not None
    assert row.application == "etl"
    assert "" not in {row.user, row.host}


def test_what_a_person_sees_names_the_numbers(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")
    with ledger.transaction() as txn:
        txn.write_id(flights)

    assert f"<Transaction {txn.id} default, committed, opened at {txn.opened}>" == repr(txn)
    assert repr(txn.receipt).startswith(
        f"<Receipt txn {txn.id} at position {ledger.token.position}"
    )
    assert repr(txn.receipt).endswith(f"table {flights.table} version 1 write id 1>")
    assert f"catalog main, at {ledger.token}>" in repr(ledger)


@pytest.mark.parametrize("ends", [Transaction.commit, Transaction.abort])
def test_goes_with_its_last_reference(
    ledger: Ledger, ends: Callable[[Transaction], object]
) -> None:
    ledger.create_table("flights")
    txn = ledger.begin(tables=["flights"])
    txn.add_files("flights", [AddFile("a.parquet")])
    ends(txn)
    seen = weakref.ref(txn)
    gc.disable()
    try:
        del txn
        assert seen() is None
    finally:
        gc.enable()
