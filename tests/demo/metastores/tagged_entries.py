"""Entries of either form of a cache that follow the log, and what both forms can do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from ledger.core.events.events import Event
from ledger.core.state.domain import DomainState
from ledger.log.port import Log
from ledger.reads.metadata import MetadataAnswer
from projections.cache.entries.bootstrap import bootstrap
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.rows import BYTES_MAX
from projections.cache.fold import CacheState
from projections.cache.following import FollowedEntries
from projections.cache.ports import EntryRead, StoreAnswer
from tests.demo.metastores.one_version import Tag, TaggedEntry


class CacheFold(Protocol):
    """A cache as a fold of the log, for one thread at a time."""

    @property
    def position(self) -> int:
        """The position up to which every event is applied."""

    @property
    def entries(self) -> Mapping[int, Any]:
        """The entries by table id."""

    def apply(self, event: Event) -> Iterable[int]:
        """Apply an accepted event, once; return the tables whose entries it may have changed."""

    def resolve(self, wanted: EntryRead) -> Any:
        """Return the entry that answers a read, None if it is not cached."""

    def seen_in(self, entry: Any, wanted: EntryRead) -> MetadataAnswer:
        """Return what the reader sees in its entry; without a value the store must answer."""

    def fill(self, wanted: EntryRead, stored: StoreAnswer) -> bool:
        """Keep the store's answer; return whether it was kept."""

    def evict(self, table: int) -> None:
        """Forget the objects of a table."""

    def size(self, table: int) -> int:
        """Return about how many bytes the objects of a table take, 0 if none are held."""

    def length(self, table: int) -> int:
        """Return how many versions of a table are held."""

    def aged(self) -> Sequence[int]:
        """Return the tables with history that a cut may drop."""

    def cut(self, table: int, floor: ReaderIds) -> int:
        """Drop history that only readers need that do not see all of `floor`; return its size."""

    def newest_reads(self, tables: Iterable[int]) -> Sequence[EntryRead]:
        """Return a read of each of the tables for the newest reader that its entry serves."""


class TaggedEntries(FollowedEntries):
    """Entries of either form that follow the log, and the readers that each entry is for."""

    def __init__(
        self,
        log: Log,
        *,
        bytes_max: int = BYTES_MAX,
        fold: Callable[[DomainState], CacheFold] = bootstrap,
    ) -> None:
        self._made = fold
        super().__init__(log, bytes_max=bytes_max)

    def _fold(self, state: DomainState) -> CacheState:
        return cast("CacheState", self._made(state))

    def apply(self, event: Event) -> None:
        """Apply the event of this process's own command, before the log brings it again."""
        with self._changed:
            self._take(event)
            self._changed.notify_all()

    def tag(self, table: int) -> Tag | None:
        """Return the ids that the entry of a table is for, None if it holds no objects."""
        with self._changed:
            entry = self._cache.entries.get(table)
            if isinstance(entry, TaggedEntry):
                return None if entry.objects is None else entry.tag()
            if entry is None or entry.states is None:
                return None
            return Tag(entry.ids.listed(), not entry.waiting)
