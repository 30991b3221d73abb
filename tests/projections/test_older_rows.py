"""Rows that an older version of the program laid out: made anew, if the log holds all of them."""

from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from time import monotonic

import pytest

from ledger.errors import EventsLostError, LogDamagedError
from ledger.log.port import Topic
from projections.errors import StoreVersionError
from projections.fold.follower import Follower, follow, has_older_rows
from projections.store.port import FORMAT_VERSION
from projections.store.rocks_store import RocksStore
from tests.driver import Driver
from tests.lost_end import REWRITES, domain, lose_end
from tests.projections.digests import digest
from tests.projections.followed import rows_of

PATIENCE_S = 30.0


def laid_out(driver: Driver, root: Path, version: int) -> None:
    with RocksStore.rebuild(root, version=version) as store:
        stop = Signal()
        Follower(driver.log, store, caught_up=stop.set).run(stop)
        store.publish()


def test_a_follower_makes_older_rows_anew_without_being_asked(tmp_path: Path) -> None:
    root, driver, stop = tmp_path / "store", domain(), Signal()
    laid_out(driver, root, FORMAT_VERSION - 1)
    seen: list[tuple[int, int]] = []
    started: list[Follower] = []
    options = {"progress": lambda *how_far: seen.append(how_far), "started": started.append}
    thread = Thread(target=follow, args=(driver.log, root, stop), kwargs=options)
    thread.start()
    until_s = monotonic() + PATIENCE_S
    while not (started and started[0].is_caught_up) and monotonic() < until_s:
        thread.join(0.01)
    stop.set()
    thread.join(PATIENCE_S)

    end = driver.log.ends(Topic.EVENTS)[1]
    assert seen[-1] == (end, end)
    with RocksStore.open(root) as store:
        assert digest(store) == digest(rows_of(driver))
    assert not has_older_rows(driver.log, root)


def test_newer_rows(tmp_path: Path) -> None:
    """Rows of a newer version are left alone: that version can go on with them."""
    root, driver = tmp_path / "store", domain()
    laid_out(driver, root, FORMAT_VERSION + 1)

    assert not has_older_rows(driver.log, root)
    with pytest.raises(StoreVersionError, match="Run the version of the program"):
        follow(driver.log, root, Signal())


def cut(driver: Driver) -> None:
    """Let a log lose its last event."""
    driver.log.cut(Topic.EVENTS, len(driver.records) - 1)


def rewrite(driver: Driver) -> None:
    """Let a log lose its end, and others write on."""
    lose_end(driver, REWRITES[0])


@pytest.mark.parametrize("lose", [cut, rewrite])
def test_last_copy(tmp_path: Path, lose: Callable[[Driver], None]) -> None:
    """Older rows stay if they have seen what the log does not hold."""
    root, driver = tmp_path / "store", domain()
    laid_out(driver, root, FORMAT_VERSION - 1)
    lose(driver)

    with pytest.raises(LogDamagedError, match=r"rows in .*store"):
        follow(driver.log, root, Signal())
    with RocksStore.open(root, version=FORMAT_VERSION - 1) as store:
        assert store.get(b"!log") is not None


def test_older_rows_of_a_ledger_whose_events_are_gone_are_kept(tmp_path: Path) -> None:
    root, driver = tmp_path / "store", domain()
    laid_out(driver, root, FORMAT_VERSION - 1)
    driver.log.recreate(Topic.EVENTS)
    with pytest.raises(EventsLostError):
        follow(driver.log, root, Signal())
    with RocksStore.open(root, version=FORMAT_VERSION - 1) as store:
        assert store.get(b"!log") is not None


def test_a_store_that_is_empty_has_nothing_to_make_anew(tmp_path: Path) -> None:
    root, driver = tmp_path / "store", domain()
    assert not has_older_rows(driver.log, root)
    assert not root.exists()
    with RocksStore.rebuild(root, version=FORMAT_VERSION - 1) as store:
        store.publish()
    assert has_older_rows(driver.log, root)
