"""pyiceberg: appends of one row to one table, each a file and a commit, through some catalog.

The job has the settings of the catalog, so that the same writers work through any of them. A writer
keeps its table; where a commit fails, pyiceberg tries again by itself a few times.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog

from tests.benchmarks.peers import crew


def catalog(job: crew.Job) -> Catalog:
    logging.disable(logging.CRITICAL)
    return load_catalog("lake", **job["catalog"])


def create(job: crew.Job) -> None:
    """Make the table anew."""
    found = catalog(job)
    found.create_namespace_if_not_exists("bench")
    columns = pa.schema([("id", pa.int64()), ("region", pa.string())])
    found.create_table(job["table"], columns)


@contextmanager
def session(job: crew.Job) -> Iterator[crew.Call]:
    """Yield a call that appends a row."""
    table = catalog(job).load_table(job["table"])
    columns = table.schema().as_arrow()

    def append(number: int) -> None:
        row = {"id": number, "region": "eu"}
        table.append(pa.Table.from_pylist([row], schema=columns))

    yield append


if __name__ == "__main__":
    crew.main(session, create=create)
