"""GROW: what one operation costs at the end of 1,000,000 events, against the end of 10,000.

Both histories are folded in this process and leave states of equal size: as many txns open and
aborted, as many winners remembered. So a ratio above one is a cost that grows with the past.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from time import perf_counter
from typing import Final, NamedTuple

from ledger.core.acceptance import NO_CHAIN, LogHead
from ledger.core.commands import CommitTxn, TableWrite
from ledger.core.decide.decide import decide
from ledger.core.events.events import Event, TxnCommitted
from ledger.core.evolve.evolve import evolve, fold
from ledger.core.lists.visibility import valid_txn_list
from ledger.core.state.domain import DomainState
from ledger.core.state.watermark import bounds
from ledger.log.acceptor import Acceptor
from ledger.log.checkpoints import dump, load
from ledger.log.wire.codec import frame_event
from ledger.machine.kafka.broker import Broker
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.history import EPOCH, LIMITS, History, rewrite
from tests.benchmarks.repeated import US, collected_as_in_a_role, rounds_of

FEW: Final = 10_000
MANY: Final = 1_000_000
EVENTS_PER_TXN: Final = 3
EXCEPTIONS: Final = 200
ROUNDS: Final = 41
TXNS_PER_ROUND: Final = 50
TAIL_TXNS: Final = 2_000
RECOVERIES: Final = 9
# How far behind the state the checked commit was planned; all winners since are remembered.
BEHIND: Final = 1_000
NEVER: Final = 2**62


class Past(NamedTuple):
    """A state with all that came before, and what makes the events that follow."""

    state: DomainState
    history: History


def measure_fold(_: Broker) -> list[Figure]:
    """Return GROW-fold: applying one more event."""
    both = pasts()
    with collected_as_in_a_role():
        # The first round only warms up.
        rounds = [tuple(map(folded_us, both)) for _ in range(ROUNDS + 1)][1:]
    return [grown("GROW-fold", [(many, few) for few, many in rounds], "one event applied")]


def measure_snapshot(_: Broker) -> list[Figure]:
    """Return GROW-snapshot: the valid txn list of a new reader."""
    few, many = (partial(valid_txn_list, each.state) for each in pasts())
    what = f"the list of a reader beside {len(few().exceptions())} open and aborted txns"
    return [grown("GROW-snapshot", rounds_of(many, few, calls=50), what)]


def measure_watermark(_: Broker) -> list[Figure]:
    """Return GROW-watermark: the cleanup watermark and its bounds."""
    few, many = (partial(bounds, each.state.txns) for each in pasts())
    return [grown("GROW-watermark", rounds_of(many, few, calls=1_000), "watermark and its bounds")]


def measure_check(_: Broker) -> list[Figure]:
    """Return GROW-check: deciding a commit that conflicts with nothing."""
    few, many = map(check, pasts())
    what = f"a rewrite decided that was planned {BEHIND} events ago"
    return [grown("GROW-check", rounds_of(many, few, calls=25), what)]


def measure_recovery(_: Broker) -> list[Figure]:
    """Return GROW-recovery: loading a checkpoint and folding the same tail behind it."""
    few, many = map(recovery, pasts())
    found = rounds_of(many, few, calls=1, rounds=RECOVERIES)
    what = f"a checkpoint loaded, {TAIL_TXNS * EVENTS_PER_TXN} events accepted and folded"
    return [grown("GROW-recovery", found, what)]


def grown(name: str, rounds: Sequence[tuple[float, ...]], what: str) -> Figure:
    """Return the figure of (long, short) rounds."""
    pairs = [(many, few) for many, few in rounds]
    return against(name, "us", pairs, f"{what}: after {MANY} events against after {FEW}")


@cache
def pasts() -> tuple[Past, Past]:
    """Return the short and the long history; made once and used by every GROW."""
    return past(FEW), past(MANY)


def past(events: int) -> Past:
    """Return a domain in which so many events happened."""
    history = History()
    state = fold(DomainState(), history.creation())
    fold(state, history.txns(events // EVENTS_PER_TXN))
    evolve(state, history.opens(EXCEPTIONS))
    first = history.next_txn - EXCEPTIONS
    evolve(state, history.expires(range(first, history.next_txn, 2)))
    assert len(state.txns.ended) == LIMITS.outcomes_max, "the short history fills all bounds"
    return Past(state, history)


def folded_us(past: Past) -> float:
    """Go on with a history and return the microseconds of one event."""
    events = list(past.history.txns(TXNS_PER_ROUND))
    began_s = perf_counter()
    fold(past.state, events)
    return (perf_counter() - began_s) / len(events) * US


def check(past: Past) -> Callable[[], None]:
    """Return a call that decides the commit of a rewrite in a region of its own."""
    state, history = past
    write = TableWrite(1, state.position - BEHIND, (), rewrite(0, "elsewhere"))
    session = history.session
    command = CommitTxn(session, history.next_n(session), NEVER, 0, [write], "Serializable")

    def run() -> None:
        answer = decide(state, command, state.at)
        assert isinstance(answer, TxnCommitted), answer

    return run


def recovery(past: Past) -> Callable[[], None]:
    """Return a call that recovers the state of a history that has gone on since its checkpoint."""
    head = LogHead(EPOCH, past.state.position, NO_CHAIN, past.state.last_cmd, NO_CHAIN)
    data = dump(past.state, head, 0)
    events = list(past.history.txns(TAIL_TXNS))
    fold(past.state, events)
    tail = framed(events)

    def run() -> None:
        state, head, _ = load(data)
        acceptor = Acceptor(head)
        for record in tail:
            event = acceptor.take(record)
            assert event is not None, "every record of the tail counts"
            evolve(state, event)

    return run


def framed(events: Iterable[Event]) -> list[bytes]:
    """Return the records of events, chained."""
    chain, records = NO_CHAIN, []
    for control, body in events:
        placed, record = frame_event(control, body, chain)
        chain = placed.control.chain
        records.append(record)
    return records
