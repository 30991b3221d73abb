"""DuckLake: updates of single rows of a table of one file, its catalog in PostgreSQL.

DuckLake retries commits by itself where it sees no conflict. It gives up where two change one file.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.peers import crew, ducklake, one_file


def create(job: crew.Job) -> None:
    """Make a new catalog with a table of one file."""
    ducklake.create(job)
    with ducklake.attached(job) as lake:
        lake.execute(
            "create table lake.lines as select range as id, 0::bigint as n, "
            "'name ' || range % 1000 as name from range(?)",
            [job["rows"]],
        )


@contextmanager
def session(job: crew.Job) -> Iterator[crew.Call]:
    """Yield a call that updates a row."""
    with ducklake.attached(job) as lake:

        def update(row: int) -> None:
            lake.execute("update lake.lines set n = n + 1 where id = ?", [row])

        yield one_file.one_after_the_other(job, update)


if __name__ == "__main__":
    crew.main(session, create=create)
