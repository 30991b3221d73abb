"""The synchronized metadata cache: a pure fold of the log that answers readers by their lists.

One entry per table id, each with the versions its readers may still see, so that an open change of
a table keeps nobody waiting and an old reader keeps what it saw. `apply` takes accepted events and
says which tables they changed; nothing here does I/O or waits. An event applied before is passed
over, so a consumer may go back to any earlier position and read on from there.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ledger.core.events.events import Event, LogCut
from ledger.core.limits import DROPS_REMEMBERED_MAX
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import name_key
from ledger.reads.metadata import TABLE, Answer, Metadata, Name, Objects, described
from projections.cache.bootstrap import entries_of, gone_of
from projections.cache.entry import Commit, Entry, is_external
from projections.cache.ids import NO_IDS, ReaderIds
from projections.cache.names import TakenNames
from projections.cache.steps import (
    Allocated,
    Changed,
    ChangedAtOnce,
    Ended,
    Forgotten,
    Step,
    steps_of,
)

VERSIONS_MAX: Final = 64


class Wanted(NamedTuple):
    """What a reader asks for: an object of the table of a name, of an id, or of both.

    `ids` None = the reader brings no list. `own_txn` is the txn it reads in, `token` the position
    it must see at least, 0 = none; own changes are seen only with the token of the last of them.
    """

    name: Name | None
    ids: ReaderIds | None
    table: int | None = None
    what: str = TABLE
    own_txn: int = 0
    token: int = 0


class Stored(NamedTuple):
    """What the store says of a table for one list, as of its own position.

    `is_settled` = every id valid in the list has ended, but for that of the reader's own txn, so
    the answer to others will never be another; `is_current` = the list also holds every id
    committed up to the position. `can_settle` = a later position may end ids of the list.
    """

    position: int
    is_settled: bool
    is_current: bool
    table: int
    name: Name | None
    objects: Objects | None
    can_settle: bool = True

    def value(self, what: str) -> Metadata | None:
        """Return one object of the table, None if there is no such table or object."""
        if self.name is None or self.objects is None or what not in self.objects:
            return None
        return described(self.table, self.name, self.objects, what)


@dataclass(slots=True)
class Positions:
    """Which events are applied: all up to `last`, and beyond it those in `ahead`.

    `cuts` says behind which position a cut in `ahead` follows: no event lies between.
    """

    last: int = 0
    ahead: set[int] = field(default_factory=set)
    cuts: dict[int, int] = field(default_factory=dict)

    def newest(self) -> int:
        """Return the position of the newest event that is applied."""
        return max(self.ahead, default=self.last)

    def take(self, event: Event) -> bool:
        """Note that an event is applied now; False if it was before."""
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

    `dropped` are the dropped tables whose entries are kept for older readers, oldest first. Of the
    tables in `gone` there is no entry any more; all that is still heard of them is how the ids end
    that open txns hold. Only tests that show why a rule is needed bring entries of another kind.
    """

    positions: Positions = field(default_factory=Positions)
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
        """Return the entry of a table, one without objects if there was none."""
        found = self.entries.get(table)
        if found is None:
            found = self.entries[table] = self.blank(table)
        return found

    def adopt(self, entry: Entry) -> None:
        """Take an entry made elsewhere in the place of the one there is."""
        self.entries[entry.table] = entry
        self.rename(entry, frozenset())

    def rename(self, entry: Entry, before: frozenset[Name]) -> None:
        """Find an entry by the names it has now, and no more by those it only had before."""
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

    def resolve(self, wanted: Wanted) -> Entry | None:
        """Return the entry a reader means: by its id, else the last that took the name for it."""
        if wanted.table is not None or wanted.name is None:
            return self.entries.get(wanted.table or 0)
        key = name_key(*wanted.name)
        for table in self.names.takers(key):
            entry = self.entries[table]
            if entry.is_named(key, wanted.ids):
                return entry
        return None


def bootstrap(state: DomainState, blank: Callable[[int], Entry] = Entry) -> CacheState:
    """Return the cache of a domain's state, with the changes that wait in it."""
    cache = CacheState(Positions(state.position), blank=blank)
    for entry in entries_of(state, blank).values():
        cache.adopt(entry)
    cache.gone = gone_of(state)
    return cache


def apply(cache: CacheState, event: Event) -> frozenset[int]:
    """Apply an accepted event; return the tables whose entries have other objects or changes now.

    So do entries that are no more. Write ids that came and went are not worth telling.
    """
    position = event.control.position
    if not cache.positions.take(event):
        return frozenset()
    steps = [step for step in steps_of(event) if step.table and step.table not in cache.gone]
    fresh = [step for step in steps if position > cache.entry(step.table).since]
    return frozenset().union(*(apply_step(cache, position, step) for step in fresh))


def apply_step(cache: CacheState, position: int, step: Step) -> frozenset[int]:
    """Do to one entry what an event says of it; return the tables with other metadata now."""
    entry = cache.entry(step.table)
    match step:
        case Allocated():
            entry.ids.allocate(step.write_id, step.txn)
        case Ended(changes=0):
            entry.ids.end(step.write_id, step.txn, committed=step.committed)
        case Changed() | ChangedAtOnce() | Ended():
            before = entry.names()
            change_entry(entry, position, step)
            return tidy(cache, entry, before)
        case Forgotten():
            pass  # That an aborted id reads as committed from now on makes no difference here.
    return frozenset()


