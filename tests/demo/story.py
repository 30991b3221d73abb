"""The story of the demo, act by act; each act checks what it has shown."""

import time
from collections.abc import Mapping
from typing import Final

from ledger.reads.port import TableRow
from tests.demo.acts.fleet import Fleet
from tests.demo.acts.loading import PRODUCERS, STANDS_BY, Loader
from tests.demo.acts.log_checks import check_bytes, check_log
from tests.demo.acts.manifest import read_manifests, with_step
from tests.demo.answers import Answers
from tests.demo.cleaning import clean, wait_for_expiry
from tests.demo.delta_folders import PARTITION
from tests.demo.figures import Figures
from tests.demo.flights import (
    PACKAGE,
    Day,
    Totals,
    columns,
    read_flights,
    totals_by_day,
    write_days,
)
from tests.demo.iceberg import show_iceberg
from tests.demo.ingested import show_ingest
from tests.demo.isolation import show_isolation
from tests.demo.metastores.metastore import TablePlace
from tests.demo.metastores.two_metastores import show_two_metastores
from tests.demo.one_file import show_one_file
from tests.demo.report import Report
from tests.demo.spark_sql import show_spark_sql
from tests.demo.stage import Home, Stage, set_up
from tests.demo.visibility import TimedCommit, Watches

TABLE: Final = "flights"
PROBES: Final = "probes"
PROBE_COMMITS: Final = 30


def play(home: Home, report: Report) -> None:
    """Play the demo; raises CheckFailedError at the first check that does not hold."""
    report.step("The data")
    flights = read_flights()
    totals = totals_by_day(flights)
    write_days(flights, home.flights)
    report.say(f"{flights.num_rows:,} flights of {len(totals)} days, from the package {PACKAGE}")
    report.step("The ledger: Kafka, two sequencers, a follower, a publisher, Structured Streaming")
    with Fleet((*PRODUCERS, STANDS_BY)) as fleet, set_up(home, report) as stage:
        report.say(", ".join(f"{name} {pid}" for name, pid in stage.up.roles().items()))
        table = stage.ledger.create_table(
            TABLE,
            columns(flights.schema),
            partition_columns=[PARTITION],
            layout="directories",
            location=str(home.location),
        )
        report.say(f"table {table.name} is partitioned by {PARTITION} and lies in {home.location}")
        report.say(f"both stores of rows have reached position {stage.catch_up()}")
        play_on(stage, fleet, report, table, totals)


def play_on(
    stage: Stage, fleet: Fleet, report: Report, table: TableRow, totals: Mapping[Day, Totals]
) -> None:
    """Play everything that needs the ledger; `totals` are the sums of the raw rows by day."""
    stores = {"the follower's store": stage.reads, "Spark's store": stage.spark_reads}
    with Watches(stores) as watches:
        report.step("Loading: four producers, one reader, two kills and a change of mind")
        load = Loader(stage, fleet, report, table, list(totals)).run()
        entries = read_manifests(stage.home.manifests)
        commits = [
            TimedCommit(each.position, each.at_ns) for each in with_step(entries, "committed")
        ]
        loading = watches.delays(commits)
        report.step(f"Visibility: {PROBE_COMMITS} commits more, one at a time")
        alone = watches.delays(commit_alone(stage))
    report.step("What the readers saw")
    answers = Answers(stage, report, table, totals, entries)
    answers.check_reader(load.reader)
    gone = wait_for_expiry(stage, report, load, entries)
    answers.check_not_visible(gone)
    report.step("Spark reads the folders that a snapshot shows, and no others")
    answers.check_spark_held(load.reader)
    answers.check_spark_now("Spark under a new snapshot")
    report.step("Cleaning")
    clean(stage, report, load.reader.txn, gone)
    answers.check_spark_now("Spark under a new snapshot, unchanged")
    report.step("Isolation: statements side by side on a table whose files the ledger lists")
    conflicts = show_isolation(stage, report)
    report.step("One file: updates of its flights side by side, and OPTIMIZE beside them")
    conflicts += show_one_file(stage, report)
    report.step("Spark SQL: two jobs race, one commit over two tables, a stream is killed")
    conflicts += show_spark_sql(stage, report)
    report.step("A topic: its records become rows while statements change them, and a kill")
    conflicts += show_ingest(stage, report)
    report.step("Iceberg: DuckDB changes two tables in one commit, by the REST catalog")
    show_iceberg(stage, report)
    report.step("Two metastores: the steps of Hive's page, M1 writes and M2 reads it from the log")
    address = stage.up.address
    place = TablePlace(address.bootstrap, address.ledger, str(address.store), "one version")
    show_two_metastores(stage.ledger, place, report)
    report.step("The log, read once more from its first record")
    audit = check_log(stage, report, table, load, entries, conflicts=conflicts)
    verified = check_bytes(stage, report)
    disk = stage.events_on_disk()
    figures = Figures(audit, load, entries, loading, alone, answers.rows_checked, disk, verified)
    report.table("Figures", figures.rows())


def commit_alone(stage: Stage) -> list[TimedCommit]:
    """Commit to another table, each time when the last commit can be read everywhere."""
    probes = stage.ledger.create_table(PROBES, [("number", "BIGINT")])
    commits = []
    for _ in range(PROBE_COMMITS):
        txn = stage.ledger.begin()
        txn.wrote(probes, "insert")
        commits.append(TimedCommit(txn.commit().position, time.monotonic_ns()))
        stage.catch_up()
    return commits
