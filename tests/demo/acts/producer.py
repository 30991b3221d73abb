"""A producer: loads its days into the table, one txn for each, as a process of its own.

It reads its job from one line of standard input, and ends with standard input, so that no producer
outlives the demo. Two days may end otherwise: one whose txn it aborts after writing all files, and
one in the middle of which it waits for a kill.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Final, NamedTuple, Self

from ledger.client import Ledger
from ledger.transaction.transaction import Transaction
from projections.queries import open_reads
from tests.demo.acts.manifest import DatasetManifest, ManifestEntry, Step
from tests.demo.flights import Day, read_days

ABORT_REASON: Final = "the producer changed its mind"


class Job(NamedTuple):
    """The job of a producer: the places of everything, and the days to load.

    The day at index `abort_at` is aborted once and loaded after that, the one at `hold_at` is left
    unfinished.
    """

    name: str
    bootstrap: str
    ledger: str
    store: str
    table: int
    flights: str
    manifests: str
    days: Sequence[Sequence[int]]
    abort_at: int | None = None
    hold_at: int | None = None

    def line(self) -> bytes:
        """Return the job as the line that `read` takes."""
        return json.dumps(self).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return the job of a line."""
        return cls(*json.loads(line))


class Producer:
    """Does one job with one connection of its own."""

    def __init__(self, ledger: Ledger, job: Job, manifest: DatasetManifest, ended: Signal) -> None:
        self._ledger = ledger
        self._job = job
        self._ended = ended
        self._flights = read_days(Path(job.flights))
        self._manifest = manifest

    def run(self) -> None:
        """Load day after day, until all are loaded or standard input has ended."""
        for number, day in enumerate(Day(*each) for each in self._job.days):
            if self._ended.is_set():
                return
            if number == self._job.hold_at:
                self._write(self._begin(), day)
                self._ended.wait()
                return
            if number == self._job.abort_at:
                self._give_up(day)
            self._load(day)

    def _begin(self) -> Transaction:
        return self._ledger.begin(tables=[self._job.table])

    def _load(self, day: Day) -> None:
        with self._begin() as txn:
            write_id = self._write(txn, day)
        if txn.receipt is not None:
            self._note("committed", txn, write_id, day, txn.receipt.position)

    def _give_up(self, day: Day) -> None:
        txn = self._begin()
        write_id = self._write(txn, day)
        receipt = txn.abort(ABORT_REASON)
        self._note("aborted", txn, write_id, day, receipt.position)

    def _write(self, txn: Transaction, day: Day) -> int:
        """Insert the rows of a day under the txn's write id, and return that."""
        txn.insert(self._job.table, self._flights[day])
        write_id = txn.write_id(self._job.table)
        self._note("wrote", txn, write_id, day)
        return write_id

    def _note(
        self, step: Step, txn: Transaction, write_id: int, day: Day, position: int = 0
    ) -> None:
        at_ns = time.monotonic_ns()
        self._manifest.write(
            ManifestEntry(self._job.name, step, txn.id, write_id, *day, position, at_ns)
        )


def main() -> None:
    """Do the job on standard input, if there is one."""
    line = sys.stdin.buffer.readline()
    if not line:
        return
    job = Job.read(line)
    ended = Signal()
    Thread(target=wait_for_end, args=(ended,), daemon=True).start()
    with (
        closing(open_reads(Path(job.store))) as reads,
        Ledger.connect(job.bootstrap, job.ledger, reads=reads) as ledger,
        closing(DatasetManifest(Path(job.manifests), job.name)) as manifest,
    ):
        Producer(ledger, job, manifest, ended).run()


def wait_for_end(ended: Signal) -> None:
    """Set the signal when standard input has ended.

    It bypasses Python's buffer, whose lock a thread must not hold when the interpreter ends.
    """
    while os.read(sys.stdin.fileno(), 1):
        pass
    ended.set()


if __name__ == "__main__":
    main()
