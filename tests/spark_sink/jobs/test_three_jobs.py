"""Three jobs of Spark on one table, killed at random: what they leave is a serial execution.

Whatever was committed, in the order of the log and done once more by DuckDB, has the same rows at
every version.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from random import Random
from time import monotonic
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ledger.client import Ledger
from ledger.core.commands import LEVEL_PROPERTY
from ledger.machine.kafka.java import find_java
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from ledger.reads.port import VersionRow
from ledger.sdk.streams import note_of
from ledger.work.app_notes import APPLICATIONS, note_in
from projections.queries import StoreReads
from projections.store.rocks_reader import RocksReader
from tests.demo.flights import cut, read_flights
from tests.spark_sink.jobs.driver import JOBS, TABLE, UPDATES, changing

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

ROOT: Final = Path(__file__).parents[3]
SECONDS: Final = 300.0
STRIKES_S: Final = (2.0, 15.0)
START_S: Final = 180.0
LOOK_S: Final = 0.1
KILLS_MIN: Final = 5
SEED: Final = 29
COLUMNS: Final = (
    *(("month", "INT"), ("day", "INT"), ("carrier", "STRING"), ("flight", "INT")),
    *(("dep_delay", "INT"), ("distance", "INT"), ("tailnum", "STRING")),
)
NAMES: Final = [name for name, _ in COLUMNS]
TYPES: Final = pa.schema(
    [(name, pa.int32() if kind == "INT" else pa.string()) for name, kind in COLUMNS]
)


class Job:
    """A job in a process of its own, which is killed and started again."""

    def __init__(self, name: str, folder: Path, home: Path) -> None:
        self.name = name
        self.starts = 0
        self._folder = folder
        self._home = home
        self._works = folder / f"{name}.works"
        self._log = (folder / f"{name}.log").open("w")
        self._process = self.start()

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the process, with another seed than before."""
        self.starts += 1
        self._works.unlink(missing_ok=True)
        environ = {
            **os.environ,
            "LAKELEDGER_HOME": str(self._home),
            "JAVA_HOME": str(find_java().home),
            "PYTHONPATH": str(ROOT),
        }
        seed = f"{SEED}/{self.name}/{self.starts}"
        command = [sys.executable, "-m", "tests.spark_sink.jobs.driver", self.name, seed]
        self._process = subprocess.Popen(
            command, cwd=self._folder, env=environ, stdout=self._log, stderr=self._log
        )
        return self._process

    def run_for(self, seconds: float) -> None:
        """Let the job work for some time after its start; it must not end by itself."""
        until_s = monotonic() + START_S
        while not self._works.exists():
            assert monotonic() < until_s, f"job {self.name} did not start in {START_S} s"
            self._wait(LOOK_S)
        self._wait(seconds)

    def _wait(self, seconds: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(seconds)
            said = (self._folder / f"{self.name}.log").read_text()[-3000:]
            raise AssertionError(f"job {self.name} ended with {code}: {said}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.kill()
        self._log.close()


class Digest(NamedTuple):
    """What rows are, in no order."""

    rows: int
    content: int


def digest(database: "duckdb.DuckDBPyConnection", table: str) -> Digest:
    each = ", ".join(NAMES)
    found = database.sql(f"SELECT count(*), sum(hash({each})::HUGEINT) FROM {table}").fetchone()
    assert found is not None
    return Digest(int(found[0]), int(found[1] or 0))


def write_days(folder: Path) -> list[pa.Table]:
    folder.mkdir()
    days = [each.select(NAMES).cast(TYPES) for each in cut(read_flights()).values()]
    for number, rows in enumerate(days):
        file = folder / f"{number:03}.parquet"
        pq.write_table(rows, file)
        os.utime(file, (number, number))
    return days


def strike(jobs: list[Job], random: Random) -> int:
    """Kill jobs until the time is over, and return how often."""
    until_s, kills = monotonic() + SECONDS, 0
    while monotonic() < until_s:
        job = random.choice(jobs)
        job.run_for(random.uniform(*STRIKES_S))
        job.kill()
        job.start()
        kills += 1
    return kills


def versions(ledger: Ledger) -> Iterator[VersionRow]:
    """Yield the versions of the table after its creation, oldest first."""
    table, found = ledger.table(TABLE).table, list[VersionRow]()
    while page := ledger.reads().versions(table, 200, below=found[-1].version if found else None):
        found += page
    yield from reversed(found[:-1])


def apply(database: "duckdb.DuckDBPyConnection", row: VersionRow, days: list[pa.Table]) -> str:
    """Do what a version did once more, and return what it was."""
    update = note_in(row.info, UPDATES)
    if update:
        database.execute(changing(update["month"], update["carrier"], "model"))
        return "update"
    if row.operation == "OPTIMIZE":
        return "optimize"
    assert row.operation == "STREAMING UPDATE", row
    (note,) = [note_of(each) for each in notes(row)]
    assert note is not None
    database.register("day", days[note.batch])
    database.execute("INSERT INTO model SELECT * FROM day")
    return f"batch {note.batch}"


def notes(row: VersionRow) -> list[dict[str, object]]:
    return list(json.loads(row.info)[APPLICATIONS].values())


def test_three_jobs_leave_the_rows_of_the_serial_execution(tmp_path: Path) -> None:
    days = write_days(tmp_path / "in")
    settings = UpSettings(home=tmp_path / "home", http="off", sequencers=1)
    with ExitStack() as held:
        address = held.enter_context(running(settings)).address
        assert address.store is not None
        reads = held.enter_context(closing(StoreReads(RocksReader.open(address.store))))
        ledger = held.enter_context(Ledger.connect(address.bootstrap, address.ledger, reads=reads))
        ledger.create_table(
            TABLE,
            COLUMNS,
            partition_columns=["month"],
            location=tmp_path / "flights",
            # Else an update may count as earlier than an append that was committed before it.
            properties={LEVEL_PROPERTY: "Serializable"},
        )
        jobs = [Job(name, tmp_path, tmp_path / "home") for name in JOBS]
        for job in jobs:
            held.callback(job.close)
        kills = strike(jobs, Random(SEED))
        for job in jobs:
            job.kill()
        ledger.wait(ledger.begin("read_only").token)
        database = held.enter_context(closing(duckdb.connect()))
        database.execute(f"CREATE TABLE model ({', '.join(map(' '.join, COLUMNS))})")
        done: list[str] = []
        for row in versions(ledger):
            done.append(apply(database, row, days))
            database.register("found", ledger.scan(TABLE, version=row.version).to_arrow())
            assert digest(database, "found") == digest(database, "model"), (row, done)
        batches = [each for each in done if each.startswith("batch")]
        assert batches == [f"batch {number}" for number in range(len(batches))]
        lost = len(ledger.reads().conflicts(0, 10_000))
        rows = digest(database, "model").rows
        sys.stdout.write(
            f"{kills} kills, {len(done)} versions: {len(batches)} batches, "
            f"{done.count('update')} updates, {done.count('optimize')} times optimised; "
            f"{lost} commits lost; {rows} rows\n"
        )
        assert min(len(batches), done.count("update"), done.count("optimize")) > 0
        assert kills >= KILLS_MIN
