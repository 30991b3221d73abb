"""A txn that somebody else ended says so at its next call: who, where and why."""

import gc
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.core.events.events import TxnAborted, TxnCommitted
from ledger.errors import RefusedError, SessionExpiredError, TxnNotOpenError
from ledger.log.wire.codec import HEADER_OF
from ledger.session.endings import Endings
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.sdk.conftest import IMPATIENT, LEASE_S
from tests.sdk.flights import TABLE, create_flights, of_day

CALLS: dict[str, Callable[[Transaction], object]] = {
    "read": lambda txn: txn.read(TABLE),
    "read unrecorded": lambda txn: txn.read(TABLE, record=False),
    "read whole": lambda txn: txn.read_whole(TABLE),
    "depends on": lambda txn: txn.depends_on(TABLE, "day = 1"),
    "add": lambda txn: txn.add_files(TABLE, [of_day(3)]),
    "remove": lambda txn: txn.remove_files(TABLE, ["day1"]),
    "insert": lambda txn: txn.wrote(TABLE, "insert"),
    "app": lambda txn: txn.app("stream", 1),
    "write id": lambda txn: txn.write_id(TABLE),
    "another write id": lambda txn: txn.write_id("other"),
    "valid write ids": lambda txn: txn.valid_write_ids(TABLE),
    "metadata": lambda txn: txn.metadata(TABLE),
    "create table": lambda txn: txn.create_table("new"),
    "alter table": lambda txn: txn.alter_table(TABLE, properties={"owner": "ada"}),
    "drop table": lambda txn: txn.drop_table(TABLE),
    "commit": lambda txn: txn.commit(),
}
# What reads at once sees what others did; the rest is told as soon as this process has heard of it.
LEAVE: list[tuple[Callable[[InMemoryLedger, Ledger, int], object], str]] = [
    (
        lambda memory, _, txn: memory.connect(application="ops").abort(txn, "it is stuck"),
        r"session \d+ \(.+@.+, ops\) aborted it at position \d+: it is stuck",
    ),
    (
        lambda memory, _, txn: memory.connect(application="ops").abort(txn, ""),
        "aborted it at position .*: no reason was given",
    ),
    (
        lambda _, ledger, txn: ledger.abort(txn, "no more needed"),
        "this ledger aborted it at position .*: no more needed",
    ),
]


def opened(ledger: Ledger) -> Transaction:
    """Return an open txn that has a write id in the table of flights."""
    create_flights(ledger)
    ledger.create_table("other")
    return ledger.begin(tables=[TABLE])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("end", "said"), LEAVE)
def test_every_call_tells_of_the_abort_by_others(
    ledger: Ledger,
    memory: InMemoryLedger,
    call: str,
    end: Callable[[InMemoryLedger, Ledger, int], object],
    said: str,
) -> None:
    txn = opened(ledger)
    end(memory, ledger, txn.id)
    ledger._channel.tail.hear(memory.reads.position())  # noqa: SLF001 - whatever calls it

    for _ in range(2):
        with pytest.raises(TxnNotOpenError, match=said) as raised:
            CALLS[call](txn)

    assert (txn.status, raised.value.subject) == ("aborted", txn.id)
    assert "Begin a new txn if its work is still to be done" in str(raised.value)


@pytest.mark.parametrize("call", ["read", "read unrecorded", "depends on", "commit"])
def test_seen_by_a_read(ledger: Ledger, memory: InMemoryLedger, call: str) -> None:
    ledger.create_table(TABLE, [("day", "int")])
    other = memory.connect()
    for _ in range(20):
        txn = ledger.begin()
        other.abort(txn.id, "it is stuck")
        with pytest.raises(TxnNotOpenError, match="it is stuck"):
            CALLS[call](txn)


def test_a_block_ends_by_that_error(ledger: Ledger, memory: InMemoryLedger) -> None:
    create_flights(ledger)

    def work() -> None:
        with ledger.transaction() as txn:
            memory.connect().abort(txn.id, "it is stuck")
            txn.read(TABLE)

    with pytest.raises(TxnNotOpenError, match="it is stuck") as raised:
        work()

    assert not hasattr(raised.value, "__notes__")


