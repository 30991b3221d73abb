"""A domain and its rows: what tests of projections and of queries look at."""

from hypothesis import HealthCheck, settings

from ledger.core.events.parts import Limits
from ledger.core.limits import DEFAULT_LIMITS
from ledger.log.port import Log
from projections.cache.topic.publishing import CacheFeed, PublishingStore
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from projections.store.port import RowReader, RowStore
from tests.driver import LEDGER, Driver

# Each example is a whole history, so few say much, and a busy machine is no finding.
PATIENT = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Followed(Driver):
    """A driver with a store that follows it: `rows` and `reads` are as of the newest event.

    `reader` shows what is written into `store`; with neither given, both are one in memory. After
    `publish` the rows of metadata also go to the cache topic.
    """

    def __init__(
        self,
        store: RowStore | None = None,
        reader: RowReader | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        ledger: str = LEDGER,
    ) -> None:
        super().__init__(limits=limits, ledger=ledger)
        self.store = store or MemoryStore()
        self.reader = reader or self.store
        self.fold = Fold.load(self.store, self.log)

    def follow(self) -> None:
        """Store the rows of every event."""
        self.fold.feed(self.records[self.fold.offset :])

    def publish(self) -> None:
        """Publish what is stored, from now on."""
        feed = CacheFeed(self.log, self.store)
        feed.start()
        self.fold = Fold.load(PublishingStore(self.store, feed), self.log)

    @property
    def rows(self) -> RowReader:
        self.follow()
        self.reader.refresh()
        return self.reader

    @property
    def reads(self) -> StoreReads:
        """Reads of the rows of every event."""
        return StoreReads(self.rows)


def rows_of(driver: Driver, *, log: Log | None = None) -> MemoryStore:
    """Return a new store with the rows of a driver's log, or of another that holds the same."""
    store = MemoryStore()
    Fold.load(store, log or driver.log).feed(driver.records)
    return store
