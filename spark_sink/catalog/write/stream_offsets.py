"""Batches that a stream writes into one table, as `df.writeStream.toTable` does.

The number of the batch and its offsets, texts that are mostly JSON, are recorded in the txn that
adds the files. A batch that comes again adds nothing: its files are deleted, and its first commit
is logged. A query without a checkpoint of its own is refused: its next start is another query.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ledger.reads.port import Reads
from ledger.sdk.recorded_batches import RecordedBatches
from ledger.sdk.streams import SourceOffset, StreamNote
from ledger.statements.target import StatementTable
from ledger.transaction.transaction import Transaction

# Where Spark puts the checkpoint of a query that names none, until the query ends.
TEMPORARY: Final = re.compile(r"/temporary-[0-9a-f-]{36}/?$")


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


def check_kept(query: str, checkpoint: str) -> None:
    """Raise ValueError for a query whose checkpoint ends with it."""
    if TEMPORARY.search(checkpoint):
        raise ValueError(
            f"query {query} must have a checkpointLocation, got none: without one its next start "
            "is another query, which would write all batches again"
        )


def value_of(text: str | None) -> Any:
    """Return the value of an offset, None for none."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def note_from(stream: Mapping[str, Any]) -> StreamNote:
    """Return the note of a batch that the sink of a table describes; raises as `check_kept`."""
    query = str(stream["query"])
    check_kept(query, str(stream["checkpoint"]))
    sources = tuple(
        SourceOffset(str(each["source"]), value_of(each["end"]), value_of(each["latest"]))
        for each in stream["sources"]
    )
    return StreamNote(query, str(stream["name"]), int(stream["batch"]), sources)
