"""A cache on a host without rows: what it says before there are any, and what it never shows."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
from hypothesis import given

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.errors import LedgerError, LogUnavailableError, TopicMissingError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.reads.metadata import Bounds, Read, ReadAt
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened
from projections.cache.topic.published import AGAIN_S, FIRST_READ_MAX_MS, PublishedRows
from projections.cache.topic.remote import PublishedEntries, PublishedLists, PublishedStore
from projections.cache.topic.topic import MARKER, Marker
from projections.errors import (
    CacheTopicMissingError,
    NothingPublishedError,
    PublishedLoadingError,
    StoreVersionError,
)
from projections.fold.lag import Lag
from projections.queries import StoreReads
from projections.store.port import FORMAT_VERSION
from tests.conformance.case_ledger import ManualClock
from tests.core.histories import Step
from tests.driver import CATALOG
from tests.projections.cache_history import HISTORIES, drawn, played
from tests.projections.cached import location, made
from tests.projections.followed import PATIENT, Followed
from tests.projections.publishing import ALL, Host, SharedLog, events_log, metadata_rows, slow

MISSING = TopicMissingError("no such topic", topic="lake.cache")
AWAY = LogUnavailableError("no answer in time")


class Refusing(SharedLog):
    """A log whose broker refuses to tell the ends of the cache topic, as long as it has a reason.

    `after` so many more answers it does.
    """

    def __init__(self, log: MemoryLog, reason: LedgerError | None = None, after: int = 0) -> None:
        super().__init__(log)
        self.reason = reason
        self.after = after

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        if topic is Topic.CACHE and self.reason is not None:
            self.after -= 1
            if self.after < 0:
                raise self.reason
        return super().ends(topic, timeout_s)


class Far:
    """A cache over what a domain publishes, from nothing on."""

    def __init__(self) -> None:
        self.domain = Followed()
        self.session = self.domain.open_session()
        self.table = self.domain.create_table(self.session, "t", made=made("v0"))
        self.log = Refusing(self.domain.log)
        self.clock = ManualClock()
        self.published = PublishedRows(self.log, clock=self.clock)
        self.entries = PublishedEntries(self.published)
        self.cache = MetadataCache(self.entries, PublishedStore(self.published), CATALOG)
        self.process = CacheProcess(self.cache, PublishedLists(self.published))

    def publish(self) -> None:
        self.domain.publish()
        self.domain.follow()

    def go_on(self, word: str) -> None:
        self.domain.alter_table(self.session, self.table, made(word), "ALTER")
        self.domain.follow()

    def place(self) -> str | None:
        return location(self.process.metadata_at(ReadAt("t")))


@pytest.fixture
def far() -> Iterator[Far]:
    made_of = Far()
    with closing(made_of.cache):
        yield made_of


def refused(far: Far, error: type[LedgerError], words: str) -> None:
    """See that nobody is answered, and that readers and readiness are told the same."""
    far.entries.check()
    assert far.entries.is_loading()
    assert words in far.entries.problem()
    with pytest.raises(error, match=words):
        far.place()
    with pytest.raises(error, match=words):
        far.cache.read(1, ValidWriteIdList("t", 1, (), (), None), max_wait_ms=10_000)


def test_before_its_topic_was_opened_a_cache_counts_as_being_read(far: Far) -> None:
    with pytest.raises(PublishedLoadingError):
        far.place()
    assert far.entries.lag() is None


def test_where_the_topic_is_missing_that_is_said_by_name_with_what_to_do(far: Far) -> None:
    far.log.reason = MISSING
    refused(far, CacheTopicMissingError, "topic lake.cache")
    refused(far, CacheTopicMissingError, "Run one `lakeledger serve feeder --publish`")
    far.log.reason = None
    refused(far, NothingPublishedError, "ends at offset 0")
    far.publish()
    far.entries.check()
    assert (far.place(), far.entries.problem()) == ("v0", "")


def test_a_broker_that_is_away_at_the_start_is_waited_for(far: Far) -> None:
    far.log.reason = AWAY
    refused(far, LogUnavailableError, "no answer in time")
    far.log.reason = None
    far.publish()
    far.entries.check()
    assert far.place() == "v0"


def test_another_log_was_published(far: Far) -> None:
    far.publish()
    far.domain.log.recreate(Topic.EVENTS)
    refused(far, NothingPublishedError, "without a whole batch of rows")


def test_who_was_answered_is_answered_on_when_the_topic_goes_away(far: Far) -> None:
    far.publish()
    far.entries.check()
    far.domain.log.recreate(Topic.CACHE)
    far.log.reason = MISSING
    far.entries.check()
    assert (far.place(), far.entries.is_loading()) == ("v0", False)
    assert "no topic lake.cache" in far.entries.problem()
    far.log.reason = None
    far.publish()
    far.go_on("v1")
    far.entries.check()
    assert far.place() == "v0"
    far.clock.elapsed_s += AGAIN_S
    far.entries.check()
    assert (far.place(), far.entries.problem()) == ("v1", "")


def test_rows_of_another_version_end_the_process_for_it_would_never_answer_again(far: Far) -> None:
    far.publish()
    far.entries.check()
    end = far.log.ends(Topic.CACHE)[1]
    marker = Marker.of_rows(end, end, far.domain.store)._replace(form=FORMAT_VERSION + 1)
    far.log.writer(Topic.CACHE).append(MARKER, marker.data())
    with pytest.raises(StoreVersionError):
        far.entries.check()


def test_the_lag_is_counted_in_unpublished_records_and_in_time(far: Far) -> None:
    far.publish()
    far.entries.check()
    in_time = far.entries.lag()
    far.clock.elapsed_s += 60
    far.domain.open_session()
    just_now = far.entries.lag()
    far.clock.elapsed_s += 60
    assert (in_time, just_now) == (Lag(5, 0, 0), Lag(5, 1, 0))
    assert far.entries.lag() == Lag(5, 1, 60_000)


def test_one_position(far: Far) -> None:
    """Rows that the store refreshed are those of the entries too, and answers say so."""
    far.publish()
    far.entries.check()
    far.place()
    far.go_on("v1")
    far.cache.read(1, None, max_wait_ms=0)
    reads = [Read(far.table, ValidWriteIdList("t", hwm, (), (), None)) for hwm in (0, 1)]
    answers = far.cache.metadata(reads, Bounds(max_wait_ms=0))
    assert [location(answer) for answer in answers] == ["v0", "v1"]
    assert {(answer.source, answer.position) for answer in answers} == {("cache", 6)}
    assert far.entries.at_ms() == far.domain.events[5].control.at


def test_records_read_in_vain() -> None:
    host = Host(events_log(drawn(5)))
    host.feed(20)
    host.feed_all()
    host.log.compact(Topic.CACHE, range(ALL))
    log, clock = Refusing(host.log, AWAY, after=1), ManualClock()
    rows = PublishedRows(log, clock=clock)
    rows.open()
    rows.refresh()
    assert (rows.has_come, rows.trouble) == (False, AWAY)
    log.reason = None
    clock.elapsed_s += AGAIN_S
    rows.refresh()
    assert metadata_rows(rows) == metadata_rows(host.store)


@pytest.mark.parametrize(("hours", "reads"), [(11, 1), (13, 2)])
def test_first_read_takes_too_long(hours: int, reads: int) -> None:
    """A first read that takes so long that tombstones may be gone shows nothing; another does."""
    host, clock = Host(events_log(drawn(5))), ManualClock()
    host.feed_all()
    begun: list[int] = []

    class Counting(SharedLog):
        def reader(self, topic: Topic, offset: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
            begun.append(offset)
            return slow(host.log, ALL, pause).reader(topic, offset)

    def pause() -> None:
        if len(begun) == 1:
            clock.elapsed_s = hours * 3600

    rows = PublishedRows(Counting(host.log), clock=clock)
    rows.open()
    rows.refresh()
    assert FIRST_READ_MAX_MS == 12 * 3_600_000
    assert len(begun) == reads
    assert metadata_rows(rows) == metadata_rows(host.store)


@PATIENT
@given(history=HISTORIES)
def test_who_brings_no_list_is_told_by_the_list_of_now(history: list[Step]) -> None:
    known = played(history)
    host = Host(events_log(known))
    host.feed_all()
    published = PublishedRows(host.log)
    published.keep()
    cache = MetadataCache(PublishedEntries(published), PublishedStore(published), CATALOG)
    lists = PublishedLists(published), ReadLists(Reopened(lambda: StoreReads(host.store)))
    far, near = (CacheProcess(cache, each) for each in lists)
    asked = [ReadAt(None, CATALOG, table_id=number) for number in range(1, 8)]
    asked += [ReadAt(name, CATALOG) for name in names(host)]
    assert [told(far, each) for each in asked] == [told(near, each) for each in asked]
    chosen = [sorted(read.table_id or read.table for read in each.newest(ALL)) for each in lists]
    assert chosen[0] == chosen[1]


def names(host: Host) -> Sequence[str]:
    rows = StoreReads(host.store).tables(include_dropped=True)
    return sorted({row.name for row in rows})


def told(process: CacheProcess, asked: ReadAt) -> object:
    try:
        return process.metadata_at(asked).value
    except LedgerError as error:
        return type(error).__name__
