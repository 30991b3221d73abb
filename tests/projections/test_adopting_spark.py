"""Delta's own engine, delta-spark, on a table that the ledger takes over and gives back.

It runs in a process of its own, with the jars of Delta, which Spark fetches once.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.testing import InMemoryLedger
from tests.projections.test_adopting import Taking

pytestmark = [pytest.mark.slow, pytest.mark.spark]

DELTA: Final = "io.delta:delta-spark_4.2_2.13:4.4.0"
TIMEOUT_S: Final = 400.0
QUERIES: Final = """
import json, sys
from pyspark.sql import SparkSession

settings = {
    "spark.jars.packages": sys.argv[1],
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
for query in json.loads(sys.argv[2]):
    try:
        found = sorted(list(row)[0] for row in spark.sql(query).collect() if len(row))
    except Exception as error:
        found = type(error).__name__ + str(error)
    print("answer", json.dumps(found))
"""


def answers(folder: Path, *queries: str) -> list[Any]:
    """Return the first columns that queries over a table find, or the text of an error."""
    asked = json.dumps([query.replace("TABLE", f"delta.`{folder}`") for query in queries])
    done = subprocess.run(
        [sys.executable, "-c", QUERIES, DELTA, asked],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if "unresolved dependency" in done.stderr:
        pytest.skip(f"the jars of {DELTA} cannot be fetched")
    lines = (line.partition("answer ") for line in done.stdout.splitlines())
    found = [json.loads(text) for _, is_one, text in lines if is_one]
    assert len(found) == len(queries), done.stderr[-2_000:]
    return found


@pytest.fixture
def taking(tmp_path: Path) -> Iterator[Taking]:
    """Return an adopted table with a row of the ledger."""
    with InMemoryLedger() as memory:
        taking = Taking(memory, tmp_path / "trips")
        taking.make()
        taking.take()
        taking.owner.adopt(taking.row)
        taking.insert(5)
        taking.publish()
        yield taking


def test_reads_on_and_is_refused_until_release(taking: Taking) -> None:
    newest = "SELECT id FROM TABLE"
    found = answers(
        taking.path,
        newest,
        "SELECT id FROM TABLE VERSION AS OF 1",
        "SELECT id FROM TABLE VERSION AS OF 4",
        "INSERT INTO TABLE VALUES (8, 8)",
    )
    assert found[:3] == [taking.scan(), [1, 2, 3, 9], [1, 3, 4, 9]]
    assert "lakeledger" in found[3]

    taking.owner.release(taking.row)
    assert answers(taking.path, "INSERT INTO TABLE VALUES (8, 8)", newest)[1] == [1, 3, 4, 5, 8, 9]
