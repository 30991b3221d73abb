"""A driver that is killed in a batch: no row is lost or doubled, and its files are swept."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.machine.kafka.java import find_java
from ledger.machine.up import Running, UpSettings, running
from projections.queries import StoreReads
from projections.store.rocks_reader import RocksReader

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

ROOT: Final = Path(__file__).parents[3]
KILLED: Final = -9
COLUMNS: Final = [("id", "BIGINT"), ("name", "STRING"), ("odd", "INT")]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Running]:
    """Run a whole ledger of this machine."""
    with running(UpSettings(home=tmp_path / "home")) as up:
        yield up


def drive(folder: Path, point: str) -> int:
    """Run the driver, and return its exit code."""
    environ = {
        **os.environ,
        "LAKELEDGER_HOME": str(folder / "home"),
        "JAVA_HOME": str(find_java().home),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "tests.spark_sink.streams.killed_driver", point]
    return subprocess.run(command, cwd=folder, env=environ, timeout=300, check=False).returncode


def test_killed_driver(up: Running, tmp_path: Path) -> None:
    """Killed before the commit, then after it: each row is there once, and orphans are swept."""
    assert up.address.store is not None
    (tmp_path / "in").mkdir()
    for number in range(3):
        rows = [{"id": n, "name": f"n{n}", "odd": n % 2} for n in range(4 * number, 4 * number + 4)]
        file = tmp_path / "in" / f"{number}.json"
        file.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
        os.utime(file, (number, number))
    with (
        closing(StoreReads(RocksReader.open(up.address.store))) as reads,
        Ledger.connect(up.address.bootstrap, up.address.ledger, reads=reads) as ledger,
    ):
        table = ledger.create_table(
            "db.t", COLUMNS, partition_columns=["odd"], location=tmp_path / "t"
        )
        assert drive(tmp_path, "files") == KILLED
        assert drive(tmp_path, "commit") == KILLED
        assert drive(tmp_path, "") == 0
        ids = ledger.scan("db.t", columns=["id"]).to_arrow().column(0).to_pylist()
        assert sorted(ids) == list(range(12))
        assert ledger.table("db.t").version == 3
        for txn in ledger.reads().open_txns(9):
            ledger.abort(txn.txn, "its driver was killed")
        ledger.wait(ledger.begin("read_only").token)
        swept = ledger.vacuum(table, older_than_h=0)
        assert [each.why for each in swept.files] == ["orphan", "orphan"]
        live = {each.path for each in ledger.read("db.t").files}
        stored = {
            str(each.relative_to(tmp_path / "t")) for each in (tmp_path / "t").rglob("*.parquet")
        }
        assert stored == live
