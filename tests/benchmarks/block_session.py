"""The ledger: appends of ten rows into the log, as the peers of `peers` insert them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ledger.client import Ledger
from ledger.definitions import log_room
from tests.benchmarks.peers import crew, readings
from tests.benchmarks.row_session import reads_of


@contextmanager
def session(job: crew.Job) -> Iterator[crew.Call]:
    """Yield a call that appends a batch."""
    widen_room()
    given = readings.batches(job)
    reads = reads_of(job["store"])
    with Ledger.connect(job["bootstrap"], job["ledger"], reads=reads) as ledger:
        yield lambda _: ledger.append(job["table"], next(given))


def widen_room() -> None:
    """Take away the bound above which the writers of this process write files."""
    for bound in ("BYTES_MAX", "ROWS_MAX", "LEDGER_BYTES_MAX"):
        setattr(log_room, bound, sys.maxsize)


if __name__ == "__main__":
    crew.main(session, create=lambda _: None)
