"""DuckLake: inserts of ten rows into one table, which stay inlined in its catalog in PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.peers import crew, ducklake, readings


def create(job: crew.Job) -> None:
    """Make a new catalog with a table of readings."""
    ducklake.create(job)
    # DuckDB has the same types, and calls one of them otherwise.
    columns = ", ".join(f"{name} {kind.removesuffix('_NTZ')}" for name, kind in readings.COLUMNS)
    with ducklake.attached(job) as lake:
        lake.execute(f"create table lake.{readings.TABLE} ({columns})")


@contextmanager
def session(job: crew.Job) -> Iterator[crew.Call]:
    """Yield a call that inserts a batch."""
    given = readings.batches(job)
    with ducklake.attached(job) as lake:

        def insert(_: int) -> None:
            lake.register("batch", next(given))
            lake.execute(f"insert into lake.{readings.TABLE} from batch")

        yield insert


if __name__ == "__main__":
    crew.main(session, create=create)
