"""Restoring: the same log again, whatever interrupts it; damage and content are named."""

from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.backup.contents import manifest_in
from ledger.backup.errors import (
    BackupDamagedError,
    BackupError,
    RestoreDifferError,
    RestoreRefusedError,
)
from ledger.backup.place import FolderPlace
from ledger.backup.restoring import Restore, check_backup
from ledger.config.settings import Genesis
from ledger.core.commands import OpenTxn
from ledger.core.events.events import CommandsMoved, TxnOpened
from ledger.errors import LogDamagedError, RestoreUnfinishedError
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Topic
from ledger.log.replay import verify
from ledger.sequencer.sequencer import Sequencer
from ledger.session.tail import read_genesis
from ledger.testing import FixedClock
from tests.backup.benches import (
    HISTORIES,
    NEVER,
    Crash,
    CrashingLog,
    Step,
    another_topic,
    backed_up,
    content,
    folder,
    grow,
    manifest_of,
    restored,
)
from tests.driver import CATALOG, Driver
from tests.integration.raw_client import UNNUMBERED, RawClient
from tests.lost_end import domain

ROUND_S = 0.1
OPEN_TXN = OpenTxn(*UNNUMBERED, "default", 1, 0)


@settings(deadline=None, max_examples=40)
@given(HISTORIES, st.integers(100, 3_000))
def test_a_restored_log_is_the_same_log_to_readers(steps: list[Step], file_bytes: int) -> None:
    with folder() as path:
        driver = Driver()
        grow(driver, steps)
        backed_up(driver.log, path, file_bytes)
        log = another_topic(MemoryLog())
        outcome = restored(path, log)
        assert outcome == (len(driver.records), True)
        assert content(log) == content(driver.log)
        assert verify(log) == verify(driver.log)
        assert read_genesis(log, 0.0).ledger == manifest_of(path).ledger


@settings(deadline=None, max_examples=40)
@given(HISTORIES, st.integers(100, 3_000), st.lists(st.integers(0, 30), max_size=6))
def test_killed_at_any_point(steps: list[Step], file_bytes: int, kills: list[int]) -> None:
    with folder() as path:
        driver = Driver()
        grow(driver, steps)
        backed_up(driver.log, path, file_bytes)
        log = CrashingLog(0)
        another_topic(log)
        for kill in kills:
            log.left = kill
            try:
                restored(path, log)
            except Crash:
                with pytest.raises((RestoreUnfinishedError, IndexError)):
                    begin_reading(log)
        log.left = 1_000
        restored(path, log)
        assert content(log) == content(driver.log)
        assert verify(log).digest == verify(driver.log).digest
        begin_reading(log)


def begin_reading(log: MemoryLog) -> None:
    """Start a sequencer, as one that stands by; IndexError where the restore has not begun."""
    if not log.topics[Topic.CATALOGS].records:
        raise IndexError
    sequencer = Sequencer(log, Genesis("demo", CATALOG), clock=FixedClock())
    sequencer.close()


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_any_damage_is_named(data: st.DataObject) -> None:
    with folder() as path:
        driver = Driver()
        grow(driver, data.draw(HISTORIES) + [Driver.open_session] * 9)
        backed_up(driver.log, path, 400)
        file = path / data.draw(
            st.sampled_from(sorted(each.name for each in path.iterdir() if each.suffix))
        )
        harm = data.draw(st.sampled_from(HARMS))
        harm(file, data)
        log = another_topic(MemoryLog())
        if file.name == "backup.json" and not file.exists():
            with pytest.raises(BackupError, match="no backup"):
                restored(path, log)
        else:
            with pytest.raises(BackupDamagedError) as found:
                restored(path, log)
            assert found.value.file == file.name
        assert content(log) == []


def truncate(file: Path, data: st.DataObject) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 2))])


