"""The cache with one version per table: the rules of Hive's design page, strictly.

An entry carries the write ids it was made for, its tag, and serves a reader whose valid ids equal
the tag. A change of metadata overwrites the entry at once and adds its own id to the tag; until the
commit the entry serves no reader. After an abort the former state is lost. This is a fold of the
same steps as `fold`, for comparison with the page. A process that writes may apply its own event
before the log brings it: `apply` skips events that were applied before.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.core.events.events import Event
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import name_key
from ledger.reads.metadata import Metadata, MetadataAnswer, Name, Objects, Reason, described
from projections.cache.entries.bootstrap import entries_of, gone_of
from projections.cache.entries.entry import CommitMark, Entry, WaitingChanges, is_external
from projections.cache.entries.held import objects_bytes
from projections.cache.entries.ids import NO_IDS, IdStates, ReaderIds
from projections.cache.entries.steps import (
    Allocated,
    Changed,
    ChangedAtOnce,
    Effect,
    Ended,
    Forgotten,
    Step,
    steps_of,
)
from projections.cache.fold import AppliedPositions
from projections.cache.ports import EntryRead, StoreAnswer


class Tag(NamedTuple):
    """The readers that an entry serves: those of these ids once committed; None: without a list."""

    ids: ValidWriteIdList | None
    is_committed: bool


@dataclass(slots=True)
class TaggedEntry:
    """A table in the cache; `objects` is None if absent. The ids are kept even then.

    `overwritten` is the position of the last change, also if there were no objects to change: a
    late change counts, but overwrites nothing. Changes at once up to `loaded` are in the objects.
    """

    table: int
    ids: IdStates = field(default_factory=IdStates)
    since: int = 0
    name: Name | None = None
    objects: Objects | None = None
    overwritten: int = 0
    loaded: int = 0
    waiting: dict[int, WaitingChanges] = field(default_factory=dict)

    def tag(self) -> Tag:
        """Return the tag; ids whose changes overwrote the entry count as committed in it."""
        if is_external(self.objects):
            return Tag(None, is_committed=True)
        ids = IdStates(self.ids.hwm, dict(self.ids.open), dict(self.ids.aborted))
        for txn, waiting in self.waiting.items():
            if waiting.effect().objects is not None:
                ids.end(waiting.write_id, txn, committed=True)
        return Tag(ids.listed(), not self.waiting)

    def is_written_by(self, txn: int) -> bool:
        """Return whether an open txn has an id here, or a change; 0 stands for no txn."""
        return txn in self.waiting or bool(self.ids.id_of(txn))

    def value(self, what: str) -> Metadata | None:
        """Return one of the objects for any reader, None if absent."""
        if self.name is None or self.objects is None or what not in self.objects:
            return None
        return described(self.table, self.name, self.objects, what)

    def change(self, step: Changed, position: int) -> None:
        """Overwrite the entry with a waiting change; an absent entry stays absent."""
        effect = step.effect
        if self.ids.has_ended(step.write_id):
            return
        self.ids.allocate(step.write_id, step.txn)
        if self.objects is None and not effect.creates:
            self.overwritten = max(self.overwritten, position)
            return
        waiting = self.waiting.setdefault(step.txn, WaitingChanges(step.write_id))
        waiting.effects[step.number] = effect
        if effect.objects is not None and step.write_id and position > self.overwritten:
            self.objects, self.overwritten = effect.objects, position
            self.name = effect.name or self.name
        self._conclude(step.txn, waiting)

    def commit(self, step: Ended, position: int) -> None:
        """Commit a txn, or wait for the rest of the changes it covers."""
        if self.ids.has_ended(step.write_id):
            return
        is_missed = self.objects is None and step.txn not in self.waiting
        if not step.changes or is_missed:
            self.ids.end(step.write_id, step.txn, committed=True)
            return
        waiting = self.waiting.setdefault(step.txn, WaitingChanges(step.write_id))
        waiting.commit = CommitMark(position, step.changes)
        self._conclude(step.txn, waiting)

    def abort(self, step: Ended) -> None:
        """Abort a txn; if it overwrote the entry, the former state is lost."""
        waiting = self.waiting.pop(step.txn, None)
        self.ids.end(step.write_id, step.txn, committed=False)
        if waiting is not None and waiting.effect().objects is not None:
            self.evict()

    def change_at_once(self, effect: Effect, position: int) -> None:
        """Change the table outside a txn."""
        if self.objects is None and not effect.creates:
            self.overwritten = max(self.overwritten, position)
        elif position > self.loaded:
            self._become(effect, position)

    def evict(self) -> None:
        """Forget all but the ids."""
        self.name = self.objects = None
        self.waiting.clear()

    def load(self, position: int, ids: ReaderIds, name: Name, objects: Objects) -> None:
        """Begin anew with the store's objects at a position, tagged with the ids of a reader."""
        self.ids.settle(ids)
        self.waiting.clear()
        self.name, self.objects = name, objects
        self.loaded = position

    def refuses(self, ids: ReaderIds | None) -> Reason | None:
        """Return why a reader is not served, None if it is."""
        tag = self.tag()
        if tag.ids is None:
            return "incomparable" if ids is not None and ids != NO_IDS else None
        if ids is None:
            return "null_list"
        if not tag.is_committed:
            return "pending"
        own = ReaderIds.of(tag.ids)
        if ids == own:
            return None
        if ids.covers(own):
            return "ahead_of_cache"
        return "before_floor" if own.covers(ids) else "incomparable"

    def _conclude(self, txn: int, waiting: WaitingChanges) -> None:
        commit = waiting.commit
        if commit is None or len(waiting.effects) < commit.changes:
            return
        del self.waiting[txn]
        self.ids.end(waiting.write_id, txn, committed=True)
        if waiting.write_id or commit.position > self.loaded:
            self._become(waiting.effect(), commit.position)

    def _become(self, effect: Effect, position: int) -> None:
        """Make changes effective; in a managed table they overwrote the objects when they came."""
        if effect.drops:
            self.evict()
            return
        self.name = effect.name or self.name
        if effect.objects is not None and position > self.overwritten:
            self.objects = effect.objects
            self.overwritten = position


