"""What a cache that follows the log keeps of answers of a store that is ahead of it, or behind."""

from collections.abc import Callable
from contextlib import closing
from copy import deepcopy

import pytest

from ledger.core.state import DomainState
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.metadata import Read
from projections.cache.folds import CacheFold, ManyVersions, OneVersion
from projections.cache.following import FollowedEntries
from projections.cache.ids import ReaderIds
from projections.cache.reads import MetadataCache
from projections.cache.source import RowMetadataStore
from projections.metadata_cache import Wanted
from projections.reads.metadata_store import stored
from tests.driver import CATALOG
from tests.projections.cached import listed, location, made
from tests.projections.followed import Followed

Begin = Callable[[DomainState], CacheFold]

FOLDS = pytest.mark.parametrize("fold", [ManyVersions, OneVersion])


def by_list(table: int, ids: str | None) -> Wanted:
    """Return a read of a table by the list `hwm:open ids`, or without one."""
    written = listed(ids)
    return Wanted(None, None if written is None else ReaderIds.of(written), table)


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

    kept = cache.fill(by_list(table, None), stored(domain.rows, by_list(table, None)))

    assert not kept
    assert location(cache.read(by_list(table, "0:"))) is None


@FOLDS
def test_several_tables_are_not_read_at_several_positions(fold: Begin) -> None:
    """What was filled from a store that is ahead waits till the cache has come that far."""
    domain = Followed()
    session = domain.open_session()
    first = domain.create_table(session, "x", kind="external", made=made("x0", "external"))
    log = Behind(domain)
    entries = FollowedEntries.start(log, fold=fold)
    domain.alter_table(session, first, made("x1", "external"), "ALTER")
    second = domain.create_table(session, "y", kind="external", made=made("y0", "external"))
    reads = [Read(first, None), Read(second, None)]
    with closing(MetadataCache(entries, RowMetadataStore(domain.rows), CATALOG)) as cache:
        while not entries.has_come:
            entries.advance(1.0)
        filled = [cache.read(second, None) for _ in range(2)]
        behind = cache.read_many(reads, max_wait_ms=0)
        reached = log.bring()
        while entries.position() < reached:
            entries.advance(1.0)
        there = cache.read_many(reads)

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
    old = stored(domain.rows, reader)
    domain.open_session()
    cache.apply(domain.alter_table(session, table, made("x1", "external"), "ALTER"))
    cache.evict(table)

    kept = [cache.fill(reader, found) for found in (old, stored(domain.rows, reader))]
    for event in domain.events:
        cache.apply(event)

    assert kept == [False, True]
    assert location(cache.read(reader)) == "x1"
