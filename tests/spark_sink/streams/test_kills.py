"""A driver killed at every point of a write: no row is lost or doubled, and orphans are swept."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.machine.kafka.java import find_java
from ledger.machine.up import Running, running
from ledger.machine.up_settings import UpSettings
from projections.queries import StoreReads
from projections.store.rocks_reader import RocksReader

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

ROOT: Final = Path(__file__).parents[3]
KILLED: Final = -9
COLUMNS: Final = [("id", "BIGINT"), ("name", "STRING"), ("odd", "INT")]
FILES: Final = 4
ROWS: Final = 4
# Where the driver of each sink ends, one after the other: the point, and how many of its writes
# come before. A run begins with the batch in which the run before it has ended; that batch is
# written by `to_table` and by a job even if it was committed, and not by `foreach_batch`.
ENDS: Final[Mapping[str, tuple[tuple[str, int], ...]]] = {
    "to_table": (("files", 1), ("publish", 0), ("commit", 1)),
    "from_table": (("files", 1), ("publish", 0), ("commit", 1)),
    "foreach_batch": (("files", 1), ("publish", 0), ("commit", 0)),
    # A job has two writes, and a run begins with the first job.
    "batch": (("files", 3), ("publish", 3), ("commit", 5)),
}
# What the kills before a commit leave behind, and the jobs that were done before.
ORPHANS: Final = {"to_table": 2, "from_table": 2, "foreach_batch": 2, "batch": 2}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run a whole ledger of this machine."""
    with running(UpSettings(home=tmp_path_factory.mktemp("home"))) as up:
        yield up


def drive(folder: Path, home: Path, *arguments: str) -> int:
    """Run the driver, and return its exit code."""
    environ = {
        **os.environ,
        "LAKELEDGER_HOME": str(home),
        "JAVA_HOME": str(find_java().home),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "tests.spark_sink.streams.killed_driver", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environ, timeout=300, check=False, capture_output=True, text=True
    )
    assert done.returncode in {0, KILLED}, done.stdout + done.stderr
    return done.returncode


def write_files(folder: Path) -> None:
    """Write the files that the drivers move."""
    folder.mkdir()
    for number in range(FILES):
        first = ROWS * number
        rows = [{"id": n, "name": f"n{n}", "odd": n % 2} for n in range(first, first + ROWS)]
        file = folder / f"{number}.json"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        os.utime(file, (number, number))


def commit_files(ledger: Ledger, folder: Path) -> None:
    """Put the rows of each file into a table by a commit of its own."""
    ledger.create_table("db.source", COLUMNS, location=folder / "source")
    for file in sorted((folder / "in").iterdir()):
        with ledger.transaction() as txn:
            rows = [json.loads(line) for line in file.read_text().splitlines()]
            txn.insert("db.source", rows)


def stored(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*.parquet")}


@pytest.mark.parametrize("sink", list(ENDS))
def test_killed_driver(up: Running, tmp_path: Path, sink: str) -> None:
    """Killed before, in and after its commit, the driver goes on: each row is there once."""
    assert up.address.store is not None
    home = up.address.store.parent.parent
    write_files(tmp_path / "in")
    with (
        closing(StoreReads(RocksReader.open(up.address.store))) as reads,
        Ledger.connect(up.address.bootstrap, up.address.ledger, reads=reads) as ledger,
    ):
        name, place = f"db.{sink}", tmp_path / "t"
        table = ledger.create_table(name, COLUMNS, partition_columns=["odd"], location=place)
        if sink == "batch":
            ledger.create_table("db.counts", [("n", "BIGINT")], location=tmp_path / "counts")
        if sink == "from_table":
            commit_files(ledger, tmp_path)
        for point, writes in ENDS[sink]:
            assert drive(tmp_path, home, sink, point, str(writes)) == KILLED, point
        assert drive(tmp_path, home, sink) == 0
        ids = ledger.scan(name, columns=["id"]).to_arrow().column(0).to_pylist()
        assert sorted(ids) == list(range(FILES * ROWS))
        assert ledger.table(name).version == FILES
        for txn in ledger.reads().open_txns(9):
            ledger.abort(txn.txn, "its driver was killed")
        ledger.wait(ledger.begin("read_only").token)
        orphans = len(stored(place) - {file.path for file in ledger.read(name).files})
        swept = ledger.vacuum(table, older_than_h=0)
        assert [file.why for file in swept.files] == ["orphan"] * orphans
        assert stored(place) == {file.path for file in ledger.read(name).files}
        sys.stdout.write(f"{sink}: {len(ids)} rows, {orphans} orphans swept\n")
        assert orphans >= ORPHANS[sink]
        if sink == "batch":
            found = ledger.scan("db.counts").to_arrow().column(0).to_pylist()
            assert found == [ROWS] * FILES
