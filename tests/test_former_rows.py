"""Rows that were there before a ledger comes up: compared with the log, set aside, let go."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger.errors import LogDamagedError, SettingsError
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.machine.folder import SPARK, STORE
from ledger.machine.former_rows import (
    check_rows,
    check_rows_given_up,
    let_go,
    set_aside,
    set_rows_aside,
)
from ledger.recovery.cutting import append_cut
from projections.fold.fold import Fold
from projections.queries import open_reads
from projections.store.port import FORMAT_VERSION
from projections.store.rocks_store import RocksStore
from tests.driver import Driver
from tests.lost_end import REWRITES, Rewrite, domain, fill, lose_end
from tests.recovery.logs import surveyed


def rows_in(folder: Path, driver: Driver) -> None:
    with RocksStore.open(folder / STORE) as store:
        Fold.load(store, driver.log).feed(driver.records)


def shorter(driver: Driver) -> None:
    """Let a log lose its last event."""
    driver.log.cut(Topic.EVENTS, len(driver.records) - 1)


def empty(driver: Driver) -> None:
    """Let a log lose everything."""
    driver.log.cut(Topic.EVENTS, 0)


def longer(driver: Driver) -> None:
    """Let a log go on."""
    driver.open_session("bob")


def as_it_was(_driver: Driver) -> None:
    """Leave a log as it is."""


@pytest.mark.parametrize("becomes", [as_it_was, longer])
def test_rows_of_this_log(tmp_path: Path, becomes: Callable[[Driver], None]) -> None:
    """Rows that the log holds are nothing in the way of a leader, and no rows are not either."""
    ours = domain()
    check_rows(tmp_path / STORE, ours.log)
    rows_in(tmp_path, ours)
    becomes(ours)
    check_rows(tmp_path / STORE, ours.log)


@pytest.mark.parametrize("loses", [shorter, empty])
def test_rows_ahead_of_the_log(tmp_path: Path, loses: Callable[[Driver], None]) -> None:
    """A log that ends before the rows do gets no leader, and what that would do is said."""
    ours = domain()
    rows_in(tmp_path, ours)
    loses(ours)
    with pytest.raises(LogDamagedError, match=r"rows in .* were made up to 5.*lakeledger recover"):
        check_rows(tmp_path / STORE, ours.log)


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda each: each.__name__)
def test_a_log_that_grew_another_end_is_told(tmp_path: Path, rewrite: Rewrite) -> None:
    ours = domain()
    rows_in(tmp_path, ours)
    lose_end(ours, rewrite)
    with pytest.raises(LogDamagedError, match="it lost its end, and others wrote on"):
        check_rows(tmp_path / STORE, ours.log)


@pytest.mark.parametrize("loses", [shorter, lambda driver: lose_end(driver, REWRITES[0])])
def test_rows_that_nothing_was_cut_for(tmp_path: Path, loses: Callable[[Driver], None]) -> None:
    ours = domain()
    rows_in(tmp_path, ours)
    check_rows_given_up(tmp_path / STORE, ours.log)
    loses(ours)
    with pytest.raises(LogDamagedError, match="lakeledger recover --cut"):
        check_rows_given_up(tmp_path / STORE, ours.log)
    append_cut(ours.log, surveyed(ours.log, tmp_path / STORE), "power cut")
    check_rows_given_up(tmp_path / STORE, ours.log)


def test_rows_of_another_ledger_tell_nothing_of_this_one(tmp_path: Path) -> None:
    theirs = Driver(ledger="beef")
    fill(theirs, 9)
    rows_in(tmp_path, theirs)
    check_rows_given_up(tmp_path / STORE, domain().log)


def test_rows_that_cannot_be_read(tmp_path: Path) -> None:
    """What is no store says nothing of the log: its writer will say what is wrong with it."""
    with RocksStore.rebuild(tmp_path / STORE, version=FORMAT_VERSION + 1) as store:
        store.publish()
    check_rows(tmp_path / STORE, MemoryLog())


def rebuilt(folder: Path, driver: Driver) -> list[str]:
    """Set rows aside, make new ones of what a log holds now, and return what is said."""
    said: list[str] = []
    set_rows_aside(folder, said.append)
    rows_in(folder, driver)
    with closing(open_reads(folder / STORE)) as reads:
        let_go(folder, reads, said.append)
    return said


@pytest.mark.parametrize("becomes", [as_it_was, longer])
def test_rows_let_go(tmp_path: Path, becomes: Callable[[Driver], None]) -> None:
    """Rows that were set aside go once the new ones hold all of them."""
    ours = domain()
    rows_in(tmp_path, ours)
    (tmp_path / SPARK).mkdir()
    becomes(ours)
    said = rebuilt(tmp_path, ours)
    assert [line.partition(";")[0] for line in said] == ["the rows are made anew"] * 2
    assert [each.name for each in tmp_path.iterdir()] == [STORE]


@pytest.mark.parametrize("loses", [shorter, lambda driver: lose_end(driver, REWRITES[0])])
def test_rows_kept(tmp_path: Path, loses: Callable[[Driver], None]) -> None:
    """Rows that hold what the log has lost are kept, however often others are made."""
    ours = domain()
    rows_in(tmp_path, ours)
    loses(ours)
    for _ in range(2):
        assert "they may be the last copy" in rebuilt(tmp_path, ours)[-1]
    (kept,) = set_aside(tmp_path / STORE)
    with closing(open_reads(kept)) as reads:
        assert reads.position() == ours.head.position


def test_rows_of_another_format_are_kept_and_that_is_said(tmp_path: Path) -> None:
    ours = domain()
    with RocksStore.rebuild(tmp_path / STORE, version=FORMAT_VERSION + 1) as store:
        store.publish()
    assert "cannot be read and are kept" in rebuilt(tmp_path, ours)[-1]
    assert len(list(set_aside(tmp_path / STORE))) == 1


def test_rows_that_stay_although_they_were_to_go_are_no_silent_success(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file in the place of the folder")
    with pytest.raises(SettingsError, match="cannot be set aside"):
        set_rows_aside(tmp_path / "folder", lambda _line: None)
