"""cache-apply: folding a log into a metadata cache, against folding it into the state.

Every follower has to `evolve` the state of its domain, so that is what an event costs without a
cache. Both folds begin each round anew with the same tables, in this process and without a log.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import Final

from ledger.core.events.events import Event
from ledger.core.evolve.evolve import evolve, fold
from ledger.core.state.domain import DomainState
from ledger.machine.kafka.broker import Broker
from projections.cache.entries.bootstrap import bootstrap
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.history import ABORTED_EACH, TABLES, History
from tests.benchmarks.repeated import collected_as_in_a_role

TXNS: Final = 3_000
ROUNDS: Final = 5

Happened = Callable[[History, int], Iterable[Event]]

HISTORIES: Final[dict[str, tuple[Happened, str]]] = {
    "cache-apply": (
        History.alters,
        f"of which each alters one of {TABLES} tables and one in {ABORTED_EACH} is aborted",
    ),
    "cache-apply-writes": (History.txns, "of which each rewrites one file and none alters"),
}


def measure(_: Broker) -> list[Figure]:
    """Return cache-apply of txns that alter tables, and of txns that only write."""
    return figures(TXNS)


def figures(txns: int) -> list[Figure]:
    """Return the same of so many txns."""
    return [
        figure(name, happened, txns, f"{txns} txns {what}")
        for name, (happened, what) in HISTORIES.items()
    ]


def figure(name: str, happened: Happened, txns: int, what: str) -> Figure:
    """Return how many events of such a history the cache applies in a second, and the state."""
    history = History()
    creation = list(history.creation())
    events = list(happened(history, txns))
    # The first round only warms up.
    rounds = [round_of(creation, events) for _ in range(ROUNDS + 1)][1:]
    note = f"{len(events)} events of {what}: applied to many versions, against evolve alone"
    return against(name, "events/s", rounds, note)


def round_of(creation: Sequence[Event], events: Sequence[Event]) -> tuple[float, float]:
    """Return the events a second of the cache and of the state."""
    state = fold(DomainState(), creation)
    cache = bootstrap(state)
    with collected_as_in_a_role():
        return rate(cache.apply, events), rate(partial(evolve, state), events)


def rate(applied: Callable[[Event], object], events: Sequence[Event]) -> float:
    """Return how many events a second are applied."""
    began_s = perf_counter()
    for event in events:
        applied(event)
    return len(events) / (perf_counter() - began_s)
