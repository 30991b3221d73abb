"""What a ledger's log holds and how it grows."""

from pathlib import Path

import pytest

from ledger.cli.log.size import backup_held, day_text
from ledger.config.config import Settings
from ledger.config.settings import PublisherSettings
from ledger.core.limits import MIB
from ledger.errors import AccessDeniedError
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Topic
from ledger.machine.growth import (
    DAY_MS,
    Growth,
    HeldBytes,
    asides_held,
    folder_bytes,
    growth,
    offset_since,
    rows_held,
    topic_held,
)
from ledger.trimming.watch import LogSeen
from projections.web.roles.log_seen import log_metrics
from tests.backup.images.benches import Host
from tests.web.looks import LOOK

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
    assert growth(log, 2 * HOUR_MS, events, []) == Growth(24, 2_400, 0, 2 * HOUR_MS)


@pytest.mark.parametrize(("age_ms", "is_known"), [(HOUR_MS - 1, False), (HOUR_MS, True)])
def test_an_hour_of_history_is_the_least_that_tells_of_a_day(
    age_ms: int, *, is_known: bool
) -> None:
    log = log_with(*range(32))
    events = topic_held(log, Topic.EVENTS)
    assert events is not None
    added = growth(log, age_ms, events, [])
    assert (added.is_known, added.days_left(10**12) is not None) == (is_known, is_known)
    look = LOOK._replace(a_day=added)
    names = {metric.name for metric in log_metrics(LogSeen(look))}
    assert ("lakeledger_day_bytes" in names) is is_known
    assert ("less than an hour" in day_text(added, 0.5)) is not is_known


def test_an_index_that_the_broker_made_in_advance_counts_by_what_it_takes(tmp_path: Path) -> None:
    log = log_with(1, 2, 3)
    (tmp_path / "0.log").write_bytes(bytes(1_000))
    (tmp_path / "5.log.deleted").write_bytes(bytes(500))
    for name in ("0.index", "0.timeindex"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(10 * MIB)
    held = topic_held(log, Topic.EVENTS, tmp_path)
    assert held is not None
    assert held.bytes == 1_500
    assert folder_bytes(tmp_path) == 1_500


def test_segments_with_trimmed_records_make_no_record_larger(tmp_path: Path) -> None:
    """Few records are left of a trim, and the segment in front of them is still there."""
    now = 3 * DAY_MS
    log = log_with(0, 1, now - HOUR_MS, now - 1)
    log.remove_below(Topic.EVENTS, 2)
    (tmp_path / "0.log").write_bytes(bytes(MIB))
    events = topic_held(log, Topic.EVENTS, tmp_path)
    assert events is not None
    assert (events.records, events.bytes) == (2, MIB)
    assert growth(log, now, events, [HeldBytes("rows", 8_000)]) == Growth(
        48, 4_800, 96_000, HOUR_MS
    )


def test_every_process_with_rows_counts(tmp_path: Path) -> None:
    places = {"store": 1, "spark/rows": 2, "publisher": 4, "notifier": 8, "store.aside-1": 16}
    for name, size in places.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_bytes(bytes(size))
    held = {each.what: each.bytes for each in rows_held(tmp_path / "store", Settings())}
    assert held == {"rows": 1, "feeder": 2, "publisher": 4, "notifier": 8}
    aside = [(each.what, each.bytes) for each in asides_held(tmp_path / "store")]
    assert aside == [("store.aside-1", 16)]
    elsewhere = Settings(publisher=PublisherSettings(store=tmp_path / "notifier"))
    assert [(each.what, each.bytes) for each in rows_held(None, elsewhere)] == [("publisher", 8)]


def test_a_backup_counts_with_each_file_of_its_images_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host(tmp_path)
    host.driver.open_session()
    first = host.back_up()
    host.driver.open_session()
    second = host.back_up()
    assert first.file != second.file
    held = {each.what.partition(" in ")[0]: each.bytes for each in backup_held(host.place.path)}
    files = {path for path in (tmp_path / "backup").iterdir() if path.suffix == ".avro"}
    rows = {path for path in files if path.name.startswith("rows-")}
    checkpoints = {path for path in files if not path.name.startswith(("rows-", "events-"))}
    assert held["images"] == sum(path.stat().st_size for path in rows | checkpoints)
    assert held["archive"] == sum(path.stat().st_size for path in files - rows - checkpoints)
    assert list(backup_held(str(tmp_path / "none"))) == []
    assert "there is no backup in" in capsys.readouterr().err


class DeniedLog(MemoryLog):
    """A log of which every read is denied."""

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        raise AccessDeniedError(f"READ at {offset} is denied", topic=topic, right="READ")


def test_a_topic_whose_records_may_not_be_read_is_left_out() -> None:
    log = DeniedLog()
    log.writer(Topic.COMMANDS).append(b"", b"command")
    assert topic_held(log, Topic.COMMANDS) is None


def test_a_disk_lasts_as_long_as_nothing_else_fills_it() -> None:
    assert Growth(1, 60, 40).days_left(1_000) == 10
    assert Growth(0, 0, 0).days_left(1_000) is None


def test_all_files_of_a_folder_count(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(bytes(5))
    (tmp_path / "c").write_bytes(bytes(7))
    assert folder_bytes(tmp_path) == 12