class OneVersionCache:
    """Entries with one version each, folded from the log or from a domain's state.

    `blank` makes entries of another kind only in tests that show why a rule is needed. Events about
    tables in `gone` are skipped, as in `fold`.
    """

    def __init__(
        self, position: int = 0, *, blank: Callable[[int], TaggedEntry] = TaggedEntry
    ) -> None:
        self.entries: dict[int, TaggedEntry] = {}
        self.positions = AppliedPositions(position)
        self.gone: set[int] = set()
        self._blank = blank

    def adopt(self, entry: Entry) -> None:
        """Begin with an entry made from a domain's state, with its waiting changes."""
        own = self.entries[entry.table] = self._blank(entry.table)
        own.ids, own.since = entry.ids, entry.since
        own.name = entry.name.content()
        own.objects = entry.states.content() if entry.states is not None else None
        for txn, waiting in entry.waiting.items():
            for number, effect in waiting.effects.items():
                step = Changed(entry.table, txn, waiting.write_id, number, effect)
                own.change(step, entry.since)

    @property
    def position(self) -> int:
        """The position up to which every event is applied."""
        return self.positions.last

    def begin(self, state: DomainState) -> None:
        """Begin with a domain's state, with its waiting changes."""
        for entry in entries_of(state).values():
            self.adopt(entry)
        self.gone = gone_of(state)

    def apply(self, event: Event) -> set[int]:
        """Apply an accepted event, once; return the tables that it may have changed."""
        position = event.control.position
        tables: set[int] = set()
        if not self.positions.take(event):
            return tables
        for step in steps_of(event):
            if isinstance(step, Changed | ChangedAtOnce | Ended):
                tables.add(step.table)
            for entry in self._concerned(step):
                if position > entry.since:
                    apply_step(entry, position, step)
        return tables

    def read(self, wanted: EntryRead) -> MetadataAnswer:
        """Return what a reader sees, or the reason why the store must answer."""
        return self.seen_in(self.resolve(wanted), wanted)

    def seen_in(self, entry: TaggedEntry | None, wanted: EntryRead) -> MetadataAnswer:
        """Return what a reader sees in an entry, as `read` does."""
        position = self.positions.last if entry is None else max(self.positions.last, entry.since)
        reason = self._refuses(wanted, entry, position)
        if reason is not None or entry is None:
            return MetadataAnswer(None, "store", position, reason or "absent")
        value = entry.value(wanted.what)
        if value is None:
            return MetadataAnswer(None, "store", position, "absent")
        return MetadataAnswer(value, "cache", max(position, entry.loaded), "hit")

    def fill(self, wanted: EntryRead, stored: StoreAnswer) -> bool:
        """Keep the store's answer; waiting changes are not overwritten.

        The conditions are those of `fold.fill`. An older answer must be for the ids that have ended
        here, or later events might belong before it.
        """
        ids = wanted.ids or NO_IDS
        is_behind = stored.position < self.positions.newest()
        if wanted.own_txn or is_behind or not stored.is_settled:
            return False
        if stored.name is None or stored.objects is None:
            return False
        if wanted.ids is None and not is_external(stored.objects):
            return False
        entry = self._entry(stored.table)
        waits = any(not ids.sees(each.write_id) for each in entry.waiting.values())
        if waits or entry.ids.lacks_committed(ids):
            return False
        is_unknown = self.positions.ahead or entry.ids.first_unknown(ids)
        if not stored.is_current and (is_unknown or stored.position < entry.loaded):
            return False
        # An entry that the store filled before holds as much of the log as the store did.
        known = max(self.positions.last, entry.loaded)
        position = stored.position if stored.is_current else known
        entry.load(position, ids, stored.name, stored.objects)
        return True

    def resolve(self, wanted: EntryRead) -> TaggedEntry | None:
        """Return the entry of a read, by its id or by its present name."""
        if wanted.table is not None or wanted.name is None:
            return self.entries.get(wanted.table or 0)
        named = (entry for entry in self.entries.values() if is_called(entry, wanted.name))
        return next(named, None)

    def evict(self, table: int) -> None:
        """Forget the objects of a table."""
        if table in self.entries:
            self.entries[table].evict()

    def size(self, table: int) -> int:
        """Return about how many bytes the objects of a table take, 0 if none are held."""
        entry = self.held(table)
        return 0 if entry is None else objects_bytes(entry.objects)

    def length(self, table: int) -> int:
        """Return how many versions of a table are held."""
        return int(self.held(table) is not None)

    def aged(self) -> list[int]:
        """Return no table: one version has no history."""
        return []

    def cut(self, table: int, floor: ReaderIds) -> int:  # noqa: ARG002
        """Drop nothing: one version has no history."""
        return 0

    def newest_reads(self, tables: Iterable[int]) -> list[EntryRead]:
        """Return a read of each of the tables for the readers that its entry serves."""
        tags = {table: entry.tag() for table in tables if (entry := self.held(table)) is not None}
        return [
            EntryRead(None, None if tag.ids is None else ReaderIds.of(tag.ids), table)
            for table, tag in tags.items()
            if tag.is_committed
        ]

    def held(self, table: int) -> TaggedEntry | None:
        """Return the entry of a table, None if it holds no objects."""
        entry = self.entries.get(table)
        return entry if entry is not None and entry.objects is not None else None

    def _entry(self, table: int) -> TaggedEntry:
        found = self.entries.get(table)
        if found is None:
            found = self.entries[table] = self._blank(table)
        return found

    def _concerned(self, step: Step) -> list[TaggedEntry]:
        if not step.table:
            return list(self.entries.values())
        return [] if step.table in self.gone else [self._entry(step.table)]

    def _refuses(
        self, wanted: EntryRead, entry: TaggedEntry | None, position: int
    ) -> Reason | None:
        if position < wanted.token:
            return "token"
        if wanted.own_txn and not wanted.token:
            return "pending"
        if entry is None or entry.objects is None:
            return "absent"
        if entry.is_written_by(wanted.own_txn):
            return "pending"
        if wanted.name is not None and not is_called(entry, wanted.name):
            return "id_mismatch"
        return entry.refuses(wanted.ids)


