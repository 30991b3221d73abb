"""One job of three: `python -m tests.spark_sink.jobs.driver stream|update|optimize SEED`.

It works on the table db.flights until it is killed. An update notes its number and what it changed
in the record of its commit, so that the log alone says what a serial execution has to do.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

from pyspark.errors import PySparkException, StreamingQueryException

from ledger.client import Ledger
from ledger.errors import ConflictError
from spark_sink import Lake, attach
from spark_sink.session import ledger_session

TABLE: Final = "db.flights"
UPDATES: Final = "updates"
SCHEMA: Final = (
    "month INT, day INT, carrier STRING, flight INT, dep_delay INT, distance INT, tailnum STRING"
)
CARRIERS: Final = ("UA", "AA", "DL", "B6", "EV", "MQ")
LOST: Final = "LEDGER_CONFLICT"
SETTINGS: Final = {"spark.driver.memory": "600m"}


def stream(lake: Lake, _: Random) -> None:
    """Append the files of the folder, one in each batch; a batch that loses comes again."""
    while True:
        reader = lake.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        writer = reader.parquet("in").writeStream.queryName("flights")
        place = str(Path("checkpoint").absolute())
        query = writer.option("checkpointLocation", place).toTable(f"ledger.{TABLE}")
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if LOST not in str(error):
                raise


def update(lake: Lake, random: Random) -> None:
    """Change the flights of a carrier in a month, again and again, each change under a number."""
    done = lake.ledger.progress(UPDATES)
    number = max((each.version for each in done), default=-1) + 1
    while True:
        month, carrier = random.randint(1, 12), random.choice(CARRIERS)
        with suppress(ConflictError), lake.transaction() as txn:
            note = {"month": month, "carrier": carrier}
            txn.app(UPDATES, number, tables=[TABLE], info=note)
            lake.spark.sql(changing(month, carrier, f"ledger.{TABLE}"))
        if txn.status == "committed":
            number += 1


def changing(month: int, carrier: str, table: str) -> str:
    """Return an UPDATE that Spark and DuckDB understand alike."""
    return (
        f"UPDATE {table} SET dep_delay = coalesce(dep_delay, 0) + 1, distance = distance + 1 "
        f"WHERE month = {month} AND carrier = '{carrier}'"
    )


def optimize(lake: Lake, random: Random) -> None:
    """Put small files of a month together, again and again."""
    while True:
        where = f"month = {random.randint(1, 12)}"
        try:
            lake.spark.sql(f'CALL ledger.system.optimize("{TABLE}", "{where}")').collect()
        except PySparkException as error:
            if LOST not in str(error):
                raise


JOBS: Final[Mapping[str, Callable[[Lake, Random], Any]]] = {
    "stream": stream,
    "update": update,
    "optimize": optimize,
}


def main(job: str, seed: str) -> None:
    """Do a job until the end of the process."""
    spark = ledger_session(job, master="local[1]", settings=SETTINGS)
    with Ledger.connect(application=job) as ledger:
        lake = attach(spark, ledger)
        Path(f"{job}.works").touch()
        JOBS[job](lake, Random(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
