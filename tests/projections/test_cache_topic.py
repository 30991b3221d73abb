"""Rows of metadata that travel through a compacted topic: whole batches, or nothing."""

from contextlib import closing
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import LogUnavailableError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.reads.metadata import Bounds, Read
from projections.cache.entries.rows import RowEntries
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from projections.cache.topic.published import PublishedRows, open_published
from projections.cache.topic.publishing import CacheFeed
from projections.cache.topic.topic import MARKER, Gathered, Marker, difference
from projections.errors import PublishedElsewhereError, StoreVersionError
from projections.reads import lookups
from projections.rows.keys import value
from projections.store.port import FORMAT_VERSION
from tests.core.histories import Step
from tests.driver import CATALOG
from tests.projections.cache_history import HISTORIES, Played, drawn, played
from tests.projections.cached import altered_to, listed, location
from tests.projections.followed import PATIENT, Followed
from tests.projections.publishing import (
    ALL,
    Host,
    Refusing,
    compact,
    events_log,
    holes,
    metadata_rows,
    slow,
)

SEED = 5
FATES = (
    "published",
    "stores its state",
    "ends before publishing",
    "ends while publishing",
    "starts anew",
    "another publishes too",
    "compacted",
    "compacted for long",
    "read on",
    "read anew",
)
PLANS = st.lists(
    st.tuples(st.sampled_from(FATES), st.integers(1, 12), st.integers(0, 2**32)), max_size=25
)


@pytest.fixture
def history() -> Played:
    return drawn(SEED)


@pytest.fixture
def host(history: Played) -> Host:
    return Host(events_log(history))


def as_of(history: Played, rows: PublishedRows) -> bool:
    position, held = metadata_rows(rows)
    return held == metadata_rows(history.store(position))[1]


def befall(host: Host, other: Host, fate: str, count: int, seed: int) -> None:
    """Let something happen to a host, or to what it has published."""
    match fate:
        case "published":
            host.feed(count)
        case "stores its state":
            host.store_checkpoint()
        case "ends before publishing":
            host.end_before_publishing(count)
        case "ends while publishing":
            host.end_while_publishing(count, lost=seed % 20)
        case "starts anew":
            host.start()
        case "another publishes too":
            host.feed_beside(other, count)
        case _:
            with_tombstones = fate == "compacted for long"
            compact(host.log, Random(seed), with_tombstones=with_tombstones)  # noqa: S311


@PATIENT
@given(history=HISTORIES, plan=PLANS)
def test_whatever_becomes_of_feeders_and_topic_readers_have_the_stores_rows_of_one_position(
    history: list[Step], plan: list[tuple[str, int, int]]
) -> None:
    known = played(history)
    log = events_log(known)
    host, other, rows = Host(log), Host(log), PublishedRows.read_whole(log)
    for fate, count, seed in plan:
        before = metadata_rows(rows)[0]
        if fate == "read anew":
            rows = PublishedRows.read_whole(log)
        elif fate == "read on":
            rows.refresh()
            assert metadata_rows(rows)[0] >= before
        else:
            befall(host, other, fate, count, seed)
        assert as_of(known, rows)
    host.start()
    host.feed_all()
    rows.refresh()
    assert metadata_rows(rows) == metadata_rows(host.store)
    assert metadata_rows(PublishedRows.read_whole(log)) == metadata_rows(host.store)


@PATIENT
@given(history=HISTORIES, size=st.integers(1, 7), seed=st.integers(0, 2**32))
def test_compaction_while_a_reader_begins(history: list[Step], size: int, seed: int) -> None:
    """A reader that is overtaken by compaction shows nothing before it has a whole position."""
    known, source = played(history), Random(seed)  # noqa: S311 - it must come back from its seed
    host = Host(events_log(known))
    host.feed(20)

    def go_on() -> None:
        if source.random() < 0.5:
            host.feed(source.randint(1, 3))
        compact(host.log, source, with_tombstones=False)

    rows = PublishedRows.read_whole(slow(host.log, size, go_on))
    assert as_of(known, rows)
    host.feed_all()
    rows.refresh()
    assert metadata_rows(rows) == metadata_rows(host.store)


def test_batch_without_marker_is_not_shown(history: Played, host: Host) -> None:
    host.feed(30)
    rows = PublishedRows.read_whole(host.log)
    before = metadata_rows(rows)
    host.start()
    records = host.log.topics[Topic.CACHE].records
    first = len(records)
    host.feed(30)
    tail = records[first:]
    host.log.cut(Topic.CACHE, tail[-1].offset)
    rows.refresh()
    assert (tail[-1].key, metadata_rows(rows)) == (MARKER, before)
    host.start()
    rows.refresh()
    assert metadata_rows(rows) == metadata_rows(host.store)
    assert as_of(history, rows)