def test_a_txn_that_was_too_slow_is_told_that_it_was(still: InMemoryLedger) -> None:
    ledger = still.connect(settings=IMPATIENT)
    create_flights(ledger)
    txn = ledger.begin(deadline_s=1.0)
    still.advance(5.0)

    with pytest.raises(TxnNotOpenError, match="its deadline had passed, so the ledger ended it"):
        txn.read(TABLE)


def test_an_expired_session_is_told_what_its_process_knows(still: InMemoryLedger) -> None:
    ledger = still.connect(settings=IMPATIENT)
    create_flights(ledger)
    txn = ledger.begin()
    still.advance(LEASE_S + 1)

    with pytest.raises(SessionExpiredError, match=r"its session .* expired at position .* lease"):
        txn.read(TABLE)


@pytest.mark.parametrize("end", [Transaction.commit, Transaction.abort])
def test_ended_by_itself(ledger: Ledger, end: Callable[[Transaction], object]) -> None:
    """A txn that ended itself is not said to have been ended by others."""
    txn = opened(ledger)
    end(txn)

    assert ledger._channel.tail.endings.of(txn.id) is None  # noqa: SLF001 - nothing is kept
    with pytest.raises(ValueError, match="this txn has ended"):
        txn.add_files(TABLE, [of_day(3)])


def test_events_of_other_txns_are_not_even_read() -> None:
    endings, header = Endings(), HEADER_OF[TxnAborted]
    assert not endings.concerns(1, header)
    endings.watch(1)

    assert endings.concerns(1, header)
    assert not endings.concerns(2, header)
    assert not endings.concerns(1, HEADER_OF[TxnCommitted])
    endings.leave(1)
    assert not endings.concerns(1, header)


def resource_warnings(drop: Callable[[], object]) -> list[str]:
    """Return what is warned of while something is let go."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        drop()
        gc.collect()
    return [str(each.message) for each in caught if each.category is ResourceWarning]


def test_an_open_txn_without_a_holder_is_warned_of_once(ledger: Ledger) -> None:
    held = [opened(ledger)]
    number = held[0].id

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        held.clear()

    (told,) = [str(each.message) for each in caught if each.category is ResourceWarning]
    assert f"txn {number} is open, but the program has dropped it: commit or abort it" in told


OVER: dict[str, Callable[[InMemoryLedger, Ledger, Transaction], object]] = {
    "committed": lambda _memory, _ledger, txn: txn.commit(),
    "aborted": lambda _memory, _ledger, txn: txn.abort(),
    "closed": lambda _memory, ledger, _txn: ledger.close(),
}


@pytest.mark.parametrize("over", OVER)
def test_dropped_when_over(memory: InMemoryLedger, ledger: Ledger, over: str) -> None:
    """A txn that has ended may be let go."""
    held: list[Any] = [opened(ledger)]
    OVER[over](memory, ledger, held[0])

    assert resource_warnings(held.clear) == []


SCRIPT = """
import structlog
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
from ledger.testing import InMemoryLedger
memory = InMemoryLedger().__enter__()
ledger = memory.connect()
ledger.create_table("t")
txn = ledger.begin()
if {ends}:
    txn.commit()
"""


@pytest.mark.parametrize(("ends", "warns"), [(False, True), (True, False)])
def test_left_open_at_the_end(*, ends: bool, warns: bool) -> None:
    script = SCRIPT.format(ends=ends)
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    said = "was not closed before the program ended. This ends its 1 open txn, the first is txn 1"
    assert (said in done.stderr) is warns, done.stderr


def test_refusals_keep_their_reason(ledger: Ledger, memory: InMemoryLedger) -> None:
    txn = opened(ledger)
    memory.connect().abort(txn.id, "it is stuck")
    with pytest.raises(RefusedError) as raised:
        txn.commit()

    assert raised.value.reason == "TxnNotOpen"
