"""A stream of small files: each file is one batch, and its rows are known."""

import json
from collections.abc import Callable, Sequence
from os import utime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ledger.client import Ledger
from ledger.testing import InMemoryLedger
from spark_sink import attach

ROWS = 4
"""The rows of a batch: their ids follow on one another."""


class River:
    """Files that arrive, and the stream over them; `attach` begins with another client."""

    def __init__(self, spark: SparkSession, memory: InMemoryLedger, folder: Path) -> None:
        self.spark = spark
        self.memory = memory
        self.folder = folder
        self.files = 0
        (folder / "in").mkdir()
        self.attach()

    def attach(self) -> Ledger:
        """Attach a new client, as a driver that starts does."""
        warehouse = str(self.folder / "lake")
        self.ledger = self.memory.connect(application="stream", warehouse=warehouse)
        attach(self.spark, self.ledger)
        return self.ledger

    def restart(self) -> None:
        """Let the driver be another one: its client ends without a word."""
        self.attach()

    def table(self, name: str = "db.t") -> Path:
        """Create a table by parity, and return its location."""
        columns = [("id", "BIGINT"), ("name", "STRING"), ("odd", "INT")]
        row = self.ledger.create_table(name, columns, partition_columns=["odd"])
        return Path(row.definition.location.removeprefix("file:"))

    def arrive(self, files: int = 1) -> None:
        """Let files arrive."""
        for _ in range(files):
            first = self.files * ROWS
            rows = [{"id": n, "name": f"n{n}", "odd": n % 2} for n in range(first, first + ROWS)]
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            file = self.folder / "in" / f"{self.files:04d}.json"
            file.write_text(text)
            # Spark takes files in the order of their times, which are whole seconds.
            utime(file, (self.files, self.files))
            self.files += 1

    def source(self) -> DataFrame:
        """Return the stream of the files, one file a batch."""
        reader = self.spark.readStream.schema("id BIGINT, name STRING, odd INT")
        return reader.option("maxFilesPerTrigger", 1).json(str(self.folder / "in"))

    def flow(self, sink: Callable[[DataFrame, int], Any], checkpoint: str = "checkpoint") -> None:
        """Run the stream until it has read what there is; raises StreamingQueryException."""
        writer = self.source().writeStream.foreachBatch(sink).trigger(availableNow=True)
        place = str(self.folder / checkpoint)
        query = writer.option("checkpointLocation", place).queryName("clicks").start()
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def forget(self, *batches: int, checkpoint: str = "checkpoint") -> None:
        """Take the ends of batches out of the checkpoint, as a crash before them leaves it."""
        for number in batches:
            for name in (f"commits/{number}", f"commits/.{number}.crc"):
                (self.folder / checkpoint / name).unlink(missing_ok=True)

    def ids(self, table: str = "db.t") -> Sequence[int]:
        """Return the ids of all rows of a table, in order."""
        found = self.ledger.scan(table, columns=["id"]).to_arrow().column(0).to_pylist()
        return sorted(found)

    def operations(self, table: str = "db.t") -> int:
        """Return how many versions a table has after its creation."""
        return self.ledger.table(table).version

    def stored(self, table: str = "db.t") -> Sequence[str]:
        """Return the Parquet files at the location of a table."""
        location = self.ledger.table(table).definition.location.removeprefix("file:")
        return sorted(str(each.relative_to(location)) for each in Path(location).rglob("*.parquet"))

    def live(self, table: str = "db.t") -> Sequence[str]:
        return sorted(file.path for file in self.ledger.read(table).files)

    def orphans(self, table: str = "db.t") -> int:
        """Return how many files at the location of a table are not live."""
        return len(set(self.stored(table)) - set(self.live(table)))

    def swept(self, table: str = "db.t") -> int:
        """Return how many orphans a vacuum finds and deletes at once."""
        gone = self.ledger.vacuum(table, older_than_h=0)
        return sum(file.why == "orphan" for file in gone.files)


def upto(files: int) -> Sequence[int]:
    """Return the ids of the first files."""
    return list(range(files * ROWS))