def test_nothing_is_published_twice(host: Host) -> None:
    host.feed_all()
    before = host.log.ends(Topic.CACHE)
    host.start()
    assert host.log.ends(Topic.CACHE) == before


def test_only_what_is_missing_is_published(host: Host) -> None:
    host.feed(40)
    before = host.log.ends(Topic.CACHE)[1]
    held = dict(metadata_rows(host.store)[1])
    host.end_before_publishing(10)
    changes = difference(held, metadata_rows(host.store)[1])
    assert host.log.ends(Topic.CACHE)[1] == before + len(changes) + 1


def test_after_a_batch_lost_in_part_the_next_brings_all_that_lacks(history: Played) -> None:
    log = events_log(history)
    through = Refusing(log)
    host = Host(log, through)
    host.feed(20)
    rows = PublishedRows.read_whole(log)
    through.is_away = True
    with pytest.raises(LogUnavailableError):
        host.feed(20)
    rows.refresh()
    assert (metadata_rows(rows)[0], as_of(history, rows)) == (20, True)
    through.is_away = False
    host.feed(10)
    rows.refresh()
    assert metadata_rows(rows) == metadata_rows(host.store)


def test_readers_of_the_topic_know_how_far_history_may_be_let_go(host: Host) -> None:
    host.feed_all()
    tables = range(1, 10)
    stores = RowMetadataStore(PublishedRows.read_whole(host.log)), RowMetadataStore(host.store)
    remote, local = (store.floors(tables) for store in stores)
    assert remote == local
    assert any(floor.hwm for floor in local.values())


def test_a_store_made_anew_publishes_nothing_before_it_has_caught_up(host: Host) -> None:
    host.feed(50)
    end = host.log.ends(Topic.CACHE)
    fresh = Host(host.log)
    fresh.feed(20)
    fresh.feed(29)
    assert host.log.ends(Topic.CACHE) == end
    fresh.feed(5)
    assert metadata_rows(PublishedRows.read_whole(host.log)) == metadata_rows(fresh.store)


def test_who_finds_records_of_another_publisher_ends(history: Played, host: Host) -> None:
    other = Host(host.log)
    host.feed(20)
    other.feed(30)
    rows = PublishedRows.read_whole(host.log)
    with pytest.raises(PublishedElsewhereError):
        host.feed(20)
    rows.refresh()
    assert (metadata_rows(rows)[0], as_of(history, rows)) == (30, True)
    host.start()
    rows.refresh()
    assert (metadata_rows(rows)[0], as_of(history, rows)) == (40, True)


def test_who_was_away_long_keeps_no_rows_that_ended(history: Played, host: Host) -> None:
    host.feed(30)
    rows = PublishedRows.read_whole(host.log)
    host.feed_all()
    assert metadata_rows(rows)[1].keys() - metadata_rows(host.store)[1].keys()
    host.log.compact(Topic.CACHE, range(ALL), with_tombstones=True)
    rows.refresh()
    assert metadata_rows(rows) == metadata_rows(host.store)
    assert as_of(history, rows)


@pytest.mark.parametrize("begun", [10, 60])
def test_readers_notice_that_the_topic_is_another_one(host: Host, begun: int) -> None:
    host.feed(30)
    rows = PublishedRows.read_whole(host.log)
    host.log.recreate(Topic.CACHE)
    fresh = Host(host.log)
    fresh.feed(begun)
    fresh.feed_all()
    rows.refresh()
    assert metadata_rows(rows) == metadata_rows(fresh.store)


@pytest.mark.parametrize(("held", "begun"), [(10, 30), (30, 60), (30, 10), (60, 30)])
def test_topic_made_anew_while_it_is_read_first(host: Host, held: int, begun: int) -> None:
    fresh = list[Host]()

    def go_on() -> None:
        if rows.next_offset and not fresh:
            host.log.recreate(Topic.CACHE)
            fresh.append(Host(host.log))
            fresh[0].feed(begun)

    host.feed(held)
    rows = PublishedRows(slow(host.log, 9, go_on))
    rows.open()
    rows.refresh()
    assert (rows.has_come, metadata_rows(rows)) == (True, metadata_rows(fresh[0].store))


def test_nothing_is_kept_of_a_lost_history() -> None:
    lost, kept = Followed(), Followed()
    lost.publish()
    read = Read(altered_to("lost", lost), listed("1"))
    altered_to("kept", kept)
    kept.create_table(kept.open_session(), "more")
    with closing(open_published(lost.log, CATALOG)) as cache:
        before = cache.metadata([read])
        lost.log.cut(Topic.EVENTS, 0)
        writer = lost.log.writer(Topic.EVENTS)
        for record in kept.records:
            writer.append(record.key, record.value)
        lost.log.recreate(Topic.CACHE)
        Host(lost.log).feed_all()
        after = cache.metadata([read], Bounds(max_lag_ms=0))
    assert [location(each) for each in (*before, *after)] == ["lost", "kept"]


