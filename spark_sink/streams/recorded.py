"""What the ledger knows of the batches of a query, and a table for those that write nothing.

Nothing here loads Spark.
"""

from contextlib import suppress
from typing import Final

from ledger.client import Ledger
from ledger.errors import TableExistsError, UnknownTableError
from ledger.sdk.recorded_batches import RecordedBatches
from ledger.session.receipt import Token

HOME: Final = "system.streams"
"""The table that records batches of queries which have not written to any table so far."""


def batches_of(ledger: Ledger, token: Token, app: str, from_batch: int) -> RecordedBatches:
    """Return the batches of an application that are recorded now, or behind a token at least."""
    return RecordedBatches(ledger.reads(), token, app, from_batch)


def home_of(ledger: Ledger) -> int:
    """Return the table for batches that write nothing; it is created for the first such batch."""
    with suppress(UnknownTableError):
        return ledger.table(HOME).table
    with suppress(TableExistsError):
        return ledger.create_table(HOME, [("application", "STRING")]).table
    return ledger.table(HOME).table
