"""Listed tables on disk: the ledger knows their files, and a reader opens only those.

Statements over rows write them. A file is written once, under a unique name, and never changed: a
statement writes new files and records in the ledger which files they replace. Files of an aborted
txn are never listed. The sums are read from the files themselves, without the SDK's scans.
"""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from ledger.reads.port import FileRow, TableRow
from ledger.transaction.transaction import Transaction
from tests.demo.delta_folders import PARTITION, read
from tests.demo.flights import NOTHING, Totals, totals_of

LONGER: Final = "distance"
"""The column to which an UPDATE of the demo adds 1, in every row."""
FILES_KEPT: Final = 10_000


def path_of(table: TableRow, name: str) -> Path:
    """Return the path of a file of a table."""
    return Path(table.definition.location) / name


def update(txn: Transaction, table: TableRow, month: int) -> None:
    """Make every flight of a month one mile longer."""
    txn.update(table, {LONGER: f"{LONGER} + 1"}, f"{PARTITION} = {month}")


def delete(txn: Transaction, table: TableRow, month: int) -> None:
    """Delete the flights of a month."""
    txn.delete(table, f"{PARTITION} = {month}")


def month_totals(table: TableRow, files: Iterable[FileRow]) -> dict[int, Totals]:
    """Return the sums over the rows of some files, by their month in the ledger.

    Raises OSError for a missing file.
    """
    found: dict[int, Totals] = {}
    for file in files:
        month = int(file.partition[0] or 0)
        totals = file_totals(path_of(table, file.path))
        found[month] = found.get(month, NOTHING).plus(totals)
    return found


@lru_cache(FILES_KEPT)
def file_totals(path: Path) -> Totals:
    """Return the sums over the rows of a file, which never changes."""
    return totals_of(read([path]))
