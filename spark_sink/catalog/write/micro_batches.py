"""Batches that a stream writes into one table, as `df.writeStream.toTable` does.

The number of the batch and its offsets are recorded in the txn that adds the files. A batch that
comes again adds nothing: its files are deleted, and its first commit is logged.
"""

from collections.abc import Mapping
from typing import Any

from ledger.reads.port import Reads
from ledger.statements.target import StatementTable
from ledger.transaction.transaction import Transaction
from spark_sink.streams.offsets import note_from
from spark_sink.streams.recorded import RecordedBatches


def is_new_batch(txn: Transaction, table: StatementTable, stream: Mapping[str, Any]) -> bool:
    """Return whether a batch was not applied before, and record it in the txn then.

    Raises ValueError as `spark_sink.foreach_batch` for a batch of which that is not known.
    """
    note = note_from(stream)
    app = str(stream["application"]) or note.query
    reads: Reads = table.work.view.reads(txn.opened)
    first = int(stream.get("from_batch") or 0)
    if RecordedBatches(reads, txn.token, app, first).receipt_of(note) is not None:
        return False
    txn.app(app, note.batch, tables=[table.number], info=note.info)
    return True