def apply_step(entry: TaggedEntry, position: int, step: Step) -> None:
    """Apply one step of an event to its entry."""
    match step:
        case Allocated():
            entry.ids.allocate(step.write_id, step.txn)
        case Changed():
            entry.change(step, position)
        case ChangedAtOnce():
            entry.change_at_once(step.effect, position)
        case Ended(committed=True):
            entry.commit(step, position)
        case Ended():
            entry.abort(step)
        case Forgotten():
            entry.ids.forget(step.txn)


def is_called(entry: TaggedEntry, name: Name) -> bool:
    return entry.name is not None and name_key(*entry.name) == name_key(*name)


def bootstrap(
    state: DomainState, blank: Callable[[int], TaggedEntry] = TaggedEntry
) -> OneVersionCache:
    """Return the cache of a domain's state, with its waiting changes."""
    cache = OneVersionCache(state.position, blank=blank)
    cache.begin(state)
    return cache


class OneVersion(OneVersionCache):
    """The form that follows the log: as on the page, only the log brings an entry up to date.

    A miss starts an entry only if the table has no entry, so a reader ahead of the log does not
    move the entry ahead for all others.
    """

    def __init__(self, state: DomainState) -> None:
        super().__init__(state.position)
        self.begin(state)

    def fill(self, wanted: EntryRead, stored: StoreAnswer) -> bool:
        """Keep what the store answered, if nothing is held."""
        return self.held(stored.table) is None and super().fill(wanted, stored)
