"""A cache over HTTP: reads, lists of positions, waits, status, comparisons, health and metrics."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ledger.config.settings import CacheSettings
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.errors import LimitExceededError, ReaderBehindError, UnknownTableError
from ledger.reads.metadata import Bounds, MetadataAnswer, Read, ReadAt, TableMetadata
from ledger.reads.remote.cache import ReadCount, VerifiedCache
from ledger.reads.remote.http import HttpCache
from ledger.reads.remote.http_form import from_json, to_json
from projections.cache.entries.rows import RowEntries
from projections.cache.following import FollowedEntries
from projections.cache.lists import ReadLists
from projections.cache.ports import Entries, EntryRead, Lists
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened, RowMetadataStore, StoreAt
from projections.cache.topic.published import PublishedRows
from projections.cache.topic.remote import PublishedEntries, PublishedLists, PublishedStore
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.web.roles.cache import serve_cache
from projections.web.server.server import WebServer
from tests.conformance.case_ledger import ManualClock
from tests.driver import CATALOG
from tests.projections.cached import made
from tests.projections.followed import Followed
from tests.web.served import Served, samples

LONG_MS = 10_000
BIND = CacheSettings(http="127.0.0.1:0", max_wait_ms=LONG_MS)


class ServedCache:
    """A domain with a table altered twice, and a cache of it behind a URL, fed from one source."""

    def __init__(self, own: ExitStack, source: str = "events") -> None:
        self.domain, self.clock = Followed(), ManualClock()
        self.session = self.domain.open_session()
        self.table = self.domain.create_table(self.session, "t", made=made("v0"))
        self.created = self.domain.head.position
        self.alter("v1")
        self.source = source
        parts = self.fed_by_log() if source == "events" else self.fed_by_topic()
        self.entries, store, lists = parts
        self.cache = MetadataCache(self.entries, store, CATALOG)
        self.process = CacheProcess(self.cache, lists, max_wait_ms=BIND.max_wait_ms)
        own.callback(self.cache.close)
        self.server: WebServer = serve_cache(self.process, BIND)
        self.served = own.enter_context(closing(Served(self.server)))
        self.client = own.enter_context(closing(HttpCache(self.server.url)))

    def fed_by_log(self) -> tuple[Entries, RowMetadataStore, Lists]:
        """Return the parts of a cache that follows the log, once it is told to."""
        lists = ReadLists(Reopened(lambda: StoreReads(self.domain.reader)))
        return FollowedEntries(self.domain.log), RowMetadataStore(self.domain.reader), lists

    def fed_by_topic(self) -> tuple[Entries, RowMetadataStore, Lists]:
        """Return the parts of a cache of what is published; it reads when it is looked after."""
        self.domain.publish()
        self.clock.elapsed_s = (self.domain.now - self.clock.now_ms()) / 1000
        published = PublishedRows(self.domain.log, clock=self.clock)
        return PublishedEntries(published), PublishedStore(published), PublishedLists(published)

    def start(self) -> None:
        """Let the entries come to the end of what they are fed from."""
        if isinstance(self.entries, FollowedEntries):
            self.entries.start_loading()
        while self.entries.is_loading():
            self.entries.check()
            self.entries.advance(0.01)
        self.client.wait(self.domain.head.position, LONG_MS)

    def alter(self, word: str) -> int:
        changed = self.domain.alter_table(self.session, self.table, made(word), "ALTER")
        self.domain.follow()
        return changed.control.position


@pytest.fixture(params=["events", "published"])
def loading(request: pytest.FixtureRequest) -> Iterator[ServedCache]:
    """Return a cache whose entries have not begun to load, once for each source."""
    with ExitStack() as own:
        yield ServedCache(own, request.param)


@pytest.fixture
def cached(loading: ServedCache) -> ServedCache:
    """Return a cache that has come to the end of its source."""
    loading.start()
    return loading


fed_by_log = pytest.mark.parametrize("loading", ["events"], indirect=True)
fed_by_topic = pytest.mark.parametrize("loading", ["published"], indirect=True)


def ids(hwm: int) -> ValidWriteIdList:
    return ValidWriteIdList("t", hwm, (), (), None)


def told(answer: MetadataAnswer) -> tuple[str | None, str, str]:
    found = answer.value
    place = found.definition.location if isinstance(found, TableMetadata) else found
    return place, answer.source, answer.reason


def test_several_reads_with_lists_are_answered_at_one_position(cached: ServedCache) -> None:
    asked = [Read("t", ids(1)), Read(cached.table, ids(0)), Read("t", ids(1), what="stats:delay")]

    found = cached.client.metadata(asked)

    assert [told(each) for each in found] == [
        ("v1", "cache", "hit"),
        ("v0", "cache", "hit_old_version"),
        ("stats of v1", "cache", "hit"),
    ]
    assert {each.position for each in found} == {cached.domain.head.position}


@fed_by_log
def test_before_the_entries_are_there_the_store_answers_at_once(loading: ServedCache) -> None:
    answer = loading.client.metadata([Read("t", ids(1))], Bounds(max_wait_ms=LONG_MS))[0]
    ready = loading.served.ask("/readyz")

    assert told(answer) == ("v1", "store", "loading")
    assert loading.cache.waits.count == 0
    assert loading.client.status().is_loading
    assert (ready.status, ready.form["checks"]["following"]["status"]) == (503, "DOWN")
    assert loading.served.ask("/livez").status == 200


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("table=t", "v1"),
        ("table_id=1", "v1"),
        ("table=t&write_ids=t:0:9223372036854775807::", "v0"),
        ("table=T", "v1"),
        ("table=t&write_ids=lake.T:1:9223372036854775807::", "v1"),
        ("table=t&write_ids=null:1:9223372036854775807::", "v1"),
        ("table_id=1&write_ids=other:1:9223372036854775807::", "v1"),
        ("table=t&write_ids=t:1:9223372036854775807::&what=stats:delay", "stats of v1"),
    ],
)
def test_one_read_in_a_path(cached: ServedCache, query: str, place: str | None) -> None:
    """People ask by name or id, with a list in Hive's form or without one."""
    answer = cached.served.ask(f"/v1/metadata?{query}")

    value = answer.form.get("value") or {}
    found = value if isinstance(value, str) else value.get("definition", {}).get("location")
    assert found == place


