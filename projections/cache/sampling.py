"""The sampler of a metadata cache: compares it with the store, and drops unneeded history."""

from collections.abc import Callable, Mapping
from random import Random
from threading import Event as Signal
from threading import Lock
from typing import Final, NamedTuple

from ledger.errors import LedgerError
from ledger.reads.metadata import Metadata
from projections.cache.entries.ids import ReaderIds
from projections.cache.ports import Entries, EntryRead
from projections.cache.store import RowMetadataStore

COMPARE_TRIES: Final = 5
MISMATCHES_KEPT: Final = 100


class Mismatch(NamedTuple):
    """Different answers of cache and store for the same list."""

    wanted: EntryRead
    cached: Metadata | None
    stored: Metadata | None


class Comparison(NamedTuple):
    """How many tables were compared, and the differences between cache and store."""

    compared: int
    mismatches: list[Mismatch]


class Sampler:
    """Compares entries with their store and cuts their history, a few tables at a time.

    `check_store` raises SettingsError if the store is of another ledger. Threads may share it.

    Attributes:
        compared: how many tables were compared, without those where one side stayed ahead.
        mismatches: the last ones found; must stay empty. `mismatched` is their number.
        cut_versions: how many versions `tidy` dropped.
        problem: why the last round of `watch` failed, "" if it did not.
    """

    def __init__(
        self, entries: Entries, store: RowMetadataStore, check_store: Callable[[], None]
    ) -> None:
        self.compared = 0
        self.mismatches: list[Mismatch] = []
        self.mismatched = 0
        self.cut_versions = 0
        self.problem = ""
        self._entries = entries
        self._store = store
        self._check_store = check_store
        self._floors: Mapping[int, ReaderIds] = {}
        self._counting = Lock()

    def verify(self, tables: int = 10, source: Random | None = None) -> list[Mismatch]:
        """Compare cache and store for some of the held tables, and return the differences."""
        return self.compare(tables, source).mismatches

    def compare(self, tables: int = 10, source: Random | None = None) -> Comparison:
        """Compare cache and store for some of the held tables, at the newest list of each.

        Differences are also kept in `mismatches`. Only answers as of one position are compared.
        """
        self._check_store()
        held = self._entries.held()
        source = source or Random()  # noqa: S311 - which tables are compared is no secret
        chosen = source.sample(held, min(tables, len(held)))
        compared = [(read, both) for read in chosen if (both := self._both(read)) is not None]
        mismatches = [Mismatch(read, *both) for read, both in compared if both[0] != both[1]]
        with self._counting:
            self.compared += len(compared)
            self.mismatched += len(mismatches)
            self.mismatches += mismatches
            del self.mismatches[:-MISMATCHES_KEPT]
        return Comparison(len(compared), mismatches)

    def tidy(self, tables: int = 100, source: Random | None = None) -> int:
        """Drop history that no protected reader needs, of at most `tables` tables.

        That is the history behind the cleanup watermark of the last call, so that a reader without
        a txn keeps its list for a round. Returns how many versions were dropped.
        """
        self._check_store()
        gone = self._entries.cut(self._floors)
        with self._counting:
            self.cut_versions += gone
        aged = self._entries.aged()
        source = source or Random()  # noqa: S311 - which tables come first is no secret
        self._floors = self._store.floors(source.sample(aged, min(tables, len(aged))))
        return gone

    def watch(self, stop: Signal, every_s: float = 10.0) -> None:
        """Verify and tidy a few tables now and then until `stop` is set; for its own thread.

        If the store or the log is away, the next round tries again; see `problem`.
        """
        while not stop.wait(every_s):
            try:
                self.verify()
                self.tidy()
                self.problem = ""
            except LedgerError as error:
                self.problem = str(error)

    def _both(self, wanted: EntryRead) -> tuple[Metadata, Metadata | None] | None:
        """Return the answers of cache and store for one table, None if one of them is ahead."""
        for _ in range(COMPARE_TRIES):
            self._entries.advance(0.0)
            answer = self._entries.read_many([wanted])[0]
            stored = self._store.read_many([wanted])[0]
            if answer.value is None:
                return None
            if answer.position == stored.position:
                return answer.value, stored.value(wanted.what)
        return None
