"""What a cache that follows the log keeps of answers of a store that is ahead of it, or behind."""

from collections.abc import Callable
from contextlib import closing
from copy import deepcopy

import pytest

from ledger.core.commands import TableKind
from ledger.core.state.domain import DomainState
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.reads.metadata import Bounds, MetadataAnswer, Read
from projections.cache.entries.bootstrap import bootstrap
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.rows_as_entries import store_answer
from projections.cache.ports import EntryRead
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from tests.demo.metastores import one_version
from tests.demo.metastores.one_version import OneVersion, OneVersionCache
from tests.demo.metastores.tagged_entries import CacheFold, TaggedEntries
from tests.driver import CATALOG
from tests.projections.cached import listed, location, made
from tests.projections.followed import Followed

Begin = Callable[[DomainState], CacheFold]

FOLDS = pytest.mark.parametrize("fold", [bootstrap, OneVersion])


def by_list(table: int, ids: str | None) -> EntryRead:
    """Return a read of a table by the list `hwm:open ids`, or without one."""
    written = listed(ids)
    return EntryRead(None, None if written is None else ReaderIds.of(written), table)


def read(cache: CacheFold, wanted: EntryRead) -> MetadataAnswer:
    return cache.seen_in(cache.resolve(wanted), wanted)


class Behind(MemoryLog):
    """A log as a cache gets it: what a domain appended, once it is told so."""

    def __init__(self, domain: Followed) -> None:
        super().__init__()
        self._domain = domain
        self._brought = 0
        self.bring()

    def bring(self) -> int:
        """Bring what was appended since; return the position of the domain."""
        writer = self.writer(Topic.EVENTS)
        for record in self._domain.records[self._brought :]:
            writer.append(CATALOG.encode(), record.value)
        self._brought = len(self._domain.records)
        return self._domain.head.position


@FOLDS
def test_what_is_seen_without_a_list_is_not_kept_of_a_managed_table(fold: Begin) -> None:
    """Nobody can say which ids such an answer shows, so no reader's list may find it."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    cache = fold(domain.state)
    cache.evict(table)
    domain.alter_table(session, table, made("v1"), "ALTER")

    kept = cache.fill(by_list(table, None), store_answer(domain.rows, by_list(table, None)))

    assert not kept
    assert location(read(cache, by_list(table, "0:"))) is None


@FOLDS
def test_several_tables_are_not_read_at_several_positions(fold: Begin) -> None:
    """What was filled from a store that is ahead waits till the cache has come that far."""
    domain = Followed()
    session = domain.open_session()
    first = domain.create_table(session, "x", kind="external", made=made("x0", "external"))
    log = Behind(domain)
    entries = TaggedEntries(log, fold=fold).start()
    domain.alter_table(session, first, made("x1", "external"), "ALTER")
    second = domain.create_table(session, "y", kind="external", made=made("y0", "external"))
    reads = [Read(first, None), Read(second, None)]
    with closing(MetadataCache(entries, RowMetadataStore(domain.rows), CATALOG)) as cache:
        while entries.is_loading():
            entries.advance(1.0)
        filled = [cache.read(second, None) for _ in range(2)]
        behind = cache.metadata(reads, Bounds(max_wait_ms=0))
        reached = log.bring()
        while entries.position() < reached:
            entries.advance(1.0)
        there = cache.metadata(reads)

    assert [(location(each), each.source) for each in filled] == [("y0", "store"), ("y0", "cache")]
    assert {each.position for each in (*filled, *behind, *there)} == {reached}
    assert [(location(each), each.source) for each in behind] == [("x1", "store"), ("y0", "store")]
    assert [(location(each), each.source) for each in there] == [("x1", "cache"), ("y0", "cache")]


@FOLDS
def test_a_store_behind_what_was_applied_ahead_fills_nothing(fold: Begin) -> None:
    """Who applies its own event before those of others does not lose it with the table's entry."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "x", kind="external", made=made("x0", "external"))
    cache, reader = fold(deepcopy(domain.state)), by_list(table, None)
    old = store_answer(domain.rows, reader)
    domain.open_session()
    cache.apply(domain.alter_table(session, table, made("x1", "external"), "ALTER"))
    cache.evict(table)

    kept = [cache.fill(reader, found) for found in (old, store_answer(domain.rows, reader))]
    for event in domain.events:
        cache.apply(event)

    assert kept == [False, True]
    assert location(read(cache, reader)) == "x1"


@FOLDS
def test_nothing_is_told_of_a_table_that_is_not_held(fold: Begin) -> None:
    domain = Followed()
    table = domain.create_table(domain.open_session(), "t", made=made("v0"))
    cache = fold(domain.state)
    cache.evict(table)

    entries = [cache.resolve(by_list(each, "0:")) for each in (table, 9)]

    assert [entry and entry.table for entry in entries] == [table, None]
    for each in (table, 9):
        assert (cache.size(each), cache.length(each)) == (0, 0)
    assert cache.aged() == []
    assert cache.newest_reads([table, 9]) == []


