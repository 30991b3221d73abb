"""Health and metrics of a follower: by named checks, in Prometheus' format."""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from ledger.config.settings import CacheSettings
from ledger.errors import LedgerError, LogUnavailableError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.machine.room import NO_PLACES, HostPlaces
from projections.cache.following import FollowedEntries
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened, RowMetadataStore
from projections.errors import StoreMissingError
from projections.fold.follower import Follower
from projections.fold.lag import Lag
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from projections.web.roles.cache import serve_cache
from projections.web.roles.health import Health
from projections.web.roles.log_seen import Seen, unseen
from projections.web.server.readers import Readers
from projections.web.server.waiting import PositionWaiting
from tests.conformance.case_ledger import ManualClock
from tests.driver import CATALOG, Driver
from tests.projections.filing import commit, writing
from tests.projections.followed import rows_of
from tests.web.served import Served, samples, serving

PATIENCE_S = 20.0
QUIET_S = 3_600.0
PATIENCE_MS = 20_000


class AwayLog(MemoryLog):
    """A log whose broker does not say where it ends."""

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        raise LogUnavailableError(f"no answer about {topic.value} within {timeout_s} s")


def played() -> Driver:
    """Return a domain with two commits, a conflict, an anomaly and an open txn."""
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "flights")
    commit(driver, session, table, ["a"])
    stale = writing(driver, table, [], ["a"])
    commit(driver, session, table, [], ["a"])
    driver.commit(session, 0, stale)
    commit(driver, session, table, [], ["ghost"])
    driver.open_txn(session)
    return driver


@contextmanager
def followed(
    driver: Driver, places: HostPlaces = NO_PLACES, seen: Seen = unseen
) -> Iterator[Served]:
    """Serve the rows of a follower that runs, once it has caught up."""
    store, stop = MemoryStore(), Signal()
    caught_up = Signal()
    follower = Follower(driver.log, store, caught_up=caught_up.set)
    thread = Thread(target=follower.run, args=(stop,))
    thread.start()
    try:
        assert caught_up.wait(PATIENCE_S)
        with serving(
            lambda: StoreReads(store.reader()), follower, places=places, seen=seen
        ) as served:
            served.reads.wait(driver.head.position, PATIENCE_MS)
            yield served
    finally:
        stop.set()
        thread.join()


def test_a_follower_that_caught_up_is_ready_and_says_by_which_checks() -> None:
    with followed(played()) as served:
        answer = served.ask("/readyz")
        checks = answer.form["checks"]
        assert (answer.status, answer.form["status"]) == (200, "UP")
        assert answer.form["role"] == "follower"
        assert {name: each["status"] for name, each in checks.items()} == {
            "store": "UP",
            "position": "UP",
            "lag": "UP",
            "registered": "UP",
        }


def missing(tmp_path: Path) -> StoreReads:
    """Raise what opening a store raises that is not there."""
    raise StoreMissingError(tmp_path)


def test_before_the_state_is_loaded_nothing_is_ready_and_the_process_lives(tmp_path: Path) -> None:
    with serving(lambda: missing(tmp_path)) as served:
        answer = served.ask("/readyz")
        assert answer.status == 503
        # Whether trims wait for it makes no process unready.
        checks = {
            name: each for name, each in answer.form["checks"].items() if name != "registered"
        }
        assert {each["status"] for each in checks.values()} == {"DOWN"}
        assert "no store at" in answer.form["checks"]["store"]["detail"]
        assert served.ask("/livez").status == 200


def test_a_follower_that_has_not_come_to_the_end_it_found_or_is_behind_is_not_ready() -> None:
    store = MemoryStore()
    clock = ManualClock()
    follower = Follower(played().log, store, clock=clock)
    follower.lag()
    clock.elapsed_s += 60.0
    with serving(lambda: StoreReads(store.reader()), follower) as served:
        checks = served.ask("/readyz").form["checks"]
        assert checks["position"] == {"status": "DOWN", "detail": "catching up, at position 0"}
        assert checks["lag"]["status"] == "DOWN"


@pytest.mark.parametrize(("lag_max_s", "status"), [(60.0, "UP"), (59.0, "DOWN")])
def test_rows_may_be_behind_by_the_bound_and_not_by_more(lag_max_s: float, status: str) -> None:
    store, driver, clock = MemoryStore(), Driver(), ManualClock()
    follower = Follower(driver.log, store, clock=clock)
    follower.fold.feed(driver.records)
    clock.elapsed_s = (driver.now - clock.now_ms()) / 1000 + QUIET_S
    driver.open_session()
    follower.lag()
    clock.elapsed_s += 60.0
    with serving(lambda: StoreReads(store.reader()), follower, lag_max_s=lag_max_s) as served:
        assert served.ask("/readyz").form["checks"]["lag"]["status"] == status


