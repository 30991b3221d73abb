"""The entry of one table: its versions, waiting changes, and the readers that it can answer.

An entry is exact. If every id valid in a reader's list has ended as far as the entry knows, then
all changes under these ids are in it, for a commit says how many changes it covers and counts only
once they are all there. So the newest version the reader sees is the one the ledger itself would
return. A read without an answer gets the reason; absence is never an answer.

Events may come late, twice or out of order.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.state.tables import name_key
from ledger.reads.metadata import TABLE, Metadata, Name, Objects, Reason, Value, described
from projections.cache.entries.chain import Chain, Version
from projections.cache.entries.ids import NO_IDS, IdStates, ReaderIds, lowered
from projections.cache.entries.steps import Effect, combined, shared


class CommitMark(NamedTuple):
    """The commit of a txn: its position, and how many changes of one table it covers."""

    position: int
    changes: int


@dataclass(slots=True)
class WaitingChanges:
    """The changes of one txn to one table, by their number, and its commit once that has come."""

    write_id: int
    effects: dict[int, Effect] = field(default_factory=dict)
    commit: CommitMark | None = None

    def effect(self) -> Effect:
        """Return the joint effect of the changes."""
        return combined(self.effects[number] for number in sorted(self.effects))


class Exact(NamedTuple):
    """The whole table as the store returned it for one list, at a position of its own."""

    position: int
    name: Name
    objects: Objects


class Weighed(NamedTuple):
    """An object that is held, and about how many bytes it takes.

    It is found by its identity, which is unique while the object is held.
    """

    value: Value
    size: int


EXACT_MAX: Final = 16


class Found(NamedTuple):
    """The answer of an entry, and the name of the table; value None means no answer from here.

    `position` is the position of the store that filled the entry, 0 if none did.
    """

    value: Metadata | None
    reason: Reason
    name: Name | None = None
    position: int = 0


@dataclass(slots=True)
class Entry:
    """A table in a cache; `states` are its objects, None if evicted or never loaded.

    Ids, names and waiting changes stay when objects are evicted. The entry holds all events up to
    position `since`, and changes at once up to `loaded`. The state before the ids of `floor` ended
    is not held, so a reader must see them all. `has_missed`: changes came while there were no
    objects, so events alone cannot restore the objects.
    """

    table: int
    ids: IdStates = field(default_factory=IdStates)
    floor: ReaderIds = NO_IDS
    since: int = 0
    loaded: int = 0
    name: Chain[Name] = field(default_factory=Chain)
    states: Chain[Objects] | None = None
    waiting: dict[int, WaitingChanges] = field(default_factory=dict)
    exact: dict[ReaderIds, Exact] = field(default_factory=dict)
    is_trimmed: bool = False
    has_missed: bool = False
    # Only for accounting: the objects whose bytes were counted.
    weighed: dict[int, Weighed] = field(default_factory=dict, compare=False, repr=False)

    def change(self, txn: int, write_id: int, number: int, effect: Effect) -> None:
        """Keep a change until its txn ends; one whose id has ended here is held already."""
        if self.ids.has_ended(write_id):
            return
        self.ids.allocate(write_id, txn)
        waiting = self.waiting.setdefault(txn, WaitingChanges(write_id))
        waiting.effects[number] = effect
        self._begin(effect)
        self._conclude(txn, waiting)

    def commit(self, txn: int, write_id: int, commit: CommitMark) -> None:
        """Make a txn visible here, or as soon as all changes it covers have come."""
        if self.ids.has_ended(write_id):
            return
        if not commit.changes:
            self.ids.end(write_id, txn, committed=True)
            return
        self.ids.allocate(write_id, txn)
        waiting = self.waiting.setdefault(txn, WaitingChanges(write_id))
        waiting.commit = commit
        self._conclude(txn, waiting)

    def abort(self, txn: int, write_id: int) -> None:
        """Drop the changes of a txn."""
        self.waiting.pop(txn, None)
        self.ids.end(write_id, txn, committed=False)

    def change_at_once(self, position: int, effect: Effect) -> None:
        """Change the table for every reader."""
        self.exact.clear()
        self._add(position, 0, effect)

    def load(self, position: int, ids: ReaderIds, name: Name, objects: Objects) -> None:
        """Begin anew with the state for readers of `ids`, all that is committed at `position`.

        The ids count as ended from now on, so their events that still come are skipped.
        """
        self.floor, self.loaded = ids, position
        self.is_trimmed = self.has_missed = False
        self.ids.settle(ids)
        for txn in [
            txn for txn, waits in self.waiting.items() if self.ids.has_ended(waits.write_id)
        ]:
            del self.waiting[txn]
        self.name = Chain([Version(0, 0, name)])
        self.states = Chain([Version(0, 0, objects)])

    def keep_exact(self, position: int, ids: ReaderIds, name: Name, objects: Objects) -> bool:
        """Keep the store's answer for one list that the versions here cannot answer."""
        self.exact[ids] = Exact(position, name, objects)
        if len(self.exact) > EXACT_MAX:
            del self.exact[next(iter(self.exact))]
        return True

    def evict(self) -> None:
        """Drop the objects; ids, names and waiting changes stay."""
        self.states = None
        self.has_missed = True
        self.exact.clear()
        self.weighed.clear()

    def trim(self, most: int) -> None:
        """Keep at most `most` versions; readers that see none of them get no answer any more."""
        names, states = self.name.trim(most), self.states is not None and self.states.trim(most)
        self.is_trimmed = self.is_trimmed or names or states

    def cut(self, floor: ReaderIds) -> int:
        """Drop the history that only readers need that do not see all of `floor`; return its size.

        Such readers get no answer any more, even if no version was dropped. An aborted id that a
        floor shows as valid left no data, and lists no longer name it: it is dropped too, whether
        or not a reader sees it.
        """
        left = tuple(sorted({*floor.exceptions, *filter(floor.sees, self.ids.aborted)}))
        self.floor = self.floor.joined(lowered(floor.hwm, left))
        before = self.length()
        names = self.name.cut(floor)
        states = self.states is not None and self.states.cut(floor)
        self.is_trimmed = self.is_trimmed or names or states
        self.ids.clean(floor)
        return before - self.length()

    def length(self) -> int:
        """Return how many versions are held."""
        return 0 if self.states is None else len(self.states.versions)

    def names(self) -> frozenset[Name]:
        """Return all names under which some reader may find the table."""
        held = (version.content for version in self.name.versions)
        return frozenset(name_key(*name) for name in held if name is not None)

    def is_named(self, key: Name, ids: ReaderIds | None) -> bool:
        """Return whether the table has a name for a reader."""
        version = self.name.newest(ids)
        if version is None or version.content is None:
            return False
        return version.content == key or name_key(*version.content) == key

    def is_dropped(self) -> bool:
        """Return whether the last version of its name is a drop."""
        return bool(self.name.versions) and self.name.content() is None

    def is_void(self) -> bool:
        """Return whether the table was never committed."""
        is_empty = self.states is not None and not self.states.versions
        return is_empty and not self.name.versions and not self.waiting

    def find(self, what: str, ids: ReaderIds | None, own_txn: int) -> Found:
        """Return what a reader sees of an object; ids None: it has no list, `own_txn` 0: no txn."""
        if self.states is None:
            return self._find_exact(what, ids, own_txn, "absent")
        reason = self.refuses(ids, own_txn, self.states)
        if reason is not None:
            return self._find_exact(what, ids, own_txn, reason)
        names, states = self.name.newest(ids), self.states.newest(ids)
        name, objects = names and names.content, states and states.content
        is_gone = names is not None and names.content is None
        if own_txn in self.waiting:
            own = self.waiting[own_txn].effect()
            name, objects = own.name or name, own.objects or objects
            is_gone = own.drops or is_gone
        if is_gone or not name or not objects or what not in objects:
            return Found(None, "before_floor" if self.is_trimmed else "absent")
        is_newest = names is self.name.last() and states is self.states.last()
        value = described(self.table, name, objects, what)
        return Found(value, "hit" if is_newest else "hit_old_version", name, self.loaded)

    def refuses(self, ids: ReaderIds | None, own_txn: int, states: Chain[Objects]) -> Reason | None:
        """Return why a reader cannot be answered from the versions, None if it can."""
        takes_list = not is_external(states.content())
        if ids is None:
            return "null_list" if takes_list else None
        if not takes_list and ids != NO_IDS:
            return "incomparable"
        if own_txn in self.waiting and self.waiting[own_txn].commit is not None:
            return "pending"
        others = ids.without(self.ids.id_of(own_txn)) if own_txn else ids
        unknown = self.ids.first_unknown(others)
        if not unknown:
            covers = self.floor is NO_IDS or ids.covers(self.floor)
            return None if covers else "before_floor"
        if not own_txn and self.ids.lacks_committed(ids):
            return "incomparable"
        return "pending" if self.ids.open.get(unknown) in self.waiting else "ahead_of_cache"

    def _find_exact(self, what: str, ids: ReaderIds | None, own_txn: int, reason: Reason) -> Found:
        """Return the answer kept for exactly these ids, or none with the given reason."""
        exact = self.exact.get(ids) if ids is not None and not own_txn else None
        if exact is None or what not in exact.objects:
            return Found(None, reason)
        value = described(self.table, exact.name, exact.objects, what)
        return Found(value, "hit", exact.name, exact.position)

    def _conclude(self, txn: int, waiting: WaitingChanges) -> None:
        commit = waiting.commit
        if commit is None or len(waiting.effects) < commit.changes:
            return
        del self.waiting[txn]
        self._add(commit.position, waiting.write_id, waiting.effect())
        self.ids.end(waiting.write_id, txn, committed=True)

    def _add(self, position: int, write_id: int, effect: Effect) -> None:
        """Add the effect of changes; an effect that all readers see may have been loaded before."""
        if not write_id and position <= self.loaded:
            return
        self._begin(effect)
        if effect.name is not None or effect.drops:
            name = None if effect.drops else effect.name
            self.name.put(Version(position, write_id, name))
        if self.states is None:
            self.has_missed = True
        elif effect.objects is not None or effect.drops:
            last = self.states.content()
            objects = None if effect.drops else shared(effect.objects, last)
            self.states.put(Version(position, write_id, objects))

    def _begin(self, effect: Effect) -> None:
        """Begin with the creation, if no later change was missed."""
        if effect.creates and self.states is None and not self.has_missed:
            self.states = Chain()


def is_external(objects: Objects | None) -> bool:
    """Return whether a table has no write ids, so that its readers have no list."""
    definition = (objects or {}).get(TABLE)
    return isinstance(definition, TableDefinition) and definition.kind != "managed"