class Evicted:
    """A cache that knows a table as `v0` and was made to forget it; the store goes on."""

    def __init__(self, fold: Begin) -> None:
        self.domain = Followed()
        self.session = self.domain.open_session()
        self.table = self.domain.create_table(self.session, "t", made=made("v0"))
        self.cache = fold(deepcopy(self.domain.state))
        self.cache.evict(self.table)

    def alter(self, word: str) -> None:
        self.domain.alter_table(self.session, self.table, made(word), "ALTER")

    def fill(self, ids: str) -> bool:
        """Let the cache keep what the store says to a list."""
        reader = by_list(self.table, ids)
        return self.cache.fill(reader, store_answer(self.domain.rows, reader))

    def catch_up(self) -> None:
        for event in self.domain.events:
            self.cache.apply(event)

    def read(self, ids: str) -> str | None:
        """Return where the table lies for a list, None if the cache does not tell."""
        return location(read(self.cache, by_list(self.table, ids)))


@FOLDS
def test_what_a_cache_behind_would_tell_itself_begins_an_entry(fold: Begin) -> None:
    """A reader as far as the cache brings back what was evicted, and the events go on from it."""
    it = Evicted(fold)
    it.alter("v1")
    kept = it.fill("0:"), it.read("0:")
    it.alter("v2")
    it.catch_up()

    assert kept == (True, "v0")
    assert it.read("2:") == "v2"
    assert it.read("1:") == ("v1" if fold is bootstrap else None)


@FOLDS
def test_what_came_from_the_store_is_not_older_for_coming_again(fold: Begin) -> None:
    """What the store told of a table is known, though the log has yet to bring its creation."""
    domain = Followed()
    session = domain.open_session()
    cache = fold(deepcopy(domain.state))
    table = domain.create_table(session, "t", made=made("v0"))
    domain.alter_table(session, table, made("v1"), "ALTER")
    behind, reader = list(domain.events), by_list(table, "1:")
    kept = [cache.fill(reader, store_answer(domain.rows, reader))]
    cache.evict(table)
    domain.alter_table(session, table, made("v2"), "ALTER")
    kept.append(cache.fill(reader, store_answer(domain.rows, reader)))
    for event in behind:
        cache.apply(event)

    assert (kept, location(read(cache, reader))) == ([True, True], "v1")


@FOLDS
@pytest.mark.parametrize("ids", ["1:", "2:1"])
def test_what_a_cache_behind_could_not_tell_begins_no_entry(fold: Begin, ids: str) -> None:
    """Beyond what has ended for the cache nobody can say which changes come before an answer."""
    it = Evicted(fold)
    for word in ("v1", "v2", "v3"):
        it.alter(word)
    it.fill(ids)
    it.catch_up()

    assert it.read("3:") is None


@FOLDS
def test_a_cache_with_events_ahead_begins_no_entry_behind(fold: Begin) -> None:
    """Which ids have ended at one position is not known while events before others are missing."""
    it = Evicted(fold)
    it.domain.open_session()
    it.alter("v1")
    it.cache.apply(it.domain.events[-1])
    it.alter("v2")
    it.fill("1:")
    it.catch_up()

    assert it.read("2:") is None


def test_a_name_from_later_begins_no_entry() -> None:
    """A new name that all readers see at once stands in the store's answer to an old list too."""
    it = Evicted(bootstrap)
    it.alter("v1")
    it.domain.rename_table(it.session, it.table, "r")
    it.fill("0:")
    it.catch_up()

    assert it.read("1:") is None


def waiting_for(it: Evicted) -> tuple[OneVersionCache, int]:
    txn = it.domain.open_txn(it.session)
    it.domain.alter_table(it.session, it.table, made("v1"), "ALTER", txn=txn)
    return one_version.bootstrap(deepcopy(it.domain.state)), txn


def test_an_entry_that_waits_is_for_readers_of_its_change_alone() -> None:
    """An answer without the change would lose it; one with it ends the wait."""
    it = Evicted(OneVersion)
    cache, txn = waiting_for(it)
    old, new = by_list(it.table, "1:1"), by_list(it.table, "1:")
    early = cache.fill(old, store_answer(it.domain.rows, old))
    end = it.domain.commit(it.session, txn)
    late = cache.fill(new, store_answer(it.domain.rows, new))
    before = location(cache.read(new))
    cache.apply(end)

    assert (early, late) == (False, True)
    assert (before, location(cache.read(new))) == ("v1", "v1")


def test_what_waits_goes_with_the_objects() -> None:
    it = Evicted(OneVersion)
    cache, txn = waiting_for(it)
    cache.entries[it.table].evict()
    cache.apply(it.domain.commit(it.session, txn))

    assert cache.entries[it.table].objects is None


@pytest.mark.parametrize("kind", ["managed", "external"])
def test_a_creation_that_comes_late_brings_nothing_old(kind: TableKind) -> None:
    """Whoever applies its alter before the log brings the creation does not go back to that."""
    domain = Followed()
    session = domain.open_session()
    txn = domain.open_txn(session) if kind == "managed" else 0
    cache = one_version.bootstrap(deepcopy(domain.state))
    table = domain.create_table(session, "x", txn=txn, made=made("x0", kind))
    altered = domain.alter_table(session, table, made("x1", kind), "ALTER", txn=txn)
    for event in (altered, domain.events[-2]):
        cache.apply(event)

    assert cache.entries[table].objects is None
