"""Work on a table that is killed at a chosen step, in a process of its own.

    python -m tests.tables.laws.killed_work

Each line on stdin names a folder, a kind of work, and the step at which the process that does it
gets SIGKILL; 0 = never. A step is the beginning or the end of a call that reaches the storage, the
log, or the files of a txn. The answer is how the process ended, and how many steps it did.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final

from ledger.client import Ledger
from ledger.config.settings import SequencerSettings
from ledger.files import data_files, storage, written_files
from ledger.snapshot import scan
from ledger.statements import deleting, inserting, merging, updating
from ledger.statements.rewrites import flushing, optimizing
from ledger.tables import appending, vacuum
from ledger.testing import InMemoryLedger
from tests.tables.laws import kept_log

TABLE: Final = "db.killed"
ALERT: Final = SequencerSettings(suspect_s=0.01, jitter_s=0.01)
COLUMNS: Final = [("id", "bigint"), ("p", "int"), ("v", "string")]
ROWS: Final = [{"id": at, "p": at % 2, "v": f"v{at}"} for at in range(6)]
NEWS: Final = [{"id": at, "p": at % 3, "v": "new"} for at in range(4, 9)]
WAITING: Final = [{"id": at, "p": at % 2, "v": f"v{at}"} for at in range(10, 14)]
# Loaded before the first child is made, so that no child loads them anew.
LOADED: Final = (appending, scan, deleting, flushing, inserting, merging, optimizing, updating)
WATCHED: Final = {each.__file__ for each in (written_files, data_files, storage, vacuum, kept_log)}


def made(ledger: Ledger, folder: Path) -> None:
    """Make the table with files of several commits, some of them removed, and rows in the log."""
    ledger.create_table(TABLE, COLUMNS, partition_columns=["p"], location=folder / "table")
    for row in ROWS:
        ledger.append(TABLE, [row])
    with ledger.transaction() as txn:
        txn.insert(TABLE, [{"id": 99, "p": 1, "v": "gone"}])
    with ledger.transaction() as txn:
        txn.delete(TABLE, "id = 99")
    ledger.alter_table(TABLE, properties={"lakeledger.inline": "on"})
    for row in WAITING:
        ledger.append(TABLE, [row])
    ledger.alter_table(TABLE, properties={"lakeledger.inline": "off"})


def inserted(ledger: Ledger, _: Path) -> None:
    """Insert rows into several partitions."""
    with ledger.transaction() as txn:
        txn.insert(TABLE, NEWS)


def appended(ledger: Ledger, _: Path) -> None:
    """Append rows in one round trip."""
    ledger.append(TABLE, NEWS)


def merged(ledger: Ledger, _: Path) -> None:
    """Update and insert rows."""
    with ledger.transaction() as txn:
        on = "target.id = source.id"
        txn.merge(TABLE, NEWS, on, when_matched_update=True, when_not_matched_insert=True)


def changed(ledger: Ledger, _: Path) -> None:
    """Change rows several times: files of the txn itself give way."""
    with ledger.transaction() as txn:
        txn.insert(TABLE, NEWS)
        txn.update(TABLE, {"v": "concat(v, '!')"}, "id > 3")
        txn.delete(TABLE, "id = 8")


def overwritten(ledger: Ledger, _: Path) -> None:
    """Overwrite a partition."""
    with ledger.transaction() as txn:
        txn.overwrite(TABLE, [row for row in NEWS if row["p"] == 1], "p = 1")


def optimized(ledger: Ledger, _: Path) -> None:
    """Put small files together."""
    with ledger.transaction() as txn:
        txn.optimize(TABLE)


def flushed(ledger: Ledger, _: Path) -> None:
    """Put rows of the log into files."""
    with ledger.transaction() as txn:
        txn.flush(TABLE)


def aborted(ledger: Ledger, _: Path) -> None:
    """Abort a txn that has written rows."""
    txn = ledger.begin()
    txn.insert(TABLE, NEWS)
    txn.abort()


def vacuumed(ledger: Ledger, _: Path) -> None:
    """Delete released files."""
    ledger.vacuum(TABLE, older_than_h=0.0)


WORK: Final[Mapping[str, Callable[[Ledger, Path], None]]] = {
    "made": made,
    "inserted": inserted,
    "appended": appended,
    "merged": merged,
    "changed": changed,
    "overwritten": overwritten,
    "optimized": optimized,
    "flushed": flushed,
    "aborted": aborted,
    "vacuumed": vacuumed,
}


class Steps:
    """Counts steps, and kills this process at one of them."""

    def __init__(self, last: int) -> None:
        self.last, self.count = last, 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call or a return in a watched module."""
        if event in ("call", "return") and frame.f_code.co_filename in WATCHED:
            self.count += 1
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGKILL)


def do(folder: Path, name: str, last: int) -> int:
    """Do work in this process, and return how many steps it had."""
    log = kept_log.KeptLog(folder / "log")
    with InMemoryLedger(log=log, settings=ALERT) as memory:
        ledger = memory.connect()
        ledger.tables()
        steps = Steps(last)
        sys.setprofile(steps)
        try:
            WORK[name](ledger, folder)
        finally:
            sys.setprofile(None)
    return steps.count


def main() -> None:
    """Do what the lines of stdin name, each in a child of this process."""
    for line in sys.stdin:
        name, last, folder = line.rstrip("\n").split(" ", 2)
        child = os.fork()
        if not child:
            count = do(Path(folder), name, int(last))
            (Path(folder) / "steps").write_text(str(count), encoding="utf-8")
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"answer {code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
