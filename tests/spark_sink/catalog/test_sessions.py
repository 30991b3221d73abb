"""Sessions, threads and notebooks: where the catalog of a ledger works, and how it says no."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame

from ledger.errors import SettingsError
from ledger.machine.kafka.java import find_java
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from ledger.testing import InMemoryLedger
from spark_sink import Lake, attach, transaction
from tests.spark_sink.catalog.sql import done, rows

pytestmark = pytest.mark.spark

ROOT: Final = Path(__file__).parents[3]
PROGRAMS: Final = "tests.spark_sink.catalog.session_programs"
THREADS: Final = 4
PATIENCE_S: Final = 60.0
GROWTH_MAX: Final = 1.1
WORDS: Final = {
    "committed": 5,
    "optimized": [2, 1],
    "sum": 180,
    "history": ["OPTIMIZE", "UPDATE", "WRITE", "WRITE", "CREATE TABLE"],
}


def environ(home: Path | None = None) -> dict[str, str]:
    """Return the environment of a program with a Spark of its own."""
    return {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **({} if home is None else {"LAKELEDGER_HOME": str(home)}),
    }


def said_by(program: str, folder: Path, home: Path | None = None) -> Mapping[str, Any]:
    """Run a program in a process of its own, and return the object that it prints last."""
    done = subprocess.run(
        [sys.executable, "-m", PROGRAMS, program],
        cwd=folder,
        env=environ(home),
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_threads_of_one_session_have_a_txn_each(lake: Lake) -> None:
    for number in range(THREADS):
        done(lake, f"CREATE TABLE ledger.db.t{number} (id INT)")
    done(lake, "CREATE TABLE ledger.db.all (id INT, p INT) PARTITIONED BY (p)")
    all_wrote = Barrier(THREADS)

    def work(number: int) -> list[tuple[Any, ...]]:
        with transaction(lake.spark):
            done(
                lake,
                f"INSERT INTO ledger.db.t{number} VALUES ({number})",
                f"INSERT INTO ledger.db.all SELECT id, {number} FROM ledger.db.t{number}",
            )
            all_wrote.wait(PATIENCE_S)
            return rows(lake, f"SELECT id FROM ledger.db.all WHERE p = {number}")

    with ThreadPoolExecutor(THREADS) as pool:
        seen = list(pool.map(work, range(THREADS)))
    assert seen == [[(number,)] for number in range(THREADS)]
    assert rows(lake, "SELECT id FROM ledger.db.all") == [(number,) for number in range(THREADS)]
    assert lake.ledger.table("db.all").version == THREADS


def test_a_new_session_has_the_catalog_without_a_further_word(lake: Lake) -> None:
    done(lake, "CREATE TABLE ledger.db.a AS SELECT 1 AS id")
    other = lake.spark.newSession()
    assert other.sql("SELECT id FROM ledger.db.a").collect()[0][0] == 1
    with transaction(other):
        other.sql("INSERT INTO ledger.db.a VALUES (2)")
        assert other.table("ledger.db.a").count() == 2
    assert lake.spark.table("ledger.db.a").count() == 2


def test_a_catalog_given_to_another_ledger_has_no_blocks(lake: Lake, tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        other = attach(lake.spark, memory.connect(warehouse=str(tmp_path / "other")))
        done(other, "CREATE TABLE ledger.db.o AS SELECT 1 AS id")
        with pytest.raises(SettingsError, match="another ledger was attached"), lake.snapshot():
            pass
        with pytest.raises(SettingsError, match="another ledger"):
            lake.run(lambda spark: spark.sql("SELECT 1"))
        with other.snapshot():
            assert rows(other, "SELECT id FROM ledger.db.o") == [(1,)]
    again = attach(ledger=lake.ledger)
    assert again.spark.sparkContext is lake.spark.sparkContext
    with again.transaction():
        done(again, "CREATE TABLE ledger.db.a AS SELECT 1 AS id")
    assert again.ledger.table("db.a").version == 0


def test_the_session_of_a_batch_has_the_catalog_too(lake: Lake, tmp_path: Path) -> None:
    done(lake, "CREATE TABLE ledger.db.a (id BIGINT)", "CREATE TABLE ledger.db.n (n BIGINT)")
    lake.spark.range(7).write.json(str(tmp_path / "in"))

    def write(frame: DataFrame, _batch: int) -> None:
        spark = frame.sparkSession
        with transaction(spark):
            frame.writeTo("ledger.db.a").append()
            spark.sql("INSERT INTO ledger.db.n SELECT count(*) FROM ledger.db.a")

    source = lake.spark.readStream.schema("id BIGINT").json(str(tmp_path / "in"))
    stream = source.writeStream.foreachBatch(write).trigger(availableNow=True)
    stream.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert rows(lake, "SELECT n FROM ledger.db.n") == [(7,)]


@pytest.mark.slow
def test_a_new_session_after_a_stop_is_told_to_attach(tmp_path: Path) -> None:
    found = said_by("stopped", tmp_path)
    assert found == {"before": 1, "unattached": True, "after": [1, 2], "txns": 0}


@pytest.mark.slow
def test_in_spark_connect_statements_txns_snapshots_and_streams_work(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    found = said_by("connect", tmp_path)
    assert found["rows"] == [1, 2, 3]
    assert found["conflict"] == "ConcurrentAppendException"
    assert found["held"] == [3, 3]
    assert found["streamed"] == 5
    assert found["words"] == WORDS
    assert "one block at a time" in found["second"]
    assert "this is a Connect session" in found["foreach_batch"]


@pytest.mark.slow
def test_executors_in_processes_of_their_own_get_the_catalog(tmp_path: Path) -> None:
    found = said_by("local_cluster", tmp_path)
    assert found["rows"] == [[0, None], [1, None], [2, None], [3, "z"], [9, "z"]]
    assert found["changes"] == 7
    assert found["executors"] == 2
    assert (found["generated"], found["numbers"], found["own"]) == ([0, 2, 4, 6], 9000, True)
    assert found["sdk"] == 5
    assert found["words"] == WORDS


@pytest.mark.slow
def test_a_master_with_a_worker_runs_the_words_of_the_ledger(tmp_path: Path) -> None:
    found = said_by("standalone", tmp_path)
    assert found["words"] == WORDS
    assert found["master"].startswith("spark://")


@pytest.mark.slow
def test_by_jdbc_and_a_thrift_server_statements_are_one_txn(tmp_path: Path) -> None:
    found = said_by("thrift", tmp_path)
    assert found == {"parser": "LedgerParser", "outside": [1, 1, 1, 5, 7, 5]}


@pytest.mark.slow
@pytest.mark.kafka
def test_two_thousand_statements_leave_nothing_in_the_heap_in_python(tmp_path: Path) -> None:
    with running(UpSettings(home=tmp_path / "home")):
        found = said_by("many_statements", tmp_path, tmp_path / "home")
    sys.stdout.write(f"{json.dumps(found)}\n")
    assert found["statements"] == 2000
    assert found["kept"] == [0, 0]
    for name in ("heap", "python"):
        before, after = found[name]
        assert after <= before * GROWTH_MAX, found


CELLS: Final = """
from pyspark.sql import SparkSession
from ledger.testing import InMemoryLedger
from spark_sink import attach
memory = InMemoryLedger().__enter__()
spark = SparkSession.builder.master('local[1]').getOrCreate()
lake = attach(spark, memory.connect(warehouse='lake'))
lake
---
spark.sql('CREATE TABLE ledger.db.a AS SELECT 1 AS id')
spark.sql('CREATE TABLE ledger.db.b (id INT)')
---
with lake.transaction() as txn:
    spark.sql('UPDATE ledger.db.a SET id = 5')
    spark.sql('INSERT INTO ledger.db.b SELECT id FROM ledger.db.a')
txn.receipt
---
spark.sql('SELECT a.id + b.id AS n FROM ledger.db.a a, ledger.db.b b').toPandas()
---
spark.stop()
memory.__exit__(None, None, None)
"""


@pytest.mark.slow
def test_a_notebook_commits_a_txn_over_two_tables(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    make = nbformat.v4
    book = make.new_notebook(cells=[make.new_code_cell(text) for text in CELLS.split("---\n")])
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources=resources)
    client.execute(env=environ())
    shown = [cell.outputs[-1].data for cell in book.cells if cell.outputs]
    assert "Lake ledger" in shown[0]["text/plain"]
    assert "10" in shown[-1]["text/plain"]
