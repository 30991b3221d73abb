"""deltalake: pure commits to the log of one table; each writer keeps a handle of its own.

No file of data is written. Retries are the library's default. A commit does not refresh the handle
it goes through, so the writer does, before the next one.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction

from tests.benchmarks.peers import crew

STATS = json.dumps({"numRecords": 1})


def create(job: crew.Job) -> None:
    """Create the table, partitioned by region, with one row."""
    row = pa.table({"region": ["eu"], "id": pa.array([1], pa.int64())})
    write_deltalake(job["path"], row, partition_by=["region"])


@contextmanager
def session(job: crew.Job) -> Iterator[crew.Call]:
    """Yield a call that commits one file."""
    table = DeltaTable(job["path"])

    def call(_: int) -> None:
        table.update_incremental()
        commit(table)

    yield call


def commit(table: DeltaTable, files: int = 1) -> None:
    """Commit added files through a handle, wherever that handle stands."""
    name = f"region=eu/part-{os.getpid()}-{time.monotonic_ns()}"
    modified = int(time.time() * 1000)
    added = [
        AddAction(f"{name}-{at}", 100, {"region": "eu"}, modified, data_change=True, stats=STATS)
        for at in range(files)
    ]
    table.create_write_transaction(added, "append", table.schema(), ["region"])


if __name__ == "__main__":
    crew.main(session, create=create)