def test_rows_read_anew_do_not_go_back(host: Host) -> None:
    followed, seen = list[PublishedRows](), list[int]()
    host.feed(40)
    log = slow(host.log, 5, lambda: seen.extend(map(lookups.position, followed)))
    followed.append(PublishedRows.read_whole(log))
    host.log.recreate(Topic.CACHE)
    fresh = Host(host.log)
    fresh.feed(20)
    fresh.feed(20)
    followed[0].refresh()
    assert set(seen) == {40}


def test_batches_of_another_log_are_not_taken(host: Host) -> None:
    host.feed_all()
    host.log.recreate(Topic.EVENTS)
    assert metadata_rows(PublishedRows.read_whole(host.log)) == (0, {})


def test_rows_of_another_format_are_refused(host: Host) -> None:
    host.feed(40)
    rows = PublishedRows.read_whole(host.log)
    end = host.log.ends(Topic.CACHE)[1]
    marker = Marker.of_rows(end, end, host.store)._replace(form=FORMAT_VERSION + 1)
    host.log.writer(Topic.CACHE).append(MARKER, marker.data())
    with pytest.raises(StoreVersionError):
        rows.refresh()
    with pytest.raises(StoreVersionError):
        PublishedRows.read_whole(host.log)


def test_publisher_of_another_format_begins_anew(host: Host) -> None:
    """A marker of another version says nothing about the rows: they are compared."""
    host.feed(40)
    end = host.log.ends(Topic.CACHE)[1]
    marker = Marker.of_rows(end, end, host.store)._replace(form=FORMAT_VERSION - 1)
    host.log.writer(Topic.CACHE).append(MARKER, marker.data())
    host.start()
    assert metadata_rows(PublishedRows.read_whole(host.log)) == metadata_rows(host.store)


def test_a_marker_counts_where_it_says_that_it_lies_and_nowhere_else() -> None:
    log = MemoryLog()
    marker = Marker(FORMAT_VERSION, 0, 1, value([4, "ab", 4, "events-0"]), b'{"at":5}')
    for _ in range(3):
        log.writer(Topic.CACHE).append(MARKER, marker.data())
    gathered = Gathered()
    found = [gathered.take(record) for record in log.topics[Topic.CACHE].records]
    assert found == [None, marker, None]
    assert (gathered.marker, gathered.changes) == (marker, {})


@pytest.mark.parametrize(
    ("key", "stray"),
    [
        (MARKER, b"\xff"),
        (MARKER, b"null"),
        (MARKER, b"[1,2]"),
        (MARKER, b"[" * 100_000),
        (b"\xffkey", b"stray"),
        (b"", b"stray"),
    ],
    ids=["no JSON", "no list", "too short", "too deep", "no key of rows", "no key"],
)
def test_stray_record(host: Host, key: bytes, stray: bytes) -> None:
    """What no feeder wrote ends neither a feeder nor a reader, old or new."""
    host.feed(20)
    rows = PublishedRows.read_whole(host.log)
    host.log.writer(Topic.CACHE).append(key, stray)
    host.start()
    host.feed_all()
    rows.refresh()
    assert metadata_rows(rows) == metadata_rows(host.store)
    assert metadata_rows(PublishedRows.read_whole(host.log)) == metadata_rows(host.store)


def test_answers_equal_those_of_the_store(history: Played, host: Host) -> None:
    host.feed(20)
    host.feed(20)
    host.feed_all()
    host.log.compact(Topic.CACHE, range(ALL))
    assert holes(host.log)
    stored = MetadataCache(RowEntries(host.store), RowMetadataStore(host.store), CATALOG)
    caches = [open_published(host.log, CATALOG), stored]
    reads = [(reader.table, reader.ids) for reader in history.readers if not reader.own_txn]
    remote, local = ([cache.read(*read, max_wait_ms=0) for read in reads] for cache in caches)
    assert [each.value for each in remote] == [each.value for each in local]
    assert any(each.source == "cache" and each.value is not None for each in remote)


def test_where_nothing_was_published_rows_come_with_the_first_batch(history: Played) -> None:
    host = Host(events_log(history))
    rows = PublishedRows.read_whole(host.log)
    assert metadata_rows(rows) == (0, {})
    CacheFeed(host.log, host.store).start()
    host.feed(5)
    rows.refresh()
    assert metadata_rows(rows) == metadata_rows(host.store)
