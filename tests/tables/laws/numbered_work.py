"""Appends numbered rows for ever, in a process of its own, and says after each commit how many.

    python -m tests.tables.laws.numbered_work FOLDER

The log of the ledger is kept in the folder, so that a later process goes on with it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ledger.client import Ledger
from ledger.errors import TableExistsError
from ledger.testing import InMemoryLedger
from tests.tables.laws.kept_log import KeptLog
from tests.tables.laws.killed_work import ALERT

TABLE: Final = "db.numbered"
COLUMNS: Final = [("id", "bigint GENERATED ALWAYS AS IDENTITY"), ("count", "int")]
COUNTS: Final = (1, 7, 400, 900)


@contextmanager
def opened(folder: Path) -> Iterator[Ledger]:
    """Give a client of the ledger whose log is kept in a folder."""
    with InMemoryLedger(log=KeptLog(folder / "log"), settings=ALERT) as memory:
        yield memory.connect()


def work(ledger: Ledger, folder: Path) -> None:
    """Append rows until the process is killed."""
    try:
        ledger.create_table(TABLE, COLUMNS, location=folder / "table")
    except TableExistsError:
        sys.stdout.write("found\n")
    while True:
        for count in COUNTS:
            ledger.append(TABLE, [{"count": count}] * count)
            sys.stdout.write(f"{count}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    with opened(Path(sys.argv[1])) as client:
        work(client, Path(sys.argv[1]))
