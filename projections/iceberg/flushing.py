"""Rows of the log go into files before readers of Iceberg get a table, which find files alone."""

from collections.abc import Iterable
from typing import Final

from ledger.client import Ledger
from ledger.reads.port import Reads, TableRow
from ledger.session.receipt import Receipt

ATTEMPTS: Final = 3


def flush(ledger: Ledger, reads: Reads, rows: Iterable[TableRow]) -> int | None:
    """Put the rows of tables that lie in the log into files.

    Return the position as of which those are there, None if no such row is known.
    """
    receipts: list[Receipt] = []
    for row in rows:
        if reads.blocks(row.table):
            number = row.table
            ledger.run(
                lambda txn, number=number: txn.flush(number),  # type: ignore[misc]
                ATTEMPTS,
                on_commit=receipts.append,
            )
    return receipts[-1].position if receipts else None