@fed_by_topic
def test_without_rows_who_asks_too_early_is_told_so(loading: ServedCache) -> None:
    answer = loading.served.ask(
        f"/v1/metadata?table=t&write_ids=t:1:{2**63 - 1}::&max_wait_ms=9999"
    )
    now = loading.served.ask("/v1/metadata?table=t")
    ready = loading.served.ask("/readyz")

    assert answer.error == now.error == (503, "PublishedLoadingError")
    assert loading.cache.waits.count == 0
    assert loading.client.status().is_loading
    assert ready.status == 503
    assert "is being read" in ready.form["checks"]["following"]["detail"]
    assert ready.form["checks"]["lag"]["detail"] == "unknown: no event was read yet"
    assert loading.served.ask("/livez").status == 200


@fed_by_log
def test_a_position_is_read(cached: ServedCache) -> None:
    cached.domain.open_txn(cached.session, "read_only")
    held = cached.domain.head.position
    cached.domain.follow()
    last = cached.alter("v2")
    cached.client.wait(last, LONG_MS)

    assert told(cached.client.metadata_at(ReadAt("t", position=held)))[0] == "v1"
    assert told(cached.client.metadata_at(ReadAt("t", position=last)))[0] == "v2"
    assert told(cached.client.metadata_at(ReadAt("t")))[0] == "v2"


@fed_by_topic
def test_a_position_is_not_published(cached: ServedCache) -> None:
    assert told(cached.client.metadata_at(ReadAt("t")))[0] == "v1"
    assert told(cached.client.metadata_at(ReadAt("t", table_id=cached.table)))[0] == "v1"
    with pytest.raises(LimitExceededError, match="reads published rows"):
        cached.client.metadata_at(ReadAt("t", position=cached.domain.head.position))


