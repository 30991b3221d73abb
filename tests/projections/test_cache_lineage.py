"""Caches over a log that lost its end: what they had seen is named, and nothing of it is shown.

A cache that had come less far goes on over the cut. One that had come further ends by what it had
seen; a cache that is opened then is of the log as it is.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest

from ledger.core.decide.cut import beyond, seen_in
from ledger.core.events.events import Event
from ledger.errors import LogRewrittenError
from ledger.log.port import Topic
from ledger.reads.metadata import Read
from projections.cache.following import FollowedEntries
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from projections.cache.topic.published import PublishedRows, open_published
from projections.cache.topic.remote import PublishedEntries, PublishedStore
from projections.fold.fold import Fold
from projections.queries import open_reads
from projections.store.rocks_store import RocksStore
from tests.conformance.case_ledger import ManualClock
from tests.core.cutting import cut, filled, shortened
from tests.driver import CATALOG, Driver
from tests.projections.cached import Cached, entries_of, listed, location, made
from tests.projections.followed import Followed, rows_of
from tests.projections.publishing import Host

ROUNDS: Final = 200
WAIT_S: Final = 0.05
MARGIN: Final = 30
KINDS: Final = ("log", "rows", "topic")
LOST_EVENTS: Final = 3


def cut_above(driver: Driver, whole: Driver) -> Event:
    """Cut the log of a domain above all that another had, and let a leader fill it."""
    event = cut(driver, beyond(seen_in(whole.state, whole.head.epoch), MARGIN))
    list(filled(driver))
    return event


def altered(driver: Driver, table: int, word: str) -> None:
    driver.alter_table(driver.open_session("eve"), table, made(word), "ALTER")


def by_cut(short: Driver, whole: Driver, table: int) -> None:
    """Go on as an operator lets it: behind a cut."""
    cut_above(short, whole)
    altered(short, table, "kept")


def by_others(short: Driver, whole: Driver, table: int) -> None:
    """Go on as if nothing had been lost, for longer than before."""
    altered(short, table, "kept")
    while len(short.records) <= len(whole.records):
        short.open_session("eve")


def by_nothing(_short: Driver, _whole: Driver, _table: int) -> None:
    """Go on not at all, so far."""


Grown = Callable[[Driver, Driver, int], None]
GROWN: Final[list[Grown]] = [by_cut, by_others, by_nothing]


class Seen:
    """A domain of which a table was altered twice, the second time in what the log then loses."""

    def __init__(self, domain: Followed | None = None) -> None:
        self.domain = domain or Followed()
        session = self.domain.open_session()
        self.table = self.domain.create_table(session, "t", made=made("v0"))
        self.domain.alter_table(session, self.table, made("v1"), "ALTER")
        self.keep = len(self.domain.records)
        self.domain.alter_table(session, self.table, made("lost"), "ALTER")
        while len(self.domain.records) < self.keep + LOST_EVENTS:
            self.domain.open_session("bob")
        self.domain.follow()
        self.position = self.domain.head.position
        self.chain = self.domain.head.chain.hex()
        self.read = self.read_of(self.domain)

    def read_of(self, driver: Driver) -> Read:
        last = driver.state.tables.by_id[self.table].last_write_id
        return Read(self.table, listed(f"{last}:"))

    def lost(self, grown: Grown) -> Driver:
        """Return the domain as it is after it lost its end and grew another one."""
        short = shortened(self.domain, self.keep)
        grown(short, self.domain, self.table)
        return short

    def lose(self, grown: Grown) -> Driver:
        """Let the log lose its end and grow another one."""
        short, log = self.lost(grown), self.domain.log
        with log.changed:
            log.cut(Topic.EVENTS, self.keep)
            writer = log.writer(Topic.EVENTS)
            for record in short.records[self.keep :]:
                writer.append(record.key, record.value)
        return short

    def check_told(self, error: LogRewrittenError, cut_at: int = 0) -> None:
        """Make sure that an error says what had been seen, and of which cut that is known."""
        assert (error.position, error.seen, error.cut) == (self.position, self.chain, cut_at)
        assert f"position {self.position} was seen" in str(error)


@pytest.fixture(params=KINDS)
def cached(request: pytest.FixtureRequest) -> Iterator[Cached]:
    """Return a cache over rows, over the log, and over what is published."""
    domain = Followed()
    found = Cached(domain, entries_of(request.param, domain), ManualClock())
    with closing(found.cache):
        yield found


def test_a_cache_goes_on_over_a_cut(cached: Cached) -> None:
    domain = cached.domain
    base = domain.head.position
    event = cut_above(domain, domain)
    cached.session = domain.open_session("eve")
    cached.alter("v1")
    end = cached.catch_up()

    assert end > event.control.position > base + MARGIN
    assert cached.cache.entries.position() == end
    last = domain.state.tables.by_id[cached.table].last_write_id
    place, source, _ = cached.read(f"{last}:", token=end)
    assert (place, source) == ("v1", "cache")
    assert cached.cache.sampler.verify() == []


@pytest.mark.parametrize("within", [1, MARGIN])
def test_a_position_that_a_cut_left_out_is_refused(cached: Cached, within: int) -> None:
    domain = cached.domain
    base = domain.head.position
    event = cut_above(domain, domain)
    cached.catch_up()

    with pytest.raises(LogRewrittenError, match=f"by the cut at position {event.control.position}"):
        cached.read("0:", token=base + within, max_wait_ms=30_000)
    for token in (0, base, event.control.position, domain.head.position):
        assert cached.read("0:", token=token)[0] == "v0"


def test_tokens_cost_hits_nothing(cached: Cached) -> None:
    cached.read("0:", token=1)
    before = cached.cache.entries.gaps()
    assert cached.cache.entries.gaps() is before


def ended(act: Callable[[], object]) -> LogRewrittenError:
    for _ in range(ROUNDS):
        try:
            act()
        except LogRewrittenError as error:
            return error
    raise TimeoutError("it notices nothing")


@pytest.mark.parametrize("grown", GROWN)
@pytest.mark.parametrize("starting", [True, False])
def test_entries_from_the_log_end_by_what_they_had_seen(grown: Grown, *, starting: bool) -> None:
    seen = Seen()
    log = seen.domain.log
    entries = FollowedEntries(log).start_loading() if starting else FollowedEntries(log).start()
    cache = MetadataCache(entries, RowMetadataStore(seen.domain.reader), CATALOG)
    with closing(cache):
        while entries.position() < seen.position:
            entries.advance(1.0)
        assert location(cache.metadata([seen.read])[0]) == "lost"
        short = seen.lose(grown)

        seen.check_told(ended(lambda: entries.advance(WAIT_S)))
        for act in (lambda: cache.metadata([seen.read]), lambda: cache.read("t", listed("1:"))):
            with pytest.raises(LogRewrittenError):
                act()
        assert f"position {seen.position} was seen" in entries.problem()
        with pytest.raises(LogRewrittenError):
            entries.check()
    anew = FollowedEntries(log).start()
    with closing(MetadataCache(anew, RowMetadataStore(rows_of(short)), CATALOG)) as cache:
        while anew.position() < short.head.position:
            anew.advance(1.0)
        found = location(cache.metadata([seen.read_of(short)])[0])
    assert found == ("v1" if grown is by_nothing else "kept")


@pytest.mark.parametrize("grown", [by_cut, by_others])
def test_entries_from_rows_that_were_made_anew_end_likewise(tmp_path: Path, grown: Grown) -> None:
    with RocksStore.open(tmp_path) as store:
        seen = Seen(Followed(store))
    with closing(MetadataCache.open(tmp_path, CATALOG)) as cache:
        assert location(cache.metadata([seen.read])[0]) == "lost"
        short = seen.lost(grown)
        with RocksStore.rebuild(tmp_path) as store:
            rows_into(store, short)
            store.publish()

        error = ended(lambda: cache.entries.advance(0.0))
        seen.check_told(error, short.state.cuts[-1].position if grown is by_cut else 0)
        with pytest.raises(LogRewrittenError):
            cache.metadata([seen.read])
    with closing(MetadataCache.open(tmp_path, CATALOG)) as cache:
        assert location(cache.metadata([seen.read_of(short)])[0]) == "kept"


def rows_into(store: RocksStore, driver: Driver) -> None:
    Fold.load(store, driver.log).feed(driver.records)


def test_rows_made_anew_that_hold_all_that_was_seen_are_gone_on_with(tmp_path: Path) -> None:
    with RocksStore.open(tmp_path) as store:
        seen = Seen(Followed(store))
    with closing(MetadataCache.open(tmp_path, CATALOG)) as cache:
        assert location(cache.metadata([seen.read])[0]) == "lost"
        with RocksStore.rebuild(tmp_path) as store:
            rows_into(store, seen.domain)
            store.publish()
        cache.entries.advance(0.0)
        assert location(cache.metadata([seen.read])[0]) == "lost"


def test_reads_of_rows_tell_it_once(tmp_path: Path) -> None:
    with RocksStore.open(tmp_path) as store:
        seen = Seen(Followed(store))
    with closing(open_reads(tmp_path)) as reads:
        assert location(reads.metadata([seen.read])[0]) == "lost"
        short = seen.lost(by_cut)
        with RocksStore.rebuild(tmp_path) as store:
            rows_into(store, short)
            store.publish()
        reads.position()
        with pytest.raises(LogRewrittenError) as raised:
            reads.metadata([seen.read])
        seen.check_told(raised.value, short.state.cuts[-1].position)
        assert location(reads.metadata([seen.read_of(short)])[0]) == "kept"


def test_who_had_what_was_lost_is_told_once_the_feeder_is_over_the_cut() -> None:
    seen = Seen()
    seen.domain.publish()
    log = seen.domain.log
    published = PublishedRows(log)
    entries = PublishedEntries(published)
    cache = MetadataCache(entries, PublishedStore(published), CATALOG)
    with ExitStack() as own:
        direct = own.enter_context(closing(open_published(log, CATALOG)))
        own.enter_context(closing(cache))
        entries.check()
        assert location(cache.metadata([seen.read])[0]) == "lost"
        assert location(direct.metadata([seen.read])[0]) == "lost"
        short = seen.lose(by_cut)
        Host(log).feed_all()

        cut_at = short.state.cuts[-1].position
        seen.check_told(ended(entries.check), cut_at)
        seen.check_told(ended(lambda: direct.entries.advance(0.0)), cut_at)
        assert f"lost by the cut at position {cut_at}" in entries.problem()
        for each in (cache, direct):
            with pytest.raises(LogRewrittenError):
                each.metadata([seen.read])
    with closing(open_published(log, CATALOG)) as cache:
        assert location(cache.metadata([seen.read_of(short)])[0]) == "kept"


def test_a_miss_is_not_answered_from_rows_of_before_the_cut() -> None:
    seen = Seen()
    short = seen.lost(by_cut)
    entries = FollowedEntries(short.log).start()
    with closing(MetadataCache(entries, RowMetadataStore(seen.domain.reader), CATALOG)) as cache:
        while entries.position() < short.head.position:
            entries.advance(1.0)
        with pytest.raises(LogRewrittenError, match="lost by the cut"):
            cache.read("u", None, max_wait_ms=0)