def flip(file: Path, data: st.DataObject) -> None:
    """Flip one bit of a file, behind the last byte of which JSON does not care."""
    whole = bytearray(file.read_bytes())
    bit = data.draw(st.integers(0, 8 * (len(whole) - 1) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    file.write_bytes(whole)


def remove(file: Path, _data: st.DataObject) -> None:
    file.unlink()


HARMS: list[Callable[[Path, st.DataObject], None]] = [truncate, flip, remove]


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    driver = domain()
    grow(driver, [Driver.open_session] * 20)
    backed_up(driver.log, tmp_path, 400)
    return tmp_path


def test_swapped_files(backup: Path) -> None:
    """Two files that were swapped: the first is named, and what it holds."""
    first, second = (backup / file.name for file in manifest_of(backup).files[:2])
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    with pytest.raises(
        BackupDamagedError, match=f"{first.name}: it holds the bytes of {second.name}"
    ):
        restored(backup, MemoryLog())


def test_a_file_of_another_ledgers_backup_is_told_to_be_one(backup: Path) -> None:
    with folder() as theirs:
        driver = Driver(ledger="beef")
        backed_up(driver.log, theirs, 10_000)
        foreign = (theirs / manifest_of(theirs).files[0].name).read_bytes()
    name = manifest_of(backup).files[0].name
    (backup / name).write_bytes(foreign)
    with pytest.raises(BackupDamagedError, match=f"{name}: it is a file of ledger beef"):
        restored(backup, MemoryLog())


def test_a_path_without_a_backup_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="there is no backup in"):
        restored(tmp_path / "nowhere", MemoryLog())


def test_cluster_has_the_ledger(backup: Path) -> None:
    log = MemoryLog()
    log.writer(Topic.COMMANDS).append(b"", b"a command")
    log.writer(Topic.HEARTBEATS).append(b"1", b"")
    with pytest.raises(RestoreRefusedError, match="its topics commands, heartbeats hold records"):
        restored(backup, log)
    log = domain().log
    before = content(log)
    with pytest.raises(RestoreRefusedError, match=f"its events topic holds {len(before)} records"):
        restored(backup, log)
    assert content(log) == before


def test_a_restore_that_is_run_again_writes_nothing(backup: Path) -> None:
    log = another_topic(MemoryLog())
    restored(backup, log)
    marks = log.ends(Topic.CATALOGS)
    assert restored(backup, log) == (0, True)
    assert log.ends(Topic.CATALOGS) == marks
    log.writer(Topic.EVENTS).append(b"", b"more")
    with pytest.raises(RestoreRefusedError, match="went on after it was restored"):
        restored(backup, log)


def test_a_record_that_another_program_wrote_meanwhile_is_found_at_the_end(backup: Path) -> None:
    manifest = manifest_of(backup)
    log = MeddledLog()
    another_topic(log)
    with pytest.raises(RestoreDifferError, match="another program wrote"):
        Restore(log, FolderPlace(backup), manifest).run(NEVER)
    with pytest.raises(RestoreUnfinishedError):
        begin_reading(log)


class MeddledLog(MemoryLog):
    """A log that gets a record of another program before the restore reads it back."""

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        if topic is Topic.EVENTS:
            self.writer(Topic.EVENTS).append(b"", b"a record of another program")
        return super().reader(topic, offset)


def test_a_stop_ends_each_stage_and_the_next_run_ends_it_all(backup: Path) -> None:
    log, place = another_topic(MemoryLog()), FolderPlace(backup)
    stop = Signal()
    stop.set()
    manifest = manifest_in(place)
    assert not check_backup(place, manifest, stop)
    assert Restore(log, place, manifest).run(stop) == (0, False)
    assert restored(backup, log).is_whole


def test_a_topic_copied_by_other_means_is_compared_with_a_backup_first(backup: Path) -> None:
    log = another_topic(MemoryLog())
    restored(backup, log)
    log.recreate(Topic.CATALOGS)
    log.writer(Topic.COMMANDS).append(b"", b"a command")
    log.writer(Topic.EVENTS).append(b"", log.topics[Topic.EVENTS].records[0].value)
    with pytest.raises(LogDamagedError, match="it was recorded in topic"):
        read_genesis(log, 0.0)
    assert restored(backup, log) == (0, True)
    assert read_genesis(log, 0.0).ledger == manifest_of(backup).ledger


def test_a_copy_that_is_not_of_the_backups_history_is_refused(backup: Path) -> None:
    with folder() as theirs:
        driver = domain()
        grow(driver, [Driver.open_session, Driver.fence] * 20)
        backed_up(driver.log, theirs)
        log = another_topic(MemoryLog())
        restored(theirs, log)
    log.recreate(Topic.CATALOGS)
    with pytest.raises(RestoreDifferError, match="another program wrote"):
        restored(backup, log)
    with pytest.raises(LogDamagedError, match="it was recorded in topic"):
        read_genesis(log, 0.0)


def test_the_ledger_goes_on(backup: Path) -> None:
    log = another_topic(MemoryLog())
    restored(backup, log)
    before = manifest_of(backup).reached.head
    clock = FixedClock()
    sequencer = Sequencer(log, Genesis("demo", CATALOG), clock=clock)

    def turn() -> None:
        # The leader of before the backup is gone, which takes a standby a while to believe.
        clock.advance(ROUND_S)
        sequencer.step(0.0)

    with RawClient(log, turn) as client:
        session = client.open_session()
        opened = client.ask(session, OPEN_TXN)
        moved = [event for event in client.events if isinstance(event.body, CommandsMoved)]
    sequencer.close()
    assert isinstance(opened.body, TxnOpened)
    assert opened.control.txn == 2
    assert opened.control.position > before.position
    assert [each.control.cmd for each in moved] == [-1]
    taken = backed_up(log, backup)
    assert taken.new_records == len(content(log)) - before.position
    again = another_topic(MemoryLog())
    restored(backup, again)
    assert verify(again) == verify(log)
