"""Verbs and a publisher on a disk that refuses: a program of its own, in a mount of its own.

`python -m tests.tables.refusing_disk FAULT FOLDER` prints what happened as JSON, verb by verb.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event as Signal
from typing import Any, Final

from ledger.errors import LedgerError
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from projections.delta.publisher import DeltaPublisher
from projections.delta.table_cursor import PAUSE_MAX_S
from tests.conformance.case_ledger import ManualClock
from tests.tables.published_lake import PUBLISHED

SIZE: Final = "4m"
BALLAST: Final = "ballast"
COLUMNS: Final = [("n", "bigint"), ("part", "int"), ("said", "string")]
Rows = list[dict[str, Any]]


def rows(first: int, count: int = 2, part: int = 0) -> Rows:
    """Return rows of about 60 kB each, which no compression makes smaller."""
    draw = Random(first)  # noqa: S311
    letters = [draw.randbytes(60_000).decode("latin-1") for _ in range(count)]
    return [{"n": first + at, "part": part, "said": each} for at, each in enumerate(letters)]


def mount(*options: str | Path) -> None:
    """Mount a file system, or mount it otherwise."""
    subprocess.run(["mount", *options], check=True)  # noqa: S607 - wherever the system has it


@contextmanager
def full(folder: Path, room: int) -> Iterator[None]:
    """Fill the disk, up to some bytes."""
    left = os.statvfs(folder)
    ballast = folder / BALLAST
    with ballast.open("wb", buffering=0) as file:
        os.posix_fallocate(file.fileno(), 0, left.f_bavail * left.f_bsize - room)
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(folder: Path, _: int) -> Iterator[None]:
    mount("-o", "remount,ro", folder)
    try:
        yield
    finally:
        mount("-o", "remount,rw", folder)


@contextmanager
def without_rights(folder: Path, _: int) -> Iterator[None]:
    """Let no folder take a new file; root must be without its capabilities."""
    folders = [folder, *(each for each in folder.rglob("*") if each.is_dir())]
    for each in folders:
        each.chmod(0o500)
    try:
        yield
    finally:
        for each in folders:
            each.chmod(0o700)


@contextmanager
def limited(kind: int, soft: int) -> Iterator[None]:
    """Limit what the process may use."""
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


FAULTS: Final[Mapping[str, Callable[[Path, int], Any]]] = {
    "full": full,
    "read-only": read_only,
    "rights": without_rights,
    "size": lambda _, room: limited(resource.RLIMIT_FSIZE, room // 2),
}
ROOM: Final = 100_000
"""The bytes for which a disk has room: for less than the file of any statement."""
ROOMS: Final = {"optimize": 600_000, "published": 0}
"""Room for the first of two files of a statement, and for no version of a published log."""

VERBS: Final[Mapping[str, Callable[[Transaction, str], Any]]] = {
    "insert": lambda txn, table: txn.insert(table, rows(100)),
    "overwrite": lambda txn, table: txn.overwrite(table, rows(0, 4)),
    "update": lambda txn, table: txn.update(table, {"n": "n + 10"}, "n > 0"),
    "delete": lambda txn, table: txn.delete(table, "n = 1"),
    "merge": lambda txn, table: txn.merge(
        table, rows(0), "target.n = source.n", when_matched_update=True
    ),
    "optimize": lambda txn, table: txn.optimize(table),
}


class Disk:
    """A table on a disk, and the fault that the disk has at times."""

    def __init__(self, memory: InMemoryLedger, folder: Path, fault: str) -> None:
        self.memory, self.folder = memory, folder
        self.ledger = memory.connect()
        self.make = FAULTS[fault]

    def files(self) -> set[str]:
        return {str(each) for each in self.folder.rglob("*") if each.is_file()}

    def table(self, name: str) -> str:
        """Return a new table that has the disk for itself: two files in each of two partitions."""
        for file in self.files():
            Path(file).unlink()
        table, location = f"db.{name}", f"{self.folder}/{name}"
        self.ledger.create_table(table, COLUMNS, partition_columns=["part"], location=location)
        for part in (0, 1):
            for first in (0, 2):
                self.ledger.append(table, rows(first, part=part))
        return table

    def append(self) -> dict[str, Any]:
        """Append while the disk refuses, and again once it does not."""
        table = self.table("append")
        told = self.told("append", lambda: self.ledger.append(table, rows(100)))
        self.ledger.append(table, rows(100))
        return {**told, "rows": self.ledger.scan(table).count()}

    def verb(self, name: str) -> dict[str, Any]:
        """Run a statement while the disk refuses, and again in the same txn once it does not."""
        table = self.table(name)
        with self.ledger.begin() as loading:
            # A statement loads modules, which are files too.
            loading.insert(table, rows(200))
            loading.abort()
        txn = self.ledger.begin()
        told = self.told(name, lambda: VERBS[name](txn, table))
        told |= {"status": txn.status, "txn": txn.id}
        VERBS[name](txn, table)
        txn.commit()
        return {**told, "rows": self.ledger.scan(table).count()}

    def told(self, name: str, call: Callable[[], Any]) -> dict[str, Any]:
        """Return the error of a call while the disk refuses, and the files that it left."""
        before = self.files()
        error: BaseException | None = None
        with self.make(self.folder, ROOMS.get(name, ROOM)):
            try:
                call()
            except Exception as problem:  # noqa: BLE001 - the test judges it
                error = problem
        return {
            "error": type(error).__name__,
            "is_own": isinstance(error, LedgerError),
            "said": str(error),
            "left": sorted(self.files() - before),
        }

    def publish(self) -> dict[str, Any]:
        """Publish a table while the disk refuses, and go on once it does not."""
        table, clock = self.table("published"), ManualClock()
        publisher = DeltaPublisher(self.memory.log, clock=clock)
        self.published(publisher)
        self.ledger.alter_table(table, properties=PUBLISHED)
        before, stops = self.files(), []
        with self.make(self.folder, ROOMS["published"]):
            for _ in range(4):
                self.published(publisher)
                stops = publisher.stopped_now()
                clock.elapsed_s += PAUSE_MAX_S
        left = self.files() - before
        self.published(publisher)
        said = stops[0].reason if stops else ""
        return {
            "said": said,
            "is_retried": bool(stops) and stops[0].is_retried,
            "left": sorted(left),
            "stopped": [each.reason for each in publisher.stopped_now()],
            "log": sorted(Path(each).name for each in self.files() - before),
        }

    def published(self, publisher: DeltaPublisher) -> None:
        """Run a publisher until it has caught up."""
        stop = Signal()
        publisher.run(stop, stop.set)


def main() -> None:
    """Print what happens on a disk with a fault."""
    fault, folder = sys.argv[1], Path(sys.argv[2])
    if fault in ("full", "read-only"):
        mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder)
    with InMemoryLedger() as memory:
        disk = Disk(memory, folder, fault)
        told = {"append": disk.append(), **{verb: disk.verb(verb) for verb in VERBS}}
        sys.stdout.write(json.dumps({**told, "publish": disk.publish()}))


if __name__ == "__main__":
    main()
