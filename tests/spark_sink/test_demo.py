"""The demo: its own sums, folders and findings are right; and all of it, run once for real."""

import io
import json
import subprocess
import sys
from itertools import chain
from pathlib import Path
from threading import Event as Signal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.testing import InMemoryLedger
from projections.delta.publisher import DeltaPublisher
from tests.demo.acts.audit import Audit, is_dense, read_audit
from tests.demo.acts.manifest import DatasetManifest, ManifestEntry, read_manifests, with_step
from tests.demo.acts.producer import Job
from tests.demo.answers import differences
from tests.demo.delta_folders import delta_folders, remove_folders, totals_in, valid_folders
from tests.demo.figures import longest_gap_s
from tests.demo.flights import (
    Day,
    Totals,
    columns,
    cut,
    read_days,
    read_flights,
    shares,
    totals_by_day,
    totals_by_month,
    totals_of,
    write_days,
)
from tests.demo.other_readers import READERS, by_month
from tests.demo.report import CheckFailedError, Report, wait_until
from tests.demo.visibility import SeenPosition, TimedCommit, delays_ms, percentiles
from tests.driver import Driver, definition, write

DEMO_S = 300
FLIGHTS = pa.table(
    {
        "month": [1, 1, 1, 2],
        "day": [1, 1, 2, 1],
        "distance": [100, 200, 400, 800],
        "dep_delay": [5, None, -2, None],
    }
)
TOTALS = {Day(1, 1): Totals(2, 300, 5), Day(1, 2): Totals(1, 400, -2), Day(2, 1): Totals(1, 800, 0)}
YEAR = [Day(month, day) for month in range(1, 13) for day in range(1, 29)]


def write_delta(location: Path, month: int, write_id: int) -> None:
    folder = location / f"month={month}" / f"delta_{write_id}"
    folder.mkdir(parents=True)
    pq.write_table(FLIGHTS.drop_columns(["month"]), folder / "1-0.parquet")


def entry(txn: int, step: str, at_ns: int) -> ManifestEntry:
    return ManifestEntry("producer-1", step, txn, txn, 1, 1, 0, at_ns)  # type: ignore[arg-type]


def test_package_is_read_whole() -> None:
    flights = read_flights()

    assert (flights.num_rows, flights["dep_delay"].null_count, len(columns(flights.schema))) == (
        336_776,
        8_255,
        19,
    )


def test_sums_leave_missing_delays_out() -> None:
    assert totals_by_day(FLIGHTS) == TOTALS
    assert totals_by_month(TOTALS, TOTALS) == {1: Totals(3, 700, 3), 2: Totals(1, 800, 0)}
    assert totals_of(FLIGHTS) == Totals(4, 1_500, 3)


def test_day_named_twice_counts_twice() -> None:
    assert totals_by_month(TOTALS, [Day(2, 1), Day(2, 1)]) == {2: Totals(2, 1_600, 0)}


def test_days_cut_the_rows_without_rest(tmp_path: Path) -> None:
    write_days(FLIGHTS, tmp_path / "flights.feather")

    days = read_days(tmp_path / "flights.feather")

    assert {day: totals_of(rows) for day, rows in days.items()} == TOTALS
    assert pa.concat_tables(cut(FLIGHTS).values()).equals(FLIGHTS)


@pytest.mark.parametrize("producers", [1, 4, 5, 12])
def test_every_day_is_in_one_share(producers: int) -> None:
    dealt = shares(YEAR, producers)

    assert sorted(chain(*dealt)) == YEAR
    assert sum(len({day.month for day in share}) for share in dealt) == 12


def test_folder_says_month_and_write_id(tmp_path: Path) -> None:
    write_delta(tmp_path, 12, 34)

    assert [(found.month, found.write_id) for found in delta_folders(tmp_path)] == [(12, 34)]


def test_readers_open_valid_folders_only(tmp_path: Path) -> None:
    for write_id in range(1, 6):
        write_delta(tmp_path, 1 + write_id % 2, write_id)
    valid = ValidWriteIdList("main.flights", 4, (2,), (3,), 2)

    folders = valid_folders(tmp_path, valid)

    assert [folder.write_id for folder in folders] == [4, 1]
    assert totals_in(folders) == {1: Totals(4, 1_500, 3), 2: Totals(4, 1_500, 3)}


def test_removed_folders_are_those_of_the_write_ids(tmp_path: Path) -> None:
    for write_id in (1, 2, 3):
        write_delta(tmp_path, 1, write_id)

    removed = remove_folders(tmp_path, [1, 3])

    assert [folder.write_id for folder in removed] == [1, 3]
    assert [folder.write_id for folder in delta_folders(tmp_path)] == [2]


def test_manifests_are_read_in_order_of_time(tmp_path: Path) -> None:
    first, second = DatasetManifest(tmp_path, "producer-1"), DatasetManifest(tmp_path, "producer-2")
    second.write(entry(2, "wrote", 20))
    first.write(entry(1, "wrote", 10))
    first.write(entry(1, "committed", 30))
    first.close()
    second.close()

    told = read_manifests(tmp_path)

    assert [each.txn for each in told] == [1, 2, 1]
    assert [each.date for each in with_step(told, "committed")] == [Day(1, 1)]


def test_line_cut_off_by_a_kill_is_passed_over(tmp_path: Path) -> None:
    whole = json.dumps(entry(1, "wrote", 10))
    (tmp_path / "producer-1.jsonl").write_text(f"{whole}\n{whole[:9]}", encoding="utf-8")

    assert read_manifests(tmp_path) == [entry(1, "wrote", 10)]


