"""The synchronized metadata cache: a pure fold of the log that answers readers by their lists.

There is one entry for each table id, with the versions that its readers may still see. So no reader
waits for an open change of a table, and an old reader keeps its view. Nothing here does I/O or
waits. An event applied before is skipped, so a consumer may go back to any earlier position and
read on from there.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from ledger.core.events.events import Event, LogCut
from ledger.core.limits import DROPS_REMEMBERED_MAX
from ledger.core.state.tables import name_key
from ledger.reads.metadata import MetadataAnswer, Name, Reason
from projections.cache.entries.chain import TakenNames
from projections.cache.entries.entry import CommitMark, Entry, is_external
from projections.cache.entries.held import entry_bytes
from projections.cache.entries.ids import NO_IDS, ReaderIds
from projections.cache.entries.steps import (
    Allocated,
    Changed,
    ChangedAtOnce,
    Ended,
    Forgotten,
    Step,
    steps_of,
)
from projections.cache.ports import EntryRead, StoreAnswer

VERSIONS_MAX: Final = 64


@dataclass(slots=True)
class AppliedPositions:
    """The applied events: all up to `last`, and later ones in `ahead`.

    `cuts` holds the position that a cut in `ahead` follows: no event lies between.
    """

    last: int = 0
    ahead: set[int] = field(default_factory=set)
    cuts: dict[int, int] = field(default_factory=dict)

    def newest(self) -> int:
        """Return the position of the newest event that is applied."""
        return max(self.ahead, default=self.last)

    def take(self, event: Event) -> bool:
        """Record that an event is applied now; return False if it was applied before."""
        position = event.control.position
        if position <= self.last or position in self.ahead:
            return False
        self.ahead.add(position)
        if isinstance(event.body, LogCut):
            self.cuts[event.body.base] = position
        while (following := self.cuts.get(self.last, self.last + 1)) in self.ahead:
            self.cuts.pop(self.last, None)
            self.last = following
            self.ahead.remove(following)
        return True


@dataclass(slots=True)
class CacheState:
    """The entries by table id, each begun as a `blank` one.

    `dropped` are the dropped tables whose entries are kept for older readers, oldest first. Tables
    in `gone` have no entry any more; the only events about them that may still come are ends of ids
    that open txns hold. `blank` makes entries of another kind only in tests that show why a rule is
    needed.
    """

    positions: AppliedPositions = field(default_factory=AppliedPositions)
    entries: dict[int, Entry] = field(default_factory=dict)
    names: TakenNames = field(default_factory=TakenNames)
    dropped: OrderedDict[int, None] = field(default_factory=OrderedDict)
    gone: set[int] = field(default_factory=set)
    blank: Callable[[int], Entry] = Entry

    @property
    def position(self) -> int:
        """The position up to which every event is applied."""
        return self.positions.last

    def entry(self, table: int) -> Entry:
        """Return the entry of a table, and create one without objects if needed."""
        entry = self.entries.get(table)
        if entry is None:
            entry = self.entries[table] = self.blank(table)
        return entry

    def adopt(self, entry: Entry) -> None:
        """Replace an entry with one made elsewhere."""
        self.entries[entry.table] = entry
        self.rename(entry, frozenset())

    def rename(self, entry: Entry, before: frozenset[Name]) -> None:
        """Register an entry under its present names, and remove it from earlier names."""
        names = entry.names()
        for name in names - before:
            self.names.take(name, entry.table)
        for name in before - names:
            self.names.forget(name, entry.table)

    def remove(self, table: int) -> None:
        """Forget a table altogether."""
        entry = self.entries.pop(table)
        for name in entry.names():
            self.names.forget(name, table)
        if entry.ids.open:
            self.gone.add(table)

    def resolve(self, wanted: EntryRead) -> Entry | None:
        """Return the entry of a read: by id, else the last table with the name for the reader."""
        if wanted.table is not None or wanted.name is None:
            return self.entries.get(wanted.table or 0)
        key = name_key(*wanted.name)
        for table in self.names.takers(key):
            entry = self.entries[table]
            if entry.is_named(key, wanted.ids):
                return entry
        return None

    def apply(self, event: Event) -> frozenset[int]:
        """Apply an accepted event; return the tables whose objects or waiting changes differ now.

        Removed entries count too. Changes of write ids alone do not.
        """
        position = event.control.position
        if not self.positions.take(event):
            return frozenset()
        steps = [step for step in steps_of(event) if step.table and step.table not in self.gone]
        fresh = [step for step in steps if position > self.entry(step.table).since]
        return frozenset().union(*(self.apply_step(position, step) for step in fresh))

    def apply_step(self, position: int, step: Step) -> frozenset[int]:
        """Apply one step of an event to its entry; return the tables whose metadata differs now."""
        entry = self.entry(step.table)
        match step:
            case Allocated():
                entry.ids.allocate(step.write_id, step.txn)
                return frozenset()
            case Ended(changes=0):
                entry.ids.end(step.write_id, step.txn, committed=step.committed)
                return frozenset()
            case Forgotten():
                # An aborted id that lists show as valid from now on makes no difference here.
                return frozenset()
        before = entry.names()
        match step:
            case Changed():
                entry.change(step.txn, step.write_id, step.number, step.effect)
            case ChangedAtOnce():
                entry.change_at_once(position, step.effect)
            case Ended(committed=True):
                entry.commit(step.txn, step.write_id, CommitMark(position, step.changes))
            case Ended():
                entry.abort(step.txn, step.write_id)
        entry.trim(VERSIONS_MAX)
        return self._tidy(entry, before)

    def read(self, wanted: EntryRead) -> MetadataAnswer:
        """Return what a reader sees, or the reason why the store must answer.

        The position is that of the cache, or of the store that filled the entry if that is still
        ahead.
        """
        return self.seen_in(self.resolve(wanted), wanted)

    def seen_in(self, entry: Entry | None, wanted: EntryRead) -> MetadataAnswer:
        """Return what a reader sees in an entry, as `read` does."""
        position = self.positions.last
        if entry is not None and entry.since > position:
            position = entry.since
        if position < wanted.token or (wanted.own_txn and not wanted.token):
            return MetadataAnswer(None, "store", position, "token")
        if entry is None:
            reason: Reason = "id_mismatch" if wanted.table else "absent"
            return MetadataAnswer(None, "store", position, reason)
        found = entry.find(wanted.what, wanted.ids, wanted.own_txn)
        if found.value is None:
            return MetadataAnswer(None, "store", position, found.reason)
        if wanted.name not in (None, found.name) and not is_called(found.name, wanted.name):
            return MetadataAnswer(None, "store", position, "id_mismatch")
        return MetadataAnswer(found.value, "cache", max(position, found.position), found.reason)

    def fill(self, wanted: EntryRead, stored: StoreAnswer) -> bool:
        """Keep the store's answer to a miss; return whether it was kept.

        It is not kept if it shows changes that only its txn sees, if it may still change, if it is
        not known which ids of a managed table it shows, or if the cache has applied more of the log
        than the store: a cache never goes back. An outdated answer starts an entry only if the
        cache would give the same answer now, so that later events follow it; otherwise it is kept
        for exactly that list.
        """
        if wanted.own_txn or not stored.is_settled or stored.position < self.positions.newest():
            return False
        if stored.name is None or stored.objects is None:
            return False
        if wanted.ids is None and not is_external(stored.objects):
            return False
        entry, ids = self.entry(stored.table), wanted.ids or NO_IDS
        position = stored.position if stored.is_current else self._as_of(entry, wanted, stored)
        if entry.states is None and position and not entry.ids.lacks_committed(ids):
            before = entry.names()
            entry.load(position, ids, stored.name, stored.objects)
            self.rename(entry, before)
            return True
        return wanted.ids is not None and entry.keep_exact(
            stored.position, ids, stored.name, stored.objects
        )

    def evict(self, table: int) -> None:
        """Drop the objects of a table; its ids, names and waiting changes stay."""
        if table in self.entries:
            self.entries[table].evict()

    def size(self, table: int) -> int:
        """Return about how many bytes the objects of a table take, 0 if none are held."""
        entry = self.entries.get(table)
        return 0 if entry is None else entry_bytes(entry)

    def length(self, table: int) -> int:
        """Return how many versions of a table are held."""
        entry = self.entries.get(table)
        return 0 if entry is None else entry.length()

    def aged(self) -> list[int]:
        """Return the tables with older versions or aborted ids, which a cut may drop."""
        return [
            table
            for table, entry in self.entries.items()
            if entry.length() > 1 or entry.ids.aborted
        ]

    def cut(self, table: int, floor: ReaderIds) -> int:
        """Drop history that only readers need that do not see all of `floor`; return its size."""
        entry = self.entries.get(table)
        if entry is None:
            return 0
        before = entry.names()
        gone = entry.cut(floor)
        self.rename(entry, before)
        return gone

    def newest_reads(self, tables: Iterable[int]) -> list[EntryRead]:
        """Return a read of each of the tables for a reader that sees all that is committed."""
        reads: list[EntryRead] = []
        for table in tables:
            entry = self.entries.get(table)
            if entry is not None and entry.states is not None:
                external = is_external(entry.states.content())
                ids = None if external else ReaderIds.of(entry.ids.listed())
                reads.append(EntryRead(None, ids, table))
        return reads

    def _tidy(self, entry: Entry, before: frozenset[Name]) -> frozenset[int]:
        """Update names and drops after a change of an entry; return its table and any removed."""
        self.rename(entry, before)
        if entry.is_void():
            self.remove(entry.table)
        elif entry.is_dropped():
            self.dropped[entry.table] = None
            if len(self.dropped) > DROPS_REMEMBERED_MAX:
                gone = self.dropped.popitem(last=False)[0]
                self.remove(gone)
                return frozenset((entry.table, gone))
        return frozenset((entry.table,))

    def _as_of(self, entry: Entry, wanted: EntryRead, stored: StoreAnswer) -> int:
        """Return the position of an entry if a reader sees exactly the ids ended there, else 0.

        That is the position of the cache, or of the store that filled the entry. A change at once
        may already be in an answer from a later position; the name shows it.
        """
        if wanted.ids is None or self.positions.ahead or entry.ids.first_unknown(wanted.ids):
            return 0
        assert stored.name is not None, "an answer to keep has a name"
        is_named = entry.is_named(name_key(*stored.name), wanted.ids)
        if not is_named or stored.position < entry.loaded:
            return 0
        return max(self.position, entry.loaded)


def is_called(name: Name | None, wanted: Name) -> bool:
    """Return whether a name is the wanted one; case does not count, as in Hive."""
    return name is not None and name_key(*name) == name_key(*wanted)


def at_one_position(answers: list[MetadataAnswer], position: int) -> list[MetadataAnswer]:
    """Return answers without those ahead of a cache at `position`, unless all are equally far."""
    if len({answer.position for answer in answers}) <= 1:
        return answers
    ahead = MetadataAnswer(None, "store", position, "ahead_of_cache")
    return [ahead if answer.position > position else answer for answer in answers]