def test_broker_away() -> None:
    """If the broker does not answer, nobody knows the lag: not ready, and still metrics."""
    store = MemoryStore()
    follower = Follower(AwayLog(), store)
    with serving(lambda: StoreReads(store.reader()), follower) as served:
        assert "no answer about" in served.ask("/readyz").form["checks"]["lag"]["detail"]
        assert "lakeledger_lag_positions" not in samples(served)
        assert samples(served)["lakeledger_position"] == 0


def test_one_look_for_all() -> None:
    async def ask() -> list[Lag | LedgerError | None]:
        waiting = PositionWaiting(Readers(lambda: StoreReads(MemoryStore().reader())))
        looks = count(1)
        health = Health("nothing", waiting, {}, lambda: Lag(next(looks), 0, 0))
        with closing(health):
            together = await asyncio.gather(*(health.lag() for _ in range(3)))
            return [*together, await health.lag()]

    assert asyncio.run(ask()) == [Lag(1, 0, 0)] * 4


def test_what_the_follower_did_and_how_things_stand_is_counted_by_type_and_exception() -> None:
    driver = played()
    with followed(driver) as served:
        found = samples(served)
    expected = {
        "lakeledger_position": driver.head.position,
        "lakeledger_lag_positions": 0,
        "lakeledger_lag_seconds": 0,
        "lakeledger_events_applied_total TxnCommitted": 3,
        "lakeledger_events_applied_total TxnAborted": 1,
        "lakeledger_events_applied_total LedgerCreated": 1,
        "lakeledger_conflicts_total ConcurrentDeleteRead": 0,
        "lakeledger_conflicts_total ConcurrentDeleteDelete": 1,
        "lakeledger_anomalies_total": 1,
        "lakeledger_open_txns": 1,
        "lakeledger_aborted_txns": 0,
        "lakeledger_cleanup_watermark": driver.state.txns.watermark,
    }
    assert {name: found.get(name, 0) for name in expected} == expected
    assert found["lakeledger_apply_seconds_count"] >= 1
    assert found["lakeledger_apply_seconds_sum"] > 0
    assert found["process_resident_memory_bytes"] > 0


def test_requests_are_counted_by_path_whatever_number_stands_in_it_and_by_status() -> None:
    with followed(played()) as served:
        for path in ("/v1/txns/1", "/v1/txns/2", "/v1/txns/99", "/v1/txns/x", "/v1/none"):
            served.ask(path)
        found = samples(served)
    counted = {name: value for name, value in found.items() if "_http_requests_total" in name}
    assert counted == {
        "lakeledger_http_requests_total /txns/{txn} 200": 2,
        "lakeledger_http_requests_total /txns/{txn} 404": 1,
        "lakeledger_http_requests_total /txns/{txn} 400": 1,
        "lakeledger_http_requests_total /position 200": 1,
    }
    assert found["lakeledger_http_request_seconds_count /txns/{txn}"] == 4


class Busy(FollowedEntries):
    """Entries that tell nobody what they hold before they may."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__(log)
        self.begun, self.may_go_on = Signal(), Signal()

    def lengths(self) -> Mapping[int, int]:
        """Return how many versions are held of each table, once that is allowed."""
        self.begun.set()
        self.may_go_on.wait(PATIENCE_S)
        return super().lengths()


def test_metrics_hold_nobody_up() -> None:
    driver = played()
    store, entries = rows_of(driver), Busy(driver.log)
    cache = MetadataCache(entries, RowMetadataStore(store), CATALOG)
    process = CacheProcess(cache, ReadLists(Reopened(lambda: StoreReads(store))))
    server = serve_cache(process, CacheSettings(http="127.0.0.1:0"))
    with closing(Served(server)) as served, ThreadPoolExecutor(2) as pool:
        metrics = pool.submit(served.ask, "/metrics")
        assert entries.begun.wait(PATIENCE_S)
        lives = pool.submit(served.ask, "/livez")
        try:
            assert lives.result(PATIENCE_S / 4).status == 200
            assert not metrics.done()
        finally:
            entries.may_go_on.set()
        assert metrics.result(PATIENCE_S).status == 200
