"""A batch that is skipped as done before is told: by its receipt, and by a line of log."""

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.core.commands import AppVersion, TableWrite
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT
from ledger.errors import ReadsUnavailableError
from ledger.log.lossy import LossyLog
from ledger.reads.port import Reads
from ledger.session.receipt import Receipt
from ledger.testing import InMemoryLedger
from ledger.work.repeated_batches import Recorded
from tests.sdk.conftest import IMPATIENT

Lines = Sequence[MutableMapping[str, Any]]
Batch = Callable[[Ledger, int], Receipt]


def in_txn(ledger: Ledger, version: int) -> Receipt:
    with ledger.transaction() as txn:
        txn.app("stream", version)
        txn.add_files("t", [f"batch{version}"])
    assert txn.receipt is not None
    return txn.receipt


def by_write_id(ledger: Ledger, version: int) -> Receipt:
    with ledger.transaction(tables=["t"]) as txn:
        txn.app("stream", version)
    assert txn.receipt is not None
    return txn.receipt


def at_once(ledger: Ledger, version: int) -> Receipt:
    return ledger.append("t", [f"batch{version}"], app=("stream", version))


def by_hand(ledger: Ledger, version: int) -> Receipt:
    footprint = EMPTY_FOOTPRINT._replace(operation="WRITE", apps=[AppVersion("stream", version)])
    return ledger.commit_once([TableWrite(ledger.table("t").table, 0, (), footprint)])


def skips(lines: Lines) -> Lines:
    return [line for line in lines if line["event"] == "batch skipped"]


@pytest.mark.parametrize("batch", [in_txn, by_write_id, at_once, by_hand])
@pytest.mark.parametrize(
    ("version", "begins_anew", "said"),
    [
        (5, False, "batch 5 of application stream was done before: table 1 has recorded version 5"),
        (4, False, "table 1 has recorded version 5"),
        (3, True, "far ahead of it. If the application begins anew"),
        (0, True, "all its batches up to 5 are skipped, although they hold other rows"),
    ],
)
def test_skipped(
    ledger: Ledger, log_lines: Lines, batch: Batch, version: int, said: str, *, begins_anew: bool
) -> None:
    """One warning for each, with its cause where that is likely to be another one."""
    ledger.create_table("t", [("x", "int")])
    applied = batch(ledger, 5)
    before = skips(log_lines)

    receipt = batch(ledger, version)

    (line,) = skips(log_lines)
    assert before == []
    assert (receipt.skipped, applied.note) == (True, "")
    assert said in receipt.note
    assert receipt.note in repr(receipt)
    assert ("its query id" in receipt.note) is begins_anew
    expected = ("warning", "stream", version, 5, applied.position, begins_anew, receipt.note)
    names = ("log_level", "application", "version", "recorded", "position", "begins_anew", "why")
    assert tuple(line[name] for name in names) == expected


def test_to_commit_a_skipped_txn_again_says_the_same(ledger: Ledger, log_lines: Lines) -> None:
    ledger.create_table("t", [("x", "int")])
    at_once(ledger, 5)
    txn = ledger.begin()
    txn.app("stream", 5)
    txn.add_files("t", ["again"])

    first, second = txn.commit(), txn.commit()

    assert first.note == second.note != ""
    assert len(skips(log_lines)) == 1


def test_rows_out_of_reach(memory: InMemoryLedger, log: LossyLog, log_lines: Lines) -> None:
    """What is recorded may be out of reach; the receipt and the log tell the rest."""

    def away() -> Reads:
        raise ReadsUnavailableError("the follower is away")

    ledger = Ledger(log, open_reads=away, settings=IMPATIENT, clock=memory.clock)
    row = memory.connect().create_table("t", [("x", "int")])
    with ledger:
        for _ in range(2):
            receipt = ledger.append(row.table, ["a"], app=("stream", 5))

    assert receipt.note == "batch 5 of application stream was done before"
    assert len(skips(log_lines)) == 1


@pytest.mark.parametrize(
    ("version", "recorded", "begins_anew"),
    [(0, 0, False), (0, 1, True), (1, 2, False), (1, 3, True), (7, 7, False), (7, None, False)],
)
def test_begins_anew(version: int, recorded: int | None, *, begins_anew: bool) -> None:
    """The last batch, and the one before, may be sent again; what is older hardly ever is."""
    assert Recorded(AppVersion("stream", version), 1, recorded).begins_anew is begins_anew
