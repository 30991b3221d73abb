"""Spark SQL: two jobs race, one commit changes two tables, and a killed stream goes on.

All of it is plain SQL over the catalog `ledger`. The driver of the stream is a process of its own,
which is killed as soon as some of its batches are committed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from ledger.client import Ledger
from ledger.errors import ConcurrentAppendException, ConflictError
from spark_sink.catalog.session.attaching import Lake, attach
from tests.demo.acts.stream_driver import TABLE, checkpoint_in, start_stream
from tests.demo.flights import NOTHING, Day, Totals, read_days, totals_of
from tests.demo.report import Report, wait_until
from tests.demo.stage import Stage

MONTH: Final = 1
BATCHES_MIN: Final = 4
FLIGHTS: Final = "ledger.sql.flights"
CARRIERS: Final = "ledger.sql.carriers"
MERGE: Final = f"""
    MERGE INTO {FLIGHTS} t USING (SELECT DISTINCT flight, 10 AS more FROM {FLIGHTS}
      WHERE carrier = 'AA' AND day = 1) s ON t.flight = s.flight AND t.carrier = 'AA'
    WHEN MATCHED THEN UPDATE SET distance = t.distance + s.more"""
UPDATE: Final = f"UPDATE {FLIGHTS} SET distance = distance + 1 WHERE carrier = 'AA'"
SUMS: Final = f"SELECT carrier, count(*) AS flights FROM {FLIGHTS} GROUP BY carrier"


def show_spark_sql(stage: Stage, report: Report) -> int:
    """Play the three acts; return how many commits lost a conflict in them."""
    days = {day: rows for day, rows in read_days(stage.home.flights).items() if day.month == MONTH}
    arriving = write_files(days, stage.home.root / "arriving")
    with spark_client(stage) as ledger:
        lake = attach(stage.spark, ledger)
        create_tables(lake, arriving)
        with stream_driver(stage, arriving) as driver:
            race(lake, report)
            change_two_tables(lake, report)
            kill_stream(lake, report, driver, len(days))
        go_on(stage, lake, report, days)
    return 1


def spark_client(stage: Stage) -> Ledger:
    """Return the client of Spark SQL, which makes tables in the warehouse; the caller closes it."""
    address = stage.up.address
    return Ledger.connect(
        address.bootstrap,
        address.ledger,
        reads=stage.reads,
        application="demo-sql",
        warehouse=str(stage.home.warehouse),
    )


def write_files(days: Mapping[Day, pa.Table], folder: Path) -> Path:
    folder.mkdir()
    for day, rows in days.items():
        file = folder / f"{day}.parquet"
        pq.write_table(rows, file)
        # Spark takes files in the order of their times, which are whole seconds.
        os.utime(file, (day.day, day.day))
    return folder


def create_tables(lake: Lake, arriving: Path) -> None:
    """Create the tables of all acts."""
    files = f"parquet.`{arriving}`"
    sql = lake.spark.sql
    sql(f"CREATE TABLE {TABLE} AS SELECT * FROM {files} WHERE false")
    sql(f"CREATE TABLE {FLIGHTS} PARTITIONED BY (carrier) AS SELECT * FROM {files} WHERE day < 4")
    sql(f"CREATE TABLE {CARRIERS} AS {SUMS}")


def race(lake: Lake, report: Report) -> None:
    """Let an UPDATE commit while a MERGE of the same rows is under way."""
    lost = lost_to(lake, UPDATE)
    report.check(
        "a MERGE beside an UPDATE of the same flights",
        holds=isinstance(lost, ConcurrentAppendException),
        found=f"one commits, one aborts: {type(lost).__name__}" if lost else "both commit",
    )
    for line in lost.explain().splitlines() if lost is not None else ():
        report.say(f"  {line}")
    before = sum_of_distances(lake)
    lake.run(lambda spark: spark.sql(MERGE))
    report.check("lake.run does the MERGE again", holds=sum_of_distances(lake) > before)


def lost_to(lake: Lake, winner: str) -> ConflictError | None:
    """Return the error of a txn with the MERGE if another job commits before its end."""
    job = Thread(target=lambda: lake.spark.sql(winner), name="other job")
    try:
        with lake.transaction():
            lake.spark.sql(MERGE)
            job.start()
            job.join()
    except ConflictError as error:
        return error
    return None


def sum_of_distances(lake: Lake) -> int:
    """Return the miles of all flights."""
    return int(lake.spark.sql(f"SELECT sum(distance) FROM {FLIGHTS}").collect()[0][0])


def change_two_tables(lake: Lake, report: Report) -> None:
    """Delete flights and count the rest anew, in one commit."""
    with lake.transaction() as txn:
        lake.spark.sql(f"DELETE FROM {FLIGHTS} WHERE carrier = 'UA' OR distance < 200")
        lake.spark.sql(f"INSERT OVERWRITE {CARRIERS} {SUMS}")
    with lake.snapshot():
        wrong = lake.spark.sql(f"({SUMS}) EXCEPT SELECT * FROM {CARRIERS}").count()
    tables = 0 if txn.receipt is None else len(txn.receipt.tables)
    report.check(
        "DELETE and INSERT OVERWRITE of two tables are one commit, and agree",
        holds=tables == 2 and not wrong,
        found=f"{tables} tables at position {txn.receipt.position if txn.receipt else 0}",
    )


@contextmanager
def stream_driver(stage: Stage, arriving: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """Run the driver of the stream beside this process, and end it."""
    address = stage.up.address
    where = (address.bootstrap, address.ledger, str(address.store))
    root = root_of(stage)
    command = [sys.executable, "-m", "tests.demo.acts.stream_driver", *where, str(arriving)]
    driver = subprocess.Popen([*command, str(root)], stdout=subprocess.DEVNULL)
    try:
        yield driver
    finally:
        driver.kill()
        driver.wait()


def root_of(stage: Stage) -> Path:
    """Return the folder of the stream."""
    return stage.home.root / "stream"


def kill_stream(
    lake: Lake, report: Report, driver: "subprocess.Popen[bytes]", batches: int
) -> None:
    """Kill the driver when some batches are committed, and others are not."""
    wait_until(lambda: applied(lake) >= BATCHES_MIN, "the stream has committed some batches")
    driver.kill()
    driver.wait()
    done = applied(lake)
    report.check(
        f"kill -9 of the stream's driver ({driver.pid})",
        holds=done < batches,
        found=f"{done} of {batches} batches are committed",
    )


def applied(lake: Lake) -> int:
    """Return how many batches the table has."""
    return lake.ledger.table(TABLE.partition(".")[2]).version


def go_on(stage: Stage, lake: Lake, report: Report, days: Mapping[Day, pa.Table]) -> None:
    """Start the stream again in this process, and check that each row is there once."""
    root = root_of(stage)
    start_stream(lake.spark, stage.home.root / "arriving", checkpoint_in(root)).awaitTermination()
    wanted = NOTHING
    for rows in days.values():
        wanted = wanted.plus(totals_of(rows))
    query = f"SELECT count(*), sum(distance), sum(dep_delay) FROM {TABLE}"
    found = Totals(*lake.spark.sql(query).collect()[0])
    report.same(
        "restarted with its checkpoint, the stream has brought each row once",
        (found, applied(lake)),
        (wanted, len(days)),
        f"{found.rows:,} rows in {len(days)} commits",
    )
