"""R16: the snapshot of a txn and the list of a reader, at 100,000 open and aborted exceptions.

The baseline is what a metastore does: sort the exceptions and write them down. A TxnOpened names
them one by one up to a bound only, above it by its position and a digest (R16); a reader without a
txn gets them as a list (R16-list), and Hive's text of it is written when asked for (R16-text).
"""

from functools import partial
from typing import Final

from ledger.core.commands import OpenTxn
from ledger.core.decide.decide import decide
from ledger.core.evolve.evolve import evolve, fold
from ledger.core.lists.visibility import valid_txn_list
from ledger.core.state.domain import DomainState
from ledger.machine.kafka.broker import Broker
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.history import History
from tests.benchmarks.repeated import Call, rounds_of

EXCEPTIONS: Final = 100_000
OPENED_AT_ONCE: Final = 1_000
CALLS: Final = 500
ROUNDS: Final = 7
NOW: Final = 10**9


def measure(_: Broker) -> list[Figure]:
    """Return R16, R16-list and R16-text."""
    state, history = crowded()
    session = history.session
    command = OpenTxn(session, history.next_n(session), NOW, "default", 1, 0)
    what = f"{EXCEPTIONS} exceptions, half open, half aborted, no neighbours"
    naive = partial(sorted_text, state)
    sides: list[tuple[str, Call, int, str]] = [
        ("R16", partial(decide, state, command, 0), CALLS, "snapshot of a TxnOpened, decided"),
        ("R16-list", partial(valid_txn_list, state), 1, "list of a reader without a txn"),
        ("R16-text", lambda: valid_txn_list(state).text(), 1, "that list in Hive's text"),
    ]
    return [
        against(
            name,
            "us",
            rounds_of(ours, naive, calls=calls, other_calls=1, rounds=ROUNDS),
            f"{said}: against sort and text; {what}",
        )
        for name, ours, calls, said in sides
    ]


def crowded() -> tuple[DomainState, History]:
    """Return a state in which every second txn is committed, every fourth open or aborted."""
    history = History()
    state = fold(DomainState(), history.creation())
    for _ in range(2 * EXCEPTIONS // OPENED_AT_ONCE):
        first = history.next_txn
        evolve(state, history.opens(OPENED_AT_ONCE))
        for txn in range(first, history.next_txn, 2):
            evolve(state, history.commits_nothing(txn))
        evolve(state, history.expires(range(first + 1, history.next_txn, 4)))
    assert len(state.txns.open_visible) + len(state.txns.aborted_ids) == EXCEPTIONS
    return state, history


def sorted_text(state: DomainState) -> str:
    """Return the text of all exceptions as one writes it without an index of them."""
    txns = state.txns
    still_open, aborted = sorted(txns.open), sorted(txns.aborted)
    every = sorted([*still_open, *aborted])
    open_text, aborted_text = ",".join(map(str, still_open)), ",".join(map(str, aborted))
    return f"{txns.next_txn - 1}:{every[0]}:{open_text}:{aborted_text}"
