"""Housekeeping of caches: what is cut behind the watermark, what is let go, what is made anew.

None of it may change what a reader is told.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import reduce
from random import Random

import pytest
from hypothesis import given

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.state.domain import DomainState
from ledger.errors import ReaderBehindError
from ledger.log.checkpoints import Checkpoint, CheckpointWriter
from ledger.log.port import Topic
from ledger.reads.metadata import Metadata, MetadataAnswer
from projections.cache.entries.bootstrap import bootstrap
from projections.cache.entries.ids import NO_IDS, ReaderIds
from projections.cache.entries.rows import RowEntries
from projections.cache.entries.rows_as_entries import store_answer
from projections.cache.fold import CacheState
from projections.cache.following import FollowedEntries
from projections.cache.ports import Entries
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore, protected
from tests.conformance.case_ledger import ManualClock
from tests.core.histories import QUICK, Step
from tests.demo.metastores.tagged_entries import TaggedEntries
from tests.driver import CATALOG
from tests.projections.cache_history import (
    HISTORIES,
    Played,
    Reader,
    as_told,
    drawn,
    played,
    told,
    wanted,
)
from tests.projections.cached import Cached, entries_of, listed, location, made
from tests.projections.followed import Followed, rows_of

LONG_MS = 30_000
SMALL = 4_000


def kept(history: Played) -> CacheState:
    cache = bootstrap(DomainState())
    for event in history.events:
        cache.apply(event)
    return cache


def floors(history: Played) -> dict[int, ReaderIds]:
    return dict(protected(history.store(len(history.events)), history.changes))


def answers(cache: CacheState, readers: list[Reader]) -> list[MetadataAnswer]:
    return [cache.read(wanted(reader)) for reader in readers]


def protected_readers(history: Played) -> list[Reader]:
    """Return the readers who see all txns below the watermark as ended, and those without list."""
    low = floors(history)
    aborted = {table: entry.ids.aborted for table, entry in kept(history).entries.items()}
    return [
        reader
        for reader in history.readers
        if reader.ids is None
        or ReaderIds.of(reader.ids).covers(
            reduce(ReaderIds.without, aborted.get(reader.table, ()), low.get(reader.table, NO_IDS))
        )
    ]


@QUICK
@given(HISTORIES)
def test_a_cut_keeps_all_answers_above_the_watermark(steps: list[Step]) -> None:
    history = played(steps)
    readers, cache = protected_readers(history), kept(history)
    before = answers(cache, readers)

    for item in floors(history).items():
        cache.cut(*item)

    after = answers(cache, readers)
    assert after == before


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_tells_nobody_what_is_wrong(seed: int) -> None:
    history, cache = drawn(seed), kept(drawn(seed))
    for each in floors(history).items():
        cache.cut(*each)
    applied = range(len(history.events) + 1)

    found = zip(history.readers, answers(cache, history.readers), strict=True)

    wrong = [
        each
        for each, answer in found
        if answer.source == "cache"
        and as_told(answer.value) != told(history, each, "table", applied)
    ]
    assert wrong == []


def test_cuts_let_go_of_something() -> None:
    gone = [
        kept(drawn(seed)).cut(*item) for seed in range(20) for item in floors(drawn(seed)).items()
    ]

    assert sum(gone) > 10


@QUICK
@given(HISTORIES)
def test_a_cache_made_anew_is_the_one_that_was_kept(steps: list[Step]) -> None:
    history = played(steps)
    cache, store = kept(history), history.store(len(history.events))
    for table in history.changes:
        cache.evict(table)
    anew = CacheState(cache.positions)
    for reader in history.readers:
        for each in (cache, anew):
            each.fill(wanted(reader), store_answer(store, wanted(reader)))
    whole = kept(history)

    pairs = [
        (first.value, second.value)
        for each in (cache, anew)
        for first, second in zip(
            answers(whole, history.readers), answers(each, history.readers), strict=True
        )
        if first.source == second.source == "cache"
    ]

    assert [first for first, _ in pairs] == [second for _, second in pairs]


@contextmanager
def over(history: Played, entries: Entries) -> Iterator[MetadataCache]:
    store = RowMetadataStore(history.store(len(history.events)).reader())
    with closing(MetadataCache(entries, store, CATALOG, clock=ManualClock())) as cache:
        yield cache


def asked(cache: MetadataCache, reader: Reader) -> Metadata | None:
    token = reader.position if reader.own_txn else 0
    return cache.read(
        reader.table, reader.ids, own_txn=reader.own_txn, token=token, max_wait_ms=LONG_MS
    ).value


@pytest.mark.parametrize("seed", range(5))
def test_readers_do_not_tell_them_apart(seed: int) -> None:
    history = drawn(seed)
    readers = Random(seed).sample(history.readers, 40)  # noqa: S311 - a sample that comes back
    small = FollowedEntries(history.driver.log, bytes_max=SMALL).start_loading()
    large = FollowedEntries(history.driver.log).start_loading()
    rows = RowEntries(rows_of(history.driver), bytes_max=SMALL)
    with over(history, small) as old, over(history, large) as new, over(history, rows) as third:
        for reader in history.readers:
            asked(old, reader)
            old.sampler.tidy()

        found = [[asked(cache, reader) for reader in readers] for cache in (old, new, third)]

    assert found[0] == found[1] == found[2]


def test_loading_keeps_nobody_waiting() -> None:
    domain = Followed()
    table = domain.create_table(domain.open_session(), "t", made=made("v0"))
    entries = FollowedEntries(domain.log)
    store = RowMetadataStore(domain.rows)
    with closing(MetadataCache(entries, store, CATALOG)) as cache:
        before = cache.read(table, listed("0:"), max_wait_ms=LONG_MS)
        assert (location(before), before.source, before.reason) == ("v0", "store", "loading")
        assert (cache.waits.count, cache.fills) == (0, {False: 1})
        assert cache.entries.held() == []

        entries.start_loading()
        while entries.is_loading():
            entries.advance(0.1)

        after = cache.read(table, listed("0:"), max_wait_ms=LONG_MS)
        assert (location(after), after.source, after.reason) == ("v0", "cache", "hit")


def test_loading_begins_at_a_checkpoint() -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    writer = CheckpointWriter(domain.log.writer(Topic.CHECKPOINTS), 0)
    writer.write(Checkpoint(domain.state, domain.head, len(domain.records)))
    domain.alter_table(session, table, made("v1"), "ALTER")
    entries = FollowedEntries(domain.log).start_loading()
    with closing(MetadataCache(entries, RowMetadataStore(domain.rows), CATALOG)) as cache:
        while entries.is_loading():
            entries.advance(0.1)
        lag = entries.lag()

        assert location(cache.read(table, listed("1:"), max_wait_ms=LONG_MS)) == "v1"
        assert cache.counts == {("cache", "hit"): 1}
    assert lag is not None
    assert (lag.position, lag.records) == (domain.head.position, 0)


def test_records_that_do_not_count_are_no_lag() -> None:
    """What a fenced sequencer still wrote is read and dropped: nobody is behind because of it."""
    domain = Followed()
    domain.open_session()
    late = domain.records[-1].value
    domain.fence()
    domain.append(late)
    entries = FollowedEntries(domain.log).start_loading()
    with closing(MetadataCache(entries, RowMetadataStore(domain.rows), CATALOG)):
        while entries.is_loading():
            entries.advance(0.1)
        lag = entries.lag()

    assert lag is not None
    assert (lag.position, lag.records, lag.behind_ms) == (domain.head.position, 0, 0)


@pytest.mark.parametrize("kind", ["rows", "log"])
def test_tidy_keeps_a_round_of_grace(in_memory: Followed, kind: str) -> None:
    """What lies behind the watermark goes at the second round; then the store answers for it."""
    cached = Cached(in_memory, entries_of(kind, in_memory), ManualClock())
    for n in range(1, 6):
        cached.alter(f"v{n}")
    cached.catch_up()
    cached.read("5:")
    gone = [cached.cache.sampler.tidy(), cached.cache.sampler.tidy()]

    assert gone == [0, 5]
    assert cached.read("5:") == ("v5", "cache", "hit")
    assert cached.read("2:") == ("v2", "store", "before_floor")
    assert cached.cache.sampler.cut_versions == 5
    cached.cache.close()


@pytest.mark.parametrize("kind", ["rows", "log"])
def test_a_held_snapshot_is_not_cut(in_memory: Followed, kind: str) -> None:
    cached = Cached(in_memory, entries_of(kind, in_memory), ManualClock())
    cached.alter("v1")
    reader = in_memory.open_txn(cached.session, "read_only")
    for n in range(2, 6):
        cached.alter(f"v{n}")
    cached.catch_up()
    cached.read("5:")
    held = [cached.cache.sampler.tidy(), cached.cache.sampler.tidy()]
    seen = cached.read("1:")
    in_memory.commit(cached.session, reader)
    cached.catch_up()
    free = [cached.cache.sampler.tidy(), cached.cache.sampler.tidy()]

    assert (held, seen) == ([0, 1], ("v1", "cache", "hit_old_version"))
    assert free == [0, 4]
    cached.cache.close()


def aborted(cached: Cached) -> int:
    """Return how many aborted ids the entry of the table knows."""
    assert isinstance(cached.cache.entries, TaggedEntries)
    tag = cached.cache.entries.tag(cached.table)
    assert tag is not None
    assert tag.ids is not None
    return len(tag.ids.aborted)


def test_forgotten_aborts_are_no_burden(in_memory: Followed) -> None:
    cached = Cached(in_memory, TaggedEntries(in_memory.log).start(), ManualClock())
    reader = in_memory.open_txn(cached.session, "read_only")
    for n in range(1, 6):
        txn = in_memory.open_txn(cached.session)
        in_memory.allocate(cached.session, [txn], [cached.table])
        in_memory.abort(cached.session, txn)
        cached.alter(f"v{n}")
    in_memory.tidy()
    cached.catch_up()
    held = [cached.cache.sampler.tidy(), cached.cache.sampler.tidy(), aborted(cached)]
    in_memory.commit(cached.session, reader)
    cached.catch_up()
    free = [cached.cache.sampler.tidy(), cached.cache.sampler.tidy(), aborted(cached)]

    assert (held, free) == ([0, 0, 5], [0, 5, 0])
    for newest in ("10:", "10:1,3,5,7,9"):
        assert cached.read(newest) == ("v5", "cache", "hit")
    cached.cache.close()


def test_aborted_ids_of_a_table_without_versions_go_too(in_memory: Followed) -> None:
    cached = Cached(in_memory, TaggedEntries(in_memory.log).start(), ManualClock())
    for _ in range(5):
        txn = in_memory.open_txn(cached.session)
        in_memory.allocate(cached.session, [txn], [cached.table])
        in_memory.abort(cached.session, txn)
    in_memory.tidy()
    cached.catch_up()

    found = [(cached.cache.sampler.tidy(), aborted(cached)) for _ in range(2)]

    assert found == [(0, 5), (0, 0)]
    for newest in ("5:", "5:1,2,3,4,5"):
        assert cached.read(newest) == ("v0", "cache", "hit")
    cached.cache.close()


def test_a_round_looks_at_so_many_tables_and_no_more(in_memory: Followed) -> None:
    cached = Cached(in_memory, entries_of("log", in_memory), ManualClock())
    tables = [in_memory.create_table(cached.session, f"t{n}", made=made("v0")) for n in range(9)]
    for table in tables:
        in_memory.alter_table(cached.session, table, made("v1"), "ALTER")
    cached.catch_up()
    gone = [cached.cache.sampler.tidy(tables=2) for _ in range(5)]

    assert gone[0] == 0
    assert max(gone) == 2
    cached.cache.close()


def test_a_list_above_everything_is_still_refused(in_memory: Followed) -> None:
    """A cut makes nobody's list shorter: ids that are not known yet are waited for as before."""
    cached = Cached(in_memory, entries_of("log", in_memory), ManualClock())
    cached.alter("v1")
    cached.catch_up()
    cached.cache.sampler.tidy()
    cached.cache.sampler.tidy()

    with pytest.raises(ReaderBehindError):
        cached.cache.read("t", ValidWriteIdList("t", 9, (), (), None), max_wait_ms=1)
    cached.cache.close()