@fed_by_topic
def test_readiness_says_how_far_a_cache_is_behind_its_publisher(cached: ServedCache) -> None:
    cached.domain.fold = Fold.load(cached.domain.store, cached.domain.log)
    cached.domain.now += 1
    cached.alter("v2")
    cached.entries.lag()
    cached.clock.elapsed_s += 60

    ready = cached.served.ask("/readyz")

    lag = ready.form["checks"]["lag"]
    assert (ready.status, lag["status"]) == (503, "DOWN")
    assert lag["detail"].startswith("1 record and ")
    assert "check that the feeder with --publish runs" in lag["detail"]
    assert cached.served.ask("/v1/metadata?table_id=1").status == 200
    with pytest.raises(ReaderBehindError):
        cached.client.metadata([Read("t", ids(2))], Bounds(max_wait_ms=1))


@fed_by_log
def test_a_position_whose_list_is_gone(cached: ServedCache) -> None:
    with pytest.raises(LimitExceededError, match="mappings of txns below"):
        cached.client.metadata_at(ReadAt("t", position=cached.created))


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("", (400, "BadRequest")),
        ("table=t&policy=none", (400, "BadRequest")),
        ("table=t&write_ids=1:2:3:4:5:6", (400, "BadRequest")),
        ("table=t&write_ids=t:1:3&position=3", (400, "BadRequest")),
        ("table=t&own_txn=3", (400, "BadRequest")),
        ("table=t&write_ids=other:1:3", (400, "BadRequest")),
        ("table=t&write_ids=main.t:1:3", (400, "BadRequest")),
        ("table=t&position=-3", (400, "BadRequest")),
        ("table=t&max_wait_ms=10001", (400, "LimitExceededError")),
        ("table=none", (404, "UnknownTableError")),
        ("table=none&write_ids=none:0:1&max_wait_ms=9999", (404, "UnknownTableError")),
        ("table=a%00b&write_ids=null:7:8", (404, "UnknownTableError")),
        ("table=t&token=99&max_wait_ms=1", (409, "ReaderBehindError")),
        ("table=t&table_idd=1", (400, "BadRequest")),
    ],
)
def test_what_is_refused(cached: ServedCache, query: str, error: tuple[int, str]) -> None:
    """What cannot be meant, is too much or not there is told by status and name."""
    answer = cached.served.ask(f"/v1/metadata?{query}")

    assert answer.error == error


def test_a_token_is_waited_for_here_and_by_a_read(cached: ServedCache) -> None:
    token = cached.alter("v2")

    assert told(cached.client.metadata([Read("t", ids(2))], Bounds(token, LONG_MS))[0])[0] == "v2"
    assert cached.client.wait(token, LONG_MS) == token
    with pytest.raises(ReaderBehindError) as raised:
        cached.client.wait(token + 1, 1)
    assert (raised.value.applied, raised.value.wanted) == (token, token + 1)


def test_a_long_wait_is_refused(cached: ServedCache) -> None:
    with pytest.raises(LimitExceededError):
        cached.client.metadata([Read("t", ids(1))], Bounds(max_wait_ms=LONG_MS + 1))
    with pytest.raises(UnknownTableError):
        cached.client.metadata_at(ReadAt("none"))


def test_the_status_tells_position_contents_and_answers(cached: ServedCache) -> None:
    cached.client.metadata([Read("t", ids(1)), Read("t", None)])
    cached.client.metadata([Read("t", ids(1))])

    found = cached.client.status()

    assert (found.position, found.lag_positions, found.lag_ms) == (
        cached.domain.head.position,
        0,
        0,
    )
    assert (found.entries, found.versions, found.is_loading) == (1, 2, False)
    assert 0 < found.bytes < found.bytes_max
    assert found.reads == [ReadCount("cache", "hit", 1), ReadCount("store", "null_list", 2)]
    assert found.hit_ratio == pytest.approx(1 / 3)