def change_entry(entry: Entry, position: int, step: Changed | ChangedAtOnce | Ended) -> None:
    """Do to an entry what changes its metadata, now or later."""
    match step:
        case Changed():
            entry.change(step.txn, step.write_id, step.number, step.effect)
        case ChangedAtOnce():
            entry.change_at_once(position, step.effect)
        case Ended(committed=True):
            entry.commit(step.txn, step.write_id, Commit(position, step.changes))
        case Ended():
            entry.abort(step.txn, step.write_id)
    entry.trim(VERSIONS_MAX)


def tidy(cache: CacheState, entry: Entry, before: frozenset[Name]) -> frozenset[int]:
    """Keep names and drops in step with an entry that was changed.

    Returns its table, and the one that was forgotten for it if any.
    """
    cache.rename(entry, before)
    if entry.is_void():
        cache.remove(entry.table)
    elif entry.is_dropped():
        cache.dropped[entry.table] = None
        if len(cache.dropped) > DROPS_REMEMBERED_MAX:
            gone = cache.dropped.popitem(last=False)[0]
            cache.remove(gone)
            return frozenset((entry.table, gone))
    return frozenset((entry.table,))


def read(cache: CacheState, wanted: Wanted) -> Answer:
    """Return what a reader sees, or why the store is to be asked.

    Its position is that of the cache, or of the store that the entry was filled from if that was
    ahead of the cache and still is.
    """
    return seen_in(cache, cache.resolve(wanted), wanted)


def seen_in(cache: CacheState, entry: Entry | None, wanted: Wanted) -> Answer:
    """Return what a reader sees in the entry it means, as `read` does."""
    position = cache.positions.last
    if entry is not None and entry.since > position:
        position = entry.since
    if position < wanted.token or (wanted.own_txn and not wanted.token):
        return Answer(None, "store", position, "token")
    if entry is None:
        return Answer(None, "store", position, "id_mismatch" if wanted.table else "absent")
    found = entry.find(wanted.what, wanted.ids, wanted.own_txn)
    if found.value is None:
        return Answer(None, "store", position, found.reason)
    if wanted.name not in (None, found.name) and not is_called(found.name, wanted.name):
        return Answer(None, "store", position, "id_mismatch")
    return Answer(found.value, "cache", max(position, found.position), found.reason)


def is_called(name: Name | None, wanted: Name) -> bool:
    """Tell whether a name is the wanted one; names differ by more than case, as in Hive."""
    return name is not None and name_key(*name) == name_key(*wanted)


def at_one_position(answers: list[Answer], position: int) -> list[Answer]:
    """Return answers less those that are ahead of a cache at `position`, if not all are as far."""
    if len({each.position for each in answers}) <= 1:
        return answers
    ahead = Answer(None, "store", position, "ahead_of_cache")
    return [ahead if each.position > position else each for each in answers]


def fill(cache: CacheState, wanted: Wanted, stored: Stored) -> bool:
    """Keep what the store answered to a miss; tell whether it was of use.

    It is not if it shows what only its txn sees, if it may still change, if nobody can say which
    ids of a managed table it shows, or if the cache has seen more of the log than the store: a
    cache never goes back. What is not current any more begins an entry if it is what the cache
    itself would tell now, so that the events to come follow it; else it is kept for exactly the
    same list.
    """
    if wanted.own_txn or not stored.is_settled or stored.position < cache.positions.newest():
        return False
    if stored.name is None or stored.objects is None:
        return False
    if wanted.ids is None and not is_external(stored.objects):
        return False
    entry, ids = cache.entry(stored.table), wanted.ids or NO_IDS
    position = stored.position if stored.is_current else as_of(cache, entry, wanted, stored)
    if entry.states is None and position and not entry.ids.lacks_committed(ids):
        before = entry.names()
        entry.load(position, ids, stored.name, stored.objects)
        cache.rename(entry, before)
        return True
    return wanted.ids is not None and entry.keep_exact(
        stored.position, ids, stored.name, stored.objects
    )


def as_of(cache: CacheState, entry: Entry, wanted: Wanted, stored: Stored) -> int:
    """Return up to where an entry knows the log if a reader sees just what has ended there, else 0.

    That is where the cache is, or where the store was from which the entry came. What takes effect
    at once may already be in an answer from a later position; a name tells.
    """
    if wanted.ids is None or cache.positions.ahead or entry.ids.first_unknown(wanted.ids):
        return 0
    assert stored.name is not None, "what is to be kept has a name"
    is_named = entry.is_named(name_key(*stored.name), wanted.ids)
    return max(cache.position, entry.loaded) if is_named and stored.position >= entry.loaded else 0


def evict(cache: CacheState, table: int) -> None:
    """Forget the objects of a table; its ids, names and what waits stay."""
    if table in cache.entries:
        cache.entries[table].evict()


def cut(cache: CacheState, table: int, floor: ReaderIds) -> int:
    """Drop the history of a table that only readers need who do not see all of `floor`.

    Returns how many versions went.
    """
    entry = cache.entries.get(table)
    if entry is None:
        return 0
    before = entry.names()
    gone = entry.cut(floor)
    cache.rename(entry, before)
    return gone
