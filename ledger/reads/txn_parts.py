"""The parts of a txn: its effect on each of its tables, from events and state."""

from ledger.core.events.events import TableAltered
from ledger.core.events.parts import AbortedPart, CommittedPart
from ledger.core.state.txns import TxnInFlight
from ledger.log.wire.file_list import chunks_of
from ledger.reads.rows import TxnPart


def touched_tables(txn: TxnInFlight) -> list[int]:
    """Return the tables that an open txn has touched so far, in order of their numbers."""
    return sorted(txn.write_ids.keys() | txn.metadata.keys() | txn.staged.keys())


def open_part(txn: TxnInFlight, table: int) -> TxnPart:
    """Return one table of an open txn, which has no version yet."""
    counts = txn.write_ids.get(table, 0), txn.metadata.get(table, 0)
    return TxnPart(table, *counts, None, 0, table in txn.staged)


def committed_part(part: CommittedPart, txn: TxnInFlight | None) -> TxnPart:
    """Return one table of a commit; `txn` is what was open before it, None for a one-shot."""
    counts = (part.table, part.write_id, part.metadata_events)
    wrote = bool(part.writes) or any(each.data_change for each in chunks_of(part, txn))
    return TxnPart(*counts, part.version, part.read_at, wrote)


def altered_part(body: TableAltered) -> TxnPart:
    """Return the table of an alter that is a commit of its own."""
    return TxnPart(body.table, body.write_id, 1, body.version, body.read_at, wrote=False)


def aborted_part(part: AbortedPart) -> TxnPart:
    """Return one table of an abort."""
    return TxnPart(part.table, part.write_id, part.metadata_events, None, 0, part.wrote)
