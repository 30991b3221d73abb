"""The folds of the log that entries may be fed with: several versions for each table, or one.

Both begin with a domain's state and take the same events in the same order. `following` reads the
log, bounds the bytes and serves threads, for either fold.
"""

from collections.abc import Iterable
from typing import Protocol

from ledger.core.events.events import Event
from ledger.core.state.domain import DomainState
from ledger.reads.metadata import MetadataAnswer
from projections.cache import fold, one_version
from projections.cache.fold import Stored, Wanted
from projections.cache.ids import ReaderIds
from projections.cache.one_version import Tag, TaggedEntry
from projections.cache.source import entry_bytes, newest_reads, objects_bytes
from projections.cache.steps import Changed, ChangedAtOnce, Ended, steps_of


class CacheFold(Protocol):
    """A cache as a fold of the log; one thread at a time."""

    @property
    def position(self) -> int:
        """The position up to which every event is applied."""
        ...

    def apply(self, event: Event) -> Iterable[int]:
        """Apply an accepted event, once; return the tables whose entries it may have changed."""
        ...

    def read(self, wanted: Wanted) -> tuple[int, MetadataAnswer]:
        """Return the table of a read, 0 if unknown, and what the reader sees of it.

        An answer without a value holds the reason why the store must answer.
        """
        ...

    def fill(self, wanted: Wanted, found: Stored) -> bool:
        """Keep the store's answer; return whether it was kept."""
        ...

    def evict(self, table: int) -> None:
        """Forget the objects of a table."""
        ...

    def tables(self) -> Iterable[int]:
        """Return the tables that have entries."""
        ...

    def size(self, table: int) -> int:
        """Return about how many bytes the objects of a table take, 0 if none are held."""
        ...

    def length(self, table: int) -> int:
        """Return how many versions of a table are held."""
        ...

    def is_aged(self, table: int) -> bool:
        """Return whether a cut may drop history of a table."""
        ...

    def cut(self, table: int, floor: ReaderIds) -> int:
        """Drop history that only readers need that do not see all of `floor`; return its size."""
        ...

    def newest_reads(self, tables: Iterable[int]) -> list[Wanted]:
        """Return a read of each of the tables for a reader that sees all that is committed."""
        ...

    def tag(self, table: int) -> Tag | None:
        """Return the ids that the entry of a table is for, None if it holds no objects."""
        ...


class ManyVersions(CacheFold):
    """The cache that keeps the versions that readers' lists show."""

    def __init__(self, state: DomainState) -> None:
        self._cache = fold.bootstrap(state)

    @property
    def position(self) -> int:
        return self._cache.position

    def apply(self, event: Event) -> Iterable[int]:
        return fold.apply(self._cache, event)

    def read(self, wanted: Wanted) -> tuple[int, MetadataAnswer]:
        """Return the table that a reader means, and what it sees of it."""
        entry = self._cache.resolve(wanted)
        answer = fold.seen_in(self._cache, entry, wanted)
        return (entry.table if entry is not None else 0), answer

    def fill(self, wanted: Wanted, found: Stored) -> bool:
        return fold.fill(self._cache, wanted, found)

    def evict(self, table: int) -> None:
        fold.evict(self._cache, table)

    def tables(self) -> Iterable[int]:
        return self._cache.entries

    def size(self, table: int) -> int:
        entry = self._cache.entries.get(table)
        return entry_bytes(entry) if entry is not None else 0

    def length(self, table: int) -> int:
        entry = self._cache.entries.get(table)
        return entry.length() if entry is not None else 0

    def is_aged(self, table: int) -> bool:
        """Return whether a table has older versions, or aborted ids."""
        entry = self._cache.entries.get(table)
        return entry is not None and (entry.length() > 1 or bool(entry.ids.aborted))

    def cut(self, table: int, floor: ReaderIds) -> int:
        return fold.cut(self._cache, table, floor)

    def newest_reads(self, tables: Iterable[int]) -> list[Wanted]:
        return newest_reads(self._cache, tables)

    def tag(self, table: int) -> Tag | None:
        entry = self._cache.entries.get(table)
        if entry is None or entry.states is None:
            return None
        return Tag(entry.ids.listed(), not entry.waiting)


class OneVersion(CacheFold):
    """The cache of Hive's design page, strictly: see `one_version`.

    As on the page, only the log brings an entry up to date. A miss starts an entry only if the
    table has no entry, so a reader ahead of the log does not move the entry ahead for all others.
    """

    def __init__(self, state: DomainState) -> None:
        self._cache = one_version.bootstrap(state)

    @property
    def position(self) -> int:
        return self._cache.positions.last

    def apply(self, event: Event) -> Iterable[int]:
        self._cache.apply(event)
        about = (
            each for each in steps_of(event) if isinstance(each, Changed | ChangedAtOnce | Ended)
        )
        return {each.table for each in about}

    def read(self, wanted: Wanted) -> tuple[int, MetadataAnswer]:
        """Return the table that a reader means, and what it sees of it."""
        entry = self._cache.resolve(wanted)
        return (entry.table if entry is not None else 0), self._cache.read(wanted)

    def fill(self, wanted: Wanted, found: Stored) -> bool:
        """Keep what the store answered, if nothing is held."""
        return self._held(found.table) is None and self._cache.fill(wanted, found)

    def evict(self, table: int) -> None:
        self._cache.entries[table].evict()

    def tables(self) -> Iterable[int]:
        return self._cache.entries

    def size(self, table: int) -> int:
        entry = self._held(table)
        return objects_bytes(entry.objects) if entry is not None else 0

    def length(self, table: int) -> int:
        return int(self._held(table) is not None)

    def is_aged(self, table: int) -> bool:  # noqa: ARG002
        """Return False: one version has no history."""
        return False

    def cut(self, table: int, floor: ReaderIds) -> int:  # noqa: ARG002
        """Drop nothing: one version has no history."""
        return 0

    def newest_reads(self, tables: Iterable[int]) -> list[Wanted]:
        """Return a read of each of the tables for the readers that its entry serves."""
        tags = {table: self.tag(table) for table in tables}
        return [
            Wanted(None, None if tag.ids is None else ReaderIds.of(tag.ids), table)
            for table, tag in tags.items()
            if tag is not None and tag.is_committed
        ]

    def tag(self, table: int) -> Tag | None:
        """Return the readers that the entry of a table serves, None if it holds no objects."""
        entry = self._held(table)
        return entry.tag() if entry is not None else None

    def _held(self, table: int) -> TaggedEntry | None:
        entry = self._cache.entries.get(table)
        return entry if entry is not None and entry.objects is not None else None
