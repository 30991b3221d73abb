"""The ledger: updates of single rows of a table of one file, as the peers of `peers` do them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ledger.client import Ledger
from ledger.reads.port import Reads
from projections.queries import open_reads
from tests.benchmarks.peers import crew, one_file


@cache
def reads_of(store: str) -> Reads:
    """Return the rows of a follower; all sessions of a process share them."""
    return open_reads(Path(store))


@contextmanager
def session(job: crew.Job) -> Iterator[crew.Call]:
    """Yield a call that updates a row in a txn of its own, once."""
    reads = reads_of(job["store"])
    with Ledger.connect(job["bootstrap"], job["ledger"], reads=reads) as ledger:

        def update(row: int) -> None:
            with ledger.transaction() as txn:
                txn.update(job["table"], {"n": "n + 1"}, f"id = {row}")

        yield one_file.one_after_the_other(job, update)


if __name__ == "__main__":
    crew.main(session, create=lambda _: None)