def test_a_comparison_on_demand_tells_how_many_tables_it_compared(cached: ServedCache) -> None:
    assert cached.client.verify(10) == VerifiedCache(1, [])
    assert cached.client.verify(0) == VerifiedCache(0, [])


class Lying(RowEntries):
    """Entries that tell everyone the same."""

    def read_many(self, wanted: Sequence[EntryRead]) -> list[MetadataAnswer]:
        return [answer._replace(value="made up") for answer in super().read_many(wanted)]


def test_a_mismatch_names_the_table_and_what_each_side_told_of_it() -> None:
    domain = Followed()
    table = domain.create_table(domain.open_session(), "t", made=made("v0"))
    entries, store = Lying(domain.rows), RowMetadataStore(domain.rows)
    process = CacheProcess(
        MetadataCache(entries, store, CATALOG), ReadLists(Reopened(lambda: domain.reads))
    )
    process.warm(10)

    found = from_json(VerifiedCache, to_json(process.verify(10)))

    (row,) = found.mismatches
    assert (found.compared, row.table, row.what, row.cached) == (1, table, "table", "made up")
    assert isinstance(row.stored, TableMetadata)


def test_a_mismatch_is_no_readiness(cached: ServedCache) -> None:
    cached.cache.sampler.mismatched += 1

    ready = cached.served.ask("/readyz")

    assert ready.status == 503
    assert ready.form["checks"]["sampler"]["status"] == "DOWN"
    assert "1 differed" in ready.form["checks"]["sampler"]["detail"]


def test_prometheus_is_told_what_the_status_tells(cached: ServedCache) -> None:
    cached.client.metadata([Read("t", ids(1)), Read("t", ids(0))])
    cached.client.verify(10)

    found = samples(cached.served)

    expected = {
        "lakeledger_cache_reads_total cache hit": 1,
        "lakeledger_cache_reads_total cache hit_old_version": 1,
        "lakeledger_cache_fills_total true": 0,
        "lakeledger_cache_position": cached.domain.head.position,
        "lakeledger_cache_lag_positions": 0,
        "lakeledger_cache_lag_seconds": 0,
        "lakeledger_cache_entries": 1,
        "lakeledger_cache_evictions_total": 0,
        "lakeledger_cache_tables_compared_total": 1,
        "lakeledger_cache_verify_mismatches_total": 0,
        "lakeledger_cache_wait_timeouts_total": 0,
        "lakeledger_cache_versions_per_table_bucket 1": 0,
        "lakeledger_cache_versions_per_table_bucket 2": 1,
        "lakeledger_cache_versions_per_table_sum": 2,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert found["lakeledger_cache_bytes"] > 0
    assert "lakeledger_cache_wait_seconds_count" in found


def test_without_rows_a_miss_is_told_to_be_asked_again(tmp_path: Path) -> None:
    with ExitStack() as own:
        domain = Followed()
        session = domain.open_session()
        table = domain.create_table(session, "t", made=made("v0"))
        entries = FollowedEntries(domain.log).start_loading()
        cache = MetadataCache(entries, StoreAt(tmp_path / "none"), CATALOG)
        own.callback(cache.close)
        lists = ReadLists(Reopened(lambda: StoreReads(domain.rows)))
        server = serve_cache(CacheProcess(cache, lists), BIND)
        served = own.enter_context(closing(Served(server)))
        client = own.enter_context(closing(HttpCache(server.url)))
        client.wait(domain.head.position, LONG_MS)
        while entries.is_loading():
            entries.advance(1.0)

        missed = served.ask(f"/v1/metadata?table=none&write_ids=none:0:{2**63 - 1}::")

        assert (missed.status, missed.form["error"]) == (503, "StoreMissingError")
        assert told(client.metadata([Read(table, ids(0))])[0]) == ("v0", "cache", "hit")
