"""What fits no record is refused where it is said, or ends the txn that was to send it."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.testing import InMemoryLedger
from ledger.transaction import Transaction


def in_a_block(ledger: Ledger, work: Callable[[Transaction], object]) -> None:
    """Do work in a txn of a block."""
    with ledger.transaction() as txn:
        work(txn)


NO_TEXT: Any = 5
NO_NUMBER: Any = "1"
UNFIT: list[tuple[Callable[[Transaction], object], type[Exception]]] = [
    (lambda txn: txn.set_protocol("flights", 2**63, 7), OverflowError),
    (lambda txn: txn.set_protocol("flights", NO_NUMBER, 7), TypeError),
    (lambda txn: txn.set_domain("flights", "delta", NO_TEXT), TypeError),
    (lambda txn: txn.update("flights", NO_TEXT), TypeError),
    (lambda txn: txn.insert("flights", "\ud800"), ValueError),
]


@pytest.mark.parametrize("block", [in_a_block, Ledger.run])
@pytest.mark.parametrize(("work", "error"), UNFIT)
def test_unfit_commit_is_aborted(
    ledger: Ledger,
    memory: InMemoryLedger,
    block: Callable[[Ledger, Callable[[Transaction], object]], object],
    work: Callable[[Transaction], object],
    error: type[Exception],
) -> None:
    """A txn whose commit fits no record is aborted: nothing was sent that it could wait for."""
    ledger.create_table("flights")

    with pytest.raises(error):
        block(ledger, work)

    assert memory.reads.open_txns(10) == []


def test_error_that_no_record_takes(ledger: Ledger, memory: InMemoryLedger) -> None:
    """A txn is aborted also for an error whose text could not be written as it is."""
    with pytest.raises(ValueError, match="\ud800"), ledger.transaction() as txn:
        raise ValueError("\ud800")

    row = memory.reads.txn(txn.id)
    assert row is not None
    assert row.reason == r"ValueError: \ud800"


@pytest.mark.parametrize("name", [5, None, b"MERGE"])
def test_operation_is_a_text(ledger: Ledger, name: Any) -> None:
    """An operation that is no text is refused where it is said."""
    ledger.create_table("flights")
    with ledger.transaction() as txn:
        with pytest.raises(TypeError, match="an operation is a text, not"):
            txn.operation("flights", name)
        if name is not None:
            with pytest.raises(TypeError, match="an operation is a text, not"):
                txn.add_files("flights", ["a"], operation=name)

    assert ledger.read("flights").paths == []
