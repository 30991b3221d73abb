"""How a log reaches a cache: in order or nearly, twice, from further back, over crashes.

A plan is a list of orders and nothing else, so that a failing one shrinks. After each order some
readers ask; whatever the cache answers itself must be what they are to be told.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, Protocol

from hypothesis import strategies as st

from ledger.core.events.events import Event
from ledger.core.state.domain import DomainState
from ledger.log import checkpoints
from ledger.reads.metadata import MetadataAnswer, Reason
from projections.cache.entries.bootstrap import bootstrap
from projections.cache.entries.entry import Entry
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.rows_as_entries import store_answer
from projections.cache.fold import CacheState
from projections.cache.ports import EntryRead, StoreAnswer
from tests.demo.metastores import one_version
from tests.demo.metastores.one_version import OneVersionCache, TaggedEntry
from tests.driver import CATALOG
from tests.projections.cache_history import WHATS, Played, Reader, Told, as_told, told

READS_PER_ORDER = 6
ORDERS_MAX = 25
NUMBERS = 2**20
IN_ORDER = {
    "deliver": 8,
    "again": 2,
    "rewind": 1,
    "save": 1,
    "crash": 1,
    "bootstrap": 1,
    "evict": 1,
    "fill": 4,
}
ANY_ORDER = {**IN_ORDER, "hold": 3, "release": 2}


class Order(NamedTuple):
    """One thing that happens on the way, and a number from which it draws its choices."""

    what: str
    number: int


def plans(weights: Mapping[str, int]) -> st.SearchStrategy[list[Order]]:
    orders = [what for what, weight in weights.items() for _ in range(weight)]
    order = st.builds(Order, st.sampled_from(orders), st.integers(0, NUMBERS - 1))
    return st.lists(order, max_size=ORDERS_MAX)


def drawn_plan(seed: int, weights: Mapping[str, int]) -> list[Order]:
    source = Random(seed)  # noqa: S311 - a plan must come back from its seed
    drawn = source.choices([*weights], [*weights.values()], k=ORDERS_MAX)
    return [Order(what, source.randrange(NUMBERS)) for what in drawn]


class Subject(Protocol):
    """A cache of either kind, as far as this module deals with one."""

    def apply(self, event: Event) -> None:
        """Take in what the log brought next."""

    def read(self, wanted: EntryRead) -> MetadataAnswer:
        """Answer a reader or send it to the store."""
        ...

    def fill(self, wanted: EntryRead, found: StoreAnswer) -> bool:
        """Keep what the store answered, if that is of use."""
        ...

    def evict(self, table: int) -> None:
        """Forget a table."""


class MultiVersion:
    """The cache with several versions."""

    def __init__(self, state: DomainState, blank: Callable[[int], Entry] = Entry) -> None:
        self.cache: CacheState = bootstrap(state, blank)

    def apply(self, event: Event) -> None:
        self.cache.apply(event)

    def read(self, wanted: EntryRead) -> MetadataAnswer:
        """Answer a reader or send it to the store."""
        return self.cache.read(wanted)

    def fill(self, wanted: EntryRead, found: StoreAnswer) -> bool:
        """Keep what the store answered, if that is of use."""
        return self.cache.fill(wanted, found)

    def evict(self, table: int) -> None:
        self.cache.evict(table)


class OneVersion:
    """The cache with one version."""

    def __init__(
        self, state: DomainState, blank: Callable[[int], TaggedEntry] = TaggedEntry
    ) -> None:
        self.cache: OneVersionCache = one_version.bootstrap(state, blank)

    def apply(self, event: Event) -> None:
        self.cache.apply(event)

    def read(self, wanted: EntryRead) -> MetadataAnswer:
        """Answer a reader or send it to the store."""
        return self.cache.read(wanted)

    def fill(self, wanted: EntryRead, found: StoreAnswer) -> bool:
        """Keep what the store answered, if that is of use."""
        return self.cache.fill(wanted, found)

    def evict(self, table: int) -> None:
        if table in self.cache.entries:
            self.cache.entries[table].evict()


Make = Callable[[DomainState], Subject]


@dataclass
class Way:
    """A cache on its way through a log, and the events it has applied.

    `filled` says from which positions of the store the entries of each table may be.
    """

    subject: Subject
    applied: set[int] = field(default_factory=set)
    filled: dict[int, set[int]] = field(default_factory=dict)
    cursor: int = 0
    held: list[Event] = field(default_factory=list)


class Trip:
    """One plan carried out on one history.

    `reasons` count what became of reads, `wrong` are the answers that were not right.
    """

    def __init__(self, history: Played, make: Make) -> None:
        self.history = history
        self.reasons: Counter[Reason] = Counter()
        self.wrong: list[str] = []
        self._make = make
        self.way = Way(make(DomainState()))
        self._saved = deepcopy(self.way)

    def go(self, plan: list[Order]) -> None:
        """Carry out a plan, then bring what is left of the log; readers ask all along."""
        for order in plan:
            getattr(self, order.what)(order.number)
            for offset in range(READS_PER_ORDER):
                self.ask(order.number + 7 * offset)
        for event in (*self.way.held, *self.history.events[self.way.cursor :]):
            self._apply(event)
        for number in range(len(self.history.readers)):
            self.ask(number)

    def deliver(self, number: int) -> None:
        """Bring the next few events."""
        for event in self.history.events[self.way.cursor : self.way.cursor + 1 + number % 6]:
            self._apply(event)
            self.way.cursor += 1

    def hold(self, _number: int) -> None:
        """Keep the next event back."""
        held = self.history.events[self.way.cursor : self.way.cursor + 1]
        self.way.held += held
        self.way.cursor += len(held)

    def release(self, number: int) -> None:
        """Bring an event that was held back."""
        if self.way.held:
            self._apply(self.way.held.pop(number % len(self.way.held)))

    def again(self, number: int) -> None:
        """Bring an event that was there before."""
        if self.way.applied:
            before = sorted(self.way.applied)
            self._apply(self.history.events[before[number % len(before)] - 1])

    def rewind(self, number: int) -> None:
        """Go back in the log."""
        self.way.cursor = max(0, self.way.cursor - number % 20)

    def save(self, _number: int) -> None:
        """Write the cache to where a crash does not reach it."""
        self._saved = deepcopy(self.way)

    def crash(self, number: int) -> None:
        """Go on with what was saved, and read the log from before that."""
        self.way = deepcopy(self._saved)
        self.rewind(number)

    def bootstrap(self, number: int) -> None:
        """Begin at some position, and read the log from before that."""
        position = number % len(self.history.checkpoints)
        data = self.history.checkpoints[position]
        state = checkpoints.load(data).state if data else DomainState()
        self.way = Way(self._make(state), set(range(1, position + 1)), cursor=position)
        self.rewind(number // 64)

    def evict(self, number: int) -> None:
        """Forget a table."""
        self.way.subject.evict(1 + number % 3)

    def fill(self, number: int) -> None:
        """Let a reader read at a store that is as far as the cache or farther, and keep that."""
        wanted, reader = self.wanted(number)
        least = max(self.way.applied, default=0)
        position = least + number // 32 % (len(self.history.events) + 1 - least)
        found = store_answer(self.history.store(position), wanted)
        if self.way.subject.fill(wanted, found):
            self.way.filled.setdefault(reader.table, set()).add(position)

    def wanted(self, number: int) -> tuple[EntryRead, Reader]:
        """Return what one of the readers asks for.

        A txn asks by id alone, and only where all that it did has come.
        """
        readers = self.history.readers
        reader = readers[number % len(readers)]
        ids = None if reader.ids is None else ReaderIds.of(reader.ids)
        what = WHATS[number // len(readers) % len(WHATS)]
        if reader.own_txn:
            own = reader.own_txn, reader.position
            return EntryRead(None, ids, reader.table, what, *own), reader
        return EntryRead((CATALOG, reader.name), ids, reader.table, what), reader

    def ask(self, number: int) -> MetadataAnswer:
        """Let a reader ask the cache, and hold an answer of its own against what is right."""
        wanted, reader = self.wanted(number)
        answer = self.way.subject.read(wanted)
        self.reasons[answer.reason] += 1
        if answer.source == "cache":
            right = self.right(reader, wanted.what)
            if as_told(answer.value) not in right:
                self.wrong.append(f"{reader} of {wanted.what}: {answer}, right is {right}")
        return answer

    def right(self, reader: Reader, what: str) -> list[Told]:
        """Return what a reader may be told here: as of the cache, or of what it was filled with."""
        applied = self.way.applied
        filled = [
            applied.union(range(1, last + 1)) for last in self.way.filled.get(reader.table, ())
        ]
        ways = [
            (applied, applied),
            *((own, at_once) for at_once in filled for own in (applied, at_once)),
        ]
        return [told(self.history, reader, what, *way) for way in ways]

    def _apply(self, event: Event) -> None:
        self.way.subject.apply(event)
        self.way.applied.add(event.control.position)
