"""Mutants: caches with one rule broken, each of which some history must show up.

They say why the rules are there. The way to the cache is part of it: some rules matter only where
events come twice, late or not at all yet.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ledger.core.events.events import Event
from ledger.core.state.domain import DomainState
from ledger.reads.metadata import MetadataAnswer, Objects, Reason
from projections.cache.entries.chain import Chain, Version
from projections.cache.entries.entry import CommitMark, Entry
from projections.cache.entries.ids import NO_IDS, IdStates, ReaderIds
from projections.cache.entries.steps import Effect, Ended
from projections.cache.fold import AppliedPositions
from projections.cache.ports import EntryRead, StoreAnswer
from tests.demo.metastores.one_version import Tag, TaggedEntry
from tests.projections.cache_play import ANY_ORDER, IN_ORDER, Make, MultiVersion, OneVersion


class Mutant(NamedTuple):
    """A broken cache, and the orders of plans on which it goes wrong."""

    make: Make
    orders: Mapping[str, int]


class NeverPending(TaggedEntry):
    """An entry whose flag is always set."""

    def tag(self) -> Tag:
        return super().tag()._replace(is_committed=True)


class KeptOnAbort(TaggedEntry):
    """An entry that an abort leaves as the aborted txn made it."""

    def abort(self, step: Ended) -> None:
        """Let what waits go, and nothing else."""
        self.waiting.pop(step.txn, None)
        self.ids.end(step.write_id, step.txn, committed=False)


class MarkCompared(TaggedEntry):
    """An entry that compares high watermarks only."""

    def refuses(self, ids: ReaderIds | None) -> Reason | None:
        tag = self.tag()
        if tag.ids is None or ids is None or not tag.is_committed:
            return super().refuses(ids)
        return None if ReaderIds.of(tag.ids).hwm == ids.hwm else "ahead_of_cache"


class MarkOnly(Entry):
    """An entry that takes every id up to its mark for ended."""

    def refuses(self, ids: ReaderIds | None, own_txn: int, states: Chain[Objects]) -> Reason | None:
        """Refuse a reader whose mark is higher."""
        if ids is None or own_txn:
            return super().refuses(ids, own_txn, states)
        return None if ids.hwm <= self.ids.hwm else "ahead_of_cache"


class Floorless(Entry):
    """An entry that answers readers from before its own time."""

    def refuses(self, ids: ReaderIds | None, own_txn: int, states: Chain[Objects]) -> Reason | None:
        """Refuse as if all history were known."""
        self.floor = NO_IDS
        return super().refuses(ids, own_txn, states)


class DeliveriesCounted(Entry):
    """An entry that counts deliveries of changes, not changes."""

    def change(self, txn: int, write_id: int, number: int, effect: Effect) -> None:
        """Keep a change under the number of its arrival."""
        waiting = self.waiting.get(txn)
        arrived = number if waiting is None else 1_000 + len(waiting.effects)
        super().change(txn, write_id, arrived, effect)


class UncountedCommit(Entry):
    """An entry that believes a commit before all it covers has come."""

    def commit(self, txn: int, write_id: int, commit: CommitMark) -> None:
        """Make visible what is there."""
        super().commit(txn, write_id, commit._replace(changes=min(1, commit.changes)))


class VisibleAtOnce(Entry):
    """An entry that does not wait for the commit."""

    def change(self, txn: int, write_id: int, number: int, effect: Effect) -> None:
        """Show a change to everyone."""
        super().change(txn, write_id, number, effect)
        if self.states is not None and effect.objects is not None:
            self.states.put(Version(self.since + 10_000 + number, 0, effect.objects))


class CommittedOnAbort(Entry):
    """An entry that takes every end for a commit."""

    def abort(self, txn: int, write_id: int) -> None:
        waiting = self.waiting.get(txn)
        changes = len(waiting.effects) if waiting is not None else 0
        self.commit(txn, write_id, CommitMark(10_000 + txn, changes))


class Gapless(IdStates):
    """Ids of which only those that were told can be open."""

    def allocate(self, write_id: int, txn: int) -> None:
        if write_id > self.hwm:
            self.open[write_id] = txn
            self.hwm = write_id
        elif write_id in self.open:
            super().allocate(write_id, txn)


class Forgetful(AppliedPositions):
    """Positions that take every event for a new one."""

    def take(self, event: Event) -> bool:
        """Apply an event, whether or not it was there before."""
        super().take(event)
        return True


class Replaying(MultiVersion):
    """A cache that applies an event as often as it comes."""

    def __init__(self, state: DomainState, blank: Callable[[int], Entry] = Entry) -> None:
        super().__init__(state, blank)
        self.cache.positions = Forgetful(self.cache.position)


class OwnerFilled(MultiVersion):
    """A cache that keeps what only a txn sees."""

    def fill(self, wanted: EntryRead, found: StoreAnswer) -> bool:
        """Keep an answer whoever got it, as if the id of its txn had ended."""
        if not wanted.own_txn:
            return super().fill(wanted, found)
        settled = found._replace(is_settled=True, is_current=True)
        return super().fill(wanted._replace(own_txn=0), settled)


class ByName(MultiVersion):
    """A cache that takes a name for an identity."""

    def read(self, wanted: EntryRead) -> MetadataAnswer:
        """Look the table up by its name alone."""
        return super().read(wanted if wanted.name is None else wanted._replace(table=None))


class Tokenless(MultiVersion):
    """A cache that shows a txn its own changes as far as they have come."""

    def read(self, wanted: EntryRead) -> MetadataAnswer:
        """Answer without looking at the token."""
        return super().read(wanted._replace(token=1 if wanted.own_txn else 0))


class PendingLost(MultiVersion):
    """A cache that begins without the changes that wait."""

    def __init__(self, state: DomainState) -> None:
        super().__init__(state)
        for entry in self.cache.entries.values():
            for waiting in entry.waiting.values():
                waiting.effects = {number: Effect() for number in waiting.effects}


def of(blank: type[Entry]) -> Make:
    """Return how to make a cache of broken entries."""
    return lambda state: MultiVersion(state, blank)


def tagged(blank: type[TaggedEntry]) -> Make:
    """Return how to make a one-version cache of broken entries."""
    return lambda state: OneVersion(state, blank)


MUTANTS: Final[Mapping[str, Mutant]] = {
    "no committed flag": Mutant(tagged(NeverPending), IN_ORDER),
    "no eviction on abort": Mutant(tagged(KeptOnAbort), IN_ORDER),
    "one version, marks compared": Mutant(tagged(MarkCompared), IN_ORDER),
    "marks compared": Mutant(of(MarkOnly), IN_ORDER),
    "no floor": Mutant(of(Floorless), IN_ORDER),
    "deliveries counted": Mutant(lambda state: Replaying(state, DeliveriesCounted), ANY_ORDER),
    "commits not counted": Mutant(of(UncountedCommit), ANY_ORDER),
    "changes visible at once": Mutant(of(VisibleAtOnce), IN_ORDER),
    "aborts taken for commits": Mutant(of(CommittedOnAbort), IN_ORDER),
    "gaps not opened": Mutant(
        lambda state: MultiVersion(state, lambda table: Entry(table, Gapless())), ANY_ORDER
    ),
    "events applied again": Mutant(Replaying, IN_ORDER),
    "an owner's read kept": Mutant(OwnerFilled, IN_ORDER),
    "no id check": Mutant(ByName, IN_ORDER),
    "no token": Mutant(Tokenless, IN_ORDER),
    "begun without what waits": Mutant(PendingLost, IN_ORDER),
}
