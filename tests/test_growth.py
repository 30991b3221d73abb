"""What a ledger's log holds and how it grows."""

from pathlib import Path

from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.machine.growth import (
    DAY_MS,
    Growth,
    HeldBytes,
    folder_bytes,
    growth,
    offset_since,
    topic_held,
)

HOUR_MS = 60 * 60 * 1000


def log_with(*times_ms: int) -> MemoryLog:
    """Return a log with an event of 80 bytes at each time."""
    clock = iter(times_ms)
    log = MemoryLog(lambda: next(clock))
    writer = log.writer(Topic.EVENTS)
    for _ in times_ms:
        writer.append(b"", bytes(80))
    return log


def test_a_topic_is_measured_by_its_folder_or_by_its_newest_records(tmp_path: Path) -> None:
    log = log_with(1, 2, 3)
    (tmp_path / "0.log").write_bytes(bytes(1_000))
    assert topic_held(log, Topic.EVENTS, tmp_path) == HeldBytes("topic events", 1_000, 3, 1)
    assert topic_held(log, Topic.EVENTS) == HeldBytes("topic events", 300, 3, 1, is_measured=False)
    assert topic_held(log, Topic.CACHE) == HeldBytes("topic cache", 0, 0, None, is_measured=False)


def test_the_first_record_of_a_time_is_found() -> None:
    log = log_with(10, 20, 20, 30)
    found = [offset_since(log, Topic.EVENTS, at) for at in (0, 10, 11, 20, 21, 31)]
    assert found == [0, 0, 1, 1, 3, 4]


def test_a_day_adds_what_the_last_day_added() -> None:
    now = 3 * DAY_MS
    log = log_with(0, DAY_MS, now - HOUR_MS, now - 1)
    events = topic_held(log, Topic.EVENTS)
    assert events is not None
    assert growth(log, now, events, [HeldBytes("rows", 8_000)]) == Growth(2, 200, 4_000)


def test_a_young_ledger_is_measured_by_its_own_time() -> None:
    log = log_with(0, HOUR_MS)
    events = topic_held(log, Topic.EVENTS)
    assert events is not None
    assert growth(log, 2 * HOUR_MS, events, []) == Growth(24, 2_400, 0)


def test_a_disk_lasts_as_long_as_nothing_else_fills_it() -> None:
    assert Growth(1, 60, 40).days_left(1_000) == 10
    assert Growth(0, 0, 0).days_left(1_000) is None


def test_all_files_of_a_folder_count(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(bytes(5))
    (tmp_path / "c").write_bytes(bytes(7))
    assert folder_bytes(tmp_path) == 12
