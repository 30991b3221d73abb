"""A backup tells what a log has lost: who did what, and above what the cut has to go."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.backup.contents import manifest_in
from ledger.backup.errors import BackupDamagedError, BackupForeignError
from ledger.backup.place import FolderPlace
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.recovery.cutting import append_cut
from ledger.recovery.survey import Survey
from tests.backup.benches import HISTORIES, STRAY, Step, backed_up, folder, grow
from tests.core.cutting import ids_given
from tests.driver import Driver
from tests.recovery.logs import commits, led, surveyed

GENESIS = 3


@pytest.fixture
def log(tmp_path: Path) -> MemoryLog:
    """Return the log of a ledger with a table, which was backed up behind its first commits."""
    log = MemoryLog()
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
        commits(ledger)
    backed_up(log, tmp_path / "backup")
    return log


def beside(log: MemoryLog, tmp_path: Path, **how: Any) -> Survey:
    return surveyed(log, backup=FolderPlace(tmp_path / "backup"), **how)


def test_a_backup_that_the_log_holds_has_nothing_to_tell(log: MemoryLog, tmp_path: Path) -> None:
    with led(log) as ledger:
        commits(ledger)
    found = beside(log, tmp_path)
    assert (found.is_ahead, found.lost) == (False, [])
    assert found.verdicts[-1] == "the same"
    assert found.shared == manifest_in(FolderPlace(tmp_path / "backup")).reached.head.position


def test_what_only_the_backup_holds_is_listed_and_cut(log: MemoryLog, tmp_path: Path) -> None:
    whole = surveyed(log)
    kept = len(log.topics[Topic.EVENTS].records) - 7
    log.cut(Topic.EVENTS, kept)
    found = beside(log, tmp_path, margin=0)
    assert found.is_ahead
    assert found.shared == found.head.position
    ended = {each.txn: each for each in found.lost if each.status == "committed"}
    assert ended
    for txn, each in ended.items():
        assert [part.write_id for part in each.parts] == [txn]
        assert each.ended > found.head.position
        assert each.known_from == f"backup in {tmp_path / 'backup'}"
    assert found.seen.next_txn >= whole.state.txns.next_txn
    append_cut(log, found, "power cut")
    with led(log) as ledger:
        (txn,) = commits(ledger, count=1)
        ids = ledger.reads().write_ids_at(1)
    assert txn > max(ended)
    assert not any(ids.is_valid(each) for each in ended)
    assert beside(log, tmp_path).verdicts[-1] == "lost by a cut"


def test_a_log_that_went_on_is_told_from_its_backup(log: MemoryLog, tmp_path: Path) -> None:
    kept = len(log.topics[Topic.EVENTS].records) - 7
    log.cut(Topic.EVENTS, kept)
    before = surveyed(log).head.position
    with led(log) as ledger:
        commits(ledger, count=9)
    found = beside(log, tmp_path)
    assert (found.verdicts[-1], found.is_ahead) == ("another history", True)
    assert found.shared == before
    assert found.lost


def test_a_backup_of_another_ledger_tells_nothing(log: MemoryLog, tmp_path: Path) -> None:
    backed_up(Driver(ledger="beef").log, tmp_path / "theirs")
    with pytest.raises(BackupForeignError, match="Nothing was changed"):
        surveyed(log, backup=FolderPlace(tmp_path / "theirs"))


def test_a_damaged_file_of_the_backup_is_named(log: MemoryLog, tmp_path: Path) -> None:
    file = next((tmp_path / "backup").glob("*.avro"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(BackupDamagedError, match=file.name):
        beside(log, tmp_path)


@settings(deadline=None, max_examples=40)
@given(HISTORIES, st.floats(0, 1))
def test_every_txn_that_a_lost_part_gave_is_listed(steps: list[Step], keep: float) -> None:
    driver = Driver()
    grow(driver, steps)
    length = GENESIS + round((len(driver.records) - GENESIS) * keep)
    with folder() as path:
        backed_up(driver.log, path)
        short = MemoryLog()
        with closing(short.writer(Topic.EVENTS)) as writer:
            for record in driver.records[:length]:
                writer.append(record.key, record.value)
        # The cut that passes over it may be in what was lost.
        passed = [each.offset for each in driver.records if each.value == STRAY]
        found = surveyed(short, backup=FolderPlace(path), margin=0, passed=passed)
    rest = [event for event in driver.events if event.control.position > found.head.position]
    lost = ids_given(rest)
    given = {each[1] for each in lost if each[0] == "txn"}
    assert given <= {each.txn for each in found.lost}
    assert found.is_ahead is bool(rest)
    for kind, *numbers in lost:
        match kind, numbers:
            case "position", [int(position)]:
                assert position <= found.seen.position
            case "txn", [int(txn)]:
                assert txn < found.seen.next_txn
            case "table", [int(table)]:
                assert table < found.seen.next_table
            case "write id", [int(table), int(write_id)]:
                assert write_id <= found.seen.tables[table][0]
            case "version", [int(table), int(version)]:
                assert version <= found.seen.tables[table][1]
