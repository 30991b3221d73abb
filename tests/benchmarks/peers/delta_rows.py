"""deltalake: updates of single rows of a table of one file.

The library cannot write deletion vectors, so each update writes the file anew. It repeats no
statement that conflicts.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tests.benchmarks.peers import crew, one_file


def create(job: crew.Job) -> None:
    """Create the table with one file."""
    rows = range(job["rows"])
    table = {"id": pa.array(rows, pa.int64()), "n": pa.array([0] * len(rows), pa.int64())}
    names = pa.array([f"name {number % 1000}" for number in rows])
    write_deltalake(job["path"], pa.table({**table, "name": names}))


@contextmanager
def session(job: crew.Job) -> Iterator[crew.Call]:
    """Yield a call that updates a row."""
    table = DeltaTable(job["path"])

    def update(row: int) -> None:
        table.update_incremental()
        table.update(updates={"n": "n + 1"}, predicate=f"id = {row}")

    yield one_file.one_after_the_other(job, update)


if __name__ == "__main__":
    crew.main(session, create=create)