def test_job_survives_the_pipe() -> None:
    job = Job("p", "host:1", "demo", "s", 7, "f", "m", [[1, 2]], abort_at=3)

    assert Job.read(job.line()) == job


@pytest.mark.parametrize(
    ("commits", "delays"),
    [
        pytest.param([TimedCommit(4, 0)], [1.0], id="seen by the first look behind it"),
        pytest.param([TimedCommit(5, 500_000)], [0.5], id="seen by the look that stands there"),
        pytest.param([TimedCommit(5, 9_000_000)], [0.0], id="seen before its receipt"),
        pytest.param([TimedCommit(6, 0), TimedCommit(9, 0)], [3.0], id="not seen yet"),
    ],
)
def test_commit_is_visible_from_the_first_look_that_reached_it(
    commits: list[TimedCommit], delays: list[float]
) -> None:
    looks = [SeenPosition(2, 0), SeenPosition(5, 1_000_000), SeenPosition(8, 3_000_000)]

    assert delays_ms(looks, commits) == delays


def test_percentiles_are_of_all_delays() -> None:
    assert str(percentiles([float(ms) for ms in range(101)])) == (
        "p50 50 ms, p99 99 ms of 101 commits"
    )


def test_longest_gap_is_between_neighbours() -> None:
    told = [entry(txn, "committed", second * 10**9) for txn, second in enumerate((1, 2, 5, 6))]

    assert longest_gap_s(told) == 3.0


@pytest.mark.parametrize(
    ("ids", "dense"),
    [([3, 1, 2], True), ([], True), ([1, 3], False), ([1, 1, 2], False), ([2, 3], False)],
)
def test_dense_ids_have_neither_gap_nor_double(ids: list[int], dense: bool) -> None:  # noqa: FBT001
    assert is_dense(ids) is dense


def test_audit_finds_what_the_log_says() -> None:
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "t", layout="directories")
    kept, left = driver.open_txn(session), driver.open_txn(session)
    driver.allocate(session, [kept, left], [table])
    committed = driver.commit(session, kept, write(table))
    driver.tidy(sessions=[session])
    driver.fence()

    audit = read_audit(driver.log)

    assert audit.committed == {kept: committed.control.position}
    assert (audit.aborted, audit.opened) == ({left: "lease"}, [kept, left])
    assert audit.write_ids[table] == {1: {kept}, 2: {left}}
    assert [term.epoch for term in audit.terms] == [1, 2]
    assert (audit.missing, audit.doubled, audit.refused) == ([], [], [])
    assert audit.records == len(driver.records)


def test_audit_counts_txns_of_one_command() -> None:
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "t")
    committed = driver.commit(session, 0, write(table))
    moved = definition()._replace(location="elsewhere")
    altered = driver.alter_table(session, table, moved, "SET LOCATION")

    audit = read_audit(driver.log)

    assert audit.opened == [1, 2]
    assert audit.committed == {1: committed.control.position, 2: altered.control.position}


def test_audit_misses_numbers_and_counts_doubles() -> None:
    audit = Audit([])
    audit.first_answers.update([(5, 1), (5, 3), (5, 3), (8, 1)])

    assert (audit.missing, audit.doubled) == ([(5, 2)], [(5, 3)])


def test_audit_waits_for_every_command() -> None:
    answered, lost = Audit([]), Audit([0])

    assert (answered.all_answered, lost.all_answered) == (True, False)


def test_wrong_sums_are_named_by_month() -> None:
    found = {1: Totals(1, 1, 1), 2: Totals(2, 2, 2)}

    assert differences(found, found) == []
    assert differences(found, {1: Totals(1, 1, 1), 3: Totals(2, 2, 2)}) == [
        f"month 2 has {Totals(2, 2, 2)} instead of {Totals(0, 0, 0)}",
        f"month 3 has {Totals(0, 0, 0)} instead of {Totals(2, 2, 2)}",
    ]


def test_check_that_fails_ends_the_demo_by_name() -> None:
    shown = io.StringIO()
    report = Report(Console(file=shown))
    report.check("all is well", holds=True)

    with pytest.raises(CheckFailedError, match="sums: 3 instead of 4"):
        report.same("sums", 3, 4)

    assert shown.getvalue() == "  ✓ all is well\n  ✗ sums: 3 instead of 4\n"
    assert report.checks == 1


def test_wait_that_takes_too_long_says_for_what() -> None:
    with pytest.raises(CheckFailedError, match="not within 0 s: the moon is full"):
        wait_until(lambda: False, "the moon is full", timeout_s=0)


@pytest.mark.parametrize("reader", READERS)
def test_another_reader_finds_the_sums_of_each_month(tmp_path: Path, reader: str) -> None:
    package, read = READERS[reader]
    pytest.importorskip(package)
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table(
            "flights",
            [(name, "bigint") for name in FLIGHTS.column_names],
            partition_columns=["month"],
            location=tmp_path / "t",
            properties={"lakeledger.publish": "delta"},
        )
        ledger.append("flights", FLIGHTS)
        ledger.append("flights", FLIGHTS.slice(3))
        publisher, stop = DeltaPublisher(memory.log), Signal()
        publisher.run(stop, stop.set)
    assert by_month(read(str(tmp_path / "t"), 1)) == totals_by_month(TOTALS, TOTALS)
    assert by_month(read(str(tmp_path / "t"), 2))[2] == Totals(2, 1_600, 0)


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.spark
def test_demo_holds_all_its_checks() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo"],
        capture_output=True,
        text=True,
        timeout=DEMO_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "checks hold" in done.stdout
    assert "kept:" not in done.stdout
