"""Visibility: how the lists come about that say what a reader may see.

`valid_write_ids` turns a valid txn list into the valid write id list of one table. It reads the
mappings write id -> txn as they are now, while the txn list stays as old as it is: that the answer
is still the one of the old snapshot is what the cleanup watermark protects.

Nothing here changes a state, and nothing here says what a list means: see `valid_lists`.
"""

from collections.abc import Iterable

from ledger.core.valid_lists import ValidTxnList, ValidWriteIdList


def valid_write_ids(
    table_name: str,
    txns: ValidTxnList,
    mappings: Iterable[tuple[int, int]],
    last_write_id: int,
) -> ValidWriteIdList:
    """Return the write ids of a table that are valid for a reader of `txns`, in full (rule b3).

    `mappings` are the table's rows (write id, txn) in ascending write id order, as they are now;
    `last_write_id` is the highest id the table ever gave out, 0 if none. A write id up to the high
    watermark without a row is committed: only such rows are ever cleaned. A txn's own write id is
    valid in its own list, before and after the commit, because its txn id is the high watermark of
    its txn list and never an exception there. A txn above the list's high watermark counts as open
    for this reader for ever, whatever became of it.
    """
    rows = list(mappings)
    covered = (write_id for write_id, txn in reversed(rows) if txn <= txns.hwm)
    hwm = next(covered, last_write_id)
    exceptions = [row for row in rows if row[0] <= hwm and not txns.is_valid(row[1])]
    still_open = tuple(write_id for write_id, txn in exceptions if not txns.is_aborted(txn))
    aborted = tuple(write_id for write_id, txn in exceptions if txns.is_aborted(txn))
    min_open = still_open[0] if still_open else None
    return ValidWriteIdList(table_name, hwm, still_open, aborted, min_open)
