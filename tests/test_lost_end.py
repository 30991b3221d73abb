"""A log that lost its end while it was read stops whoever reads it, before anything is applied.

The feeder is held to it where Spark is, and the rule they share in the tests of the log.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event as Signal

import pytest

from ledger.cli.log.watch import watch
from ledger.config.settings import Genesis
from ledger.core.acceptance import LogHead
from ledger.core.commands import OpenTxn
from ledger.errors import LogDamagedError
from ledger.sequencer.sequencer import Sequencer
from ledger.session.tail import Tail
from projections.fold.follower import Follower
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from tests.driver import CATALOG, NEVER, Driver
from tests.lost_end import REWRITES, Rewrite, domain, lose_end
from tests.oracle.reads import StateReads
from tests.projections.digests import digest

PATIENCE_S = 20.0

every_rewrite = pytest.mark.parametrize("rewrite", REWRITES, ids=lambda each: each.__name__)


def head_of(driver: Driver) -> LogHead:
    return driver.head.copy()


@every_rewrite
def test_a_standby_stops_with_the_state_of_what_was_lost(rewrite: Rewrite) -> None:
    driver = domain()
    sequencer = Sequencer(driver.log, Genesis("demo", CATALOG))
    sequencer.step(0.0)
    lose_end(driver, rewrite)

    with pytest.raises(LogDamagedError):
        sequencer.step(0.0)
    assert sequencer.acceptor.head == head_of(driver)
    assert sequencer.state == driver.state
    sequencer.close()


@every_rewrite
def test_a_tail_ends_and_its_waiting_threads_get_the_error(rewrite: Rewrite) -> None:
    driver = domain()
    tail = Tail.start(driver.log, 0)
    (session,) = driver.state.sessions.by_number
    answered, awaited = tail.expect((session, 2)), tail.expect((session, 3))
    driver.ask(OpenTxn(session, 2, NEVER, "default", 1, 0))
    answered.wait(PATIENCE_S)
    lose_end(driver, rewrite)

    with pytest.raises(LogDamagedError):
        awaited.wait(PATIENCE_S)
    assert tail.position == driver.head.position
    tail.close()


@every_rewrite
def test_a_follower_ends_and_its_store_holds_what_was_read_before(rewrite: Rewrite) -> None:
    driver, store = domain(), MemoryStore()
    with following(driver, store) as ended:
        before = digest(store)
        lose_end(driver, rewrite)

        with pytest.raises(LogDamagedError):
            ended.result(PATIENCE_S)
    assert digest(store) == before


@contextmanager
def following(driver: Driver, store: MemoryStore) -> Iterator[Future[None]]:
    """Run a follower that has read the log; give what becomes of it."""
    stop = Signal()
    follower = Follower(driver.log, store)
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(follower.run, stop)
        try:
            StoreReads(store).wait(driver.head.position, int(PATIENCE_S * 1000))
            yield ended
        finally:
            stop.set()


@every_rewrite
def test_a_watcher_gets_the_error_of_a_lost_end(rewrite: Rewrite) -> None:
    driver = domain()
    watched = watch(driver.log, 0, 0, 0.0)
    shown = list(iter(watched.__next__, None))
    lose_end(driver, rewrite)

    with pytest.raises(LogDamagedError):
        next(watched)
    assert shown == driver.events


@every_rewrite
def test_reads_from_a_state_in_memory_raise_now_and_at_every_later_call(rewrite: Rewrite) -> None:
    driver = domain()
    reads = StateReads(driver.log)
    reads.position()
    lose_end(driver, rewrite)

    with pytest.raises(LogDamagedError):
        reads.position()
    with pytest.raises(LogDamagedError):
        reads.watermark()
