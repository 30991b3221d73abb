"""DuckLake: what is done with the inlined rows of a table by one connection, and how long it takes.

The job says in `does` what is done, a name of `DOES`. CHECKPOINT of this version leaves inlined
rows where they are, so they are flushed by the function for it.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.peers import crew, ducklake, ducklake_blocks, readings

NAME: Final = f"lake.{readings.TABLE}"


def load(lake: Any, job: crew.Job) -> None:
    """Insert so many batches, one after the other."""
    given = readings.batches({"session": 0})
    for _ in range(job["batches"]):
        lake.register("batch", next(given))
        lake.execute(f"insert into {NAME} from batch")


def count(lake: Any, _: crew.Job) -> Any:
    """Return how many rows there are, and how many ids."""
    return lake.execute(readings.COUNT.format(table=NAME)).fetchone()


def ask(lake: Any, _: crew.Job) -> float:
    """Return the seconds of all queries, after a first time that is not measured."""
    for _again in range(2):
        began_s = time.perf_counter()
        for query in readings.QUERIES:
            lake.execute(query.format(table=NAME)).fetchall()
        took_s = time.perf_counter() - began_s
    return took_s


def flush(lake: Any, _: crew.Job) -> float:
    """Return the seconds of a flush of all inlined rows."""
    began_s = time.perf_counter()
    lake.execute("call ducklake_flush_inlined_data('lake')").fetchall()
    return time.perf_counter() - began_s


def files(_: Any, job: crew.Job) -> int:
    """Return how many files the folder has."""
    return sum(path.is_file() for path in Path(job["path"]).rglob("*"))


DOES: Final[Mapping[str, Any]] = {
    "load": load,
    "count": count,
    "ask": ask,
    "flush": flush,
    "files": files,
}


def main() -> None:
    """Do what the job says, and tell the answer."""
    job = crew.read_job()
    if job["does"] == "load":
        ducklake_blocks.create(job)
    with ducklake.attached(job) as lake:
        crew.tell(DOES[job["does"]](lake, job))


if __name__ == "__main__":
    main()
