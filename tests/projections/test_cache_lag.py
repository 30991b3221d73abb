"""A cache that is behind its store: how old an answer may be, and who waits for a newer one."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from ledger.reads.metadata import Bounds, Read
from projections.cache.entries.rows import RowEntries
from projections.cache.ports import EntryRead, StoreAnswer
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from projections.fold.fold import Fold
from projections.store.memory import MemoryStore
from tests.conformance.case_ledger import ManualClock
from tests.driver import CATALOG
from tests.projections.cached import Cached, listed, location, made
from tests.projections.followed import Followed

LONG_MS = 30_000


class Lagging:
    """A cache over rows that stand still, and a store whose rows go on."""

    def __init__(self) -> None:
        self.ahead = Followed()
        self.session = self.ahead.open_session()
        self.table = self.ahead.create_table(self.session, "x", made=made("x0", "external"))
        self.rows = MemoryStore()
        self.fold = Fold.load(self.rows, self.ahead.log)
        self.fold.feed(self.ahead.records)
        self.clock = ManualClock()
        self.clock.elapsed_s = (self.ahead.now - self.clock.now_ms()) / 1000
        entries, store = RowEntries(self.rows.reader()), RowMetadataStore(self.ahead.reader)
        self.cache = MetadataCache(entries, store, CATALOG, clock=self.clock)

    def alter(self, word: str) -> int:
        changed = self.ahead.alter_table(self.session, self.table, made(word, "external"), "ALTER")
        self.ahead.follow()
        return changed.control.position


@pytest.fixture
def lagging() -> Lagging:
    """Return a cache that is one change behind its store."""
    found = Lagging()
    found.alter("x1")
    return found


def test_an_external_table_may_be_old(lagging: Lagging) -> None:
    assert location(lagging.cache.read("x", None)) == "x0"


def test_an_external_table_is_not_old_for_long(in_memory: Followed) -> None:
    cached = Cached(in_memory, RowEntries(in_memory.reader, refresh_s=0.0), ManualClock())
    table = in_memory.create_table(cached.session, "x", made=made("x0", "external"))
    cached.catch_up()
    before = cached.cache.read("x", None)
    in_memory.alter_table(cached.session, table, made("x1", "external"), "ALTER")
    in_memory.follow()

    assert (location(before), location(cached.cache.read("x", None))) == ("x0", "x1")


@pytest.mark.parametrize(("age_ms", "found"), [(900, "x0"), (1_500, "x1")])
def test_entries_older_than_the_bound_give_way(lagging: Lagging, age_ms: int, found: str) -> None:
    lagging.clock.elapsed_s += age_ms / 1000

    answer = lagging.cache.read("x", None, max_lag_ms=1_000, max_wait_ms=10)

    assert location(answer) == found


def test_the_latest_is_waited_for(lagging: Lagging) -> None:
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lagging.cache.read, "x", None, policy="latest", max_wait_ms=LONG_MS)
        lagging.fold.feed(lagging.ahead.records[lagging.fold.offset :])

        assert location(reading.result(LONG_MS / 1000)) == "x1"


def test_the_store_answers_who_does_not_wait(lagging: Lagging) -> None:
    token = lagging.alter("x2")

    answer = lagging.cache.read("x", None, token=token, max_wait_ms=0)

    assert (location(answer), answer.source, answer.reason) == ("x2", "store", "token")


class Coming(RowMetadataStore):
    """A store that hears of what was written since as soon as it has been asked."""

    def __init__(self, domain: Followed) -> None:
        super().__init__(domain.reader)
        self._domain = domain

    def read_many(self, wanted: Sequence[EntryRead]) -> list[StoreAnswer]:
        found = super().read_many(wanted)
        self._domain.follow()
        return found


def test_the_store_is_waited_for(in_memory: Followed) -> None:
    session = in_memory.open_session()
    table = in_memory.create_table(session, "t", made=made("v0"))
    in_memory.follow()
    in_memory.alter_table(session, table, made("v1"), "ALTER")
    cache = MetadataCache(RowEntries(in_memory.reader), Coming(in_memory), CATALOG)

    reads = [Read("none", None), Read(table, listed("1:"))]
    none, found = cache.metadata(reads, Bounds(max_wait_ms=LONG_MS))

    assert (none.value, none.reason, cache.waits.count) == (None, "absent", 0)
    assert (location(found), found.source) == ("v1", "store")
    assert found.position == in_memory.head.position
