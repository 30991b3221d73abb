"""Visibility: how the lists come about that say what a reader may see.

`valid_txn_list` is the list of a txn, or of a reader without one, as the state is now; what a txn
holds is the list its TxnOpened stored. `valid_write_ids` turns a valid txn list into the valid
write id list of one table. It reads the mappings write id -> txn as they are now, while the txn
list stays as old as it is: that the answer is still the one of the old snapshot is what the cleanup
watermark protects.

Nothing here changes a state, and nothing here says what a list means: see `valid_lists`.
"""

from collections.abc import Iterable, Sequence

from ledger.core.events.events import Control, TxnOpened
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.state.domain import DomainState


def valid_txn_list(state: DomainState, txn: int = 0) -> ValidTxnList:
    """Return the valid txn list of `txn` as of now, or with 0 that of a reader without one.

    The high watermark is the txn's own id (without one: the largest given out), the exceptions are
    the open and aborted ids below it, read-only ones left out (rule b1).
    """
    hwm = txn or state.txns.next_txn - 1
    below = txn or state.txns.next_txn
    return listed(hwm, state.txns.open_visible.below(below), state.txns.aborted_ids.below(below))


def held_txn_list(control: Control, opened: TxnOpened, txn: int) -> ValidTxnList:
    """Return the list that `txn` holds since its TxnOpened, whose `inline` is true.

    Txns opened by the same event with a lower id are open for it.
    """
    assert opened.inline, f"the snapshot of txn {txn} is not in its event"
    batch = () if opened.type == "read_only" else range(control.txn, txn)
    return listed(txn, (*opened.open, *batch), tuple(opened.aborted))


def listed(hwm: int, still_open: tuple[int, ...], aborted: tuple[int, ...]) -> ValidTxnList:
    """Return the list with its least open id."""
    return ValidTxnList(hwm, still_open, aborted, still_open[0] if still_open else None)


def hides(txns: ValidTxnList, txn: int) -> bool:
    """Tell whether a reader of `txns` must not see what this txn commits or has committed."""
    return not txns.is_valid(txn) and not txns.is_aborted(txn)


def is_protected(txns: ValidTxnList, watermark: int) -> bool:
    """Tell whether a list hides no txn below the watermark: so it is with those of open txns."""
    return min((*txns.open[:1], txns.hwm + 1)) >= watermark


def valid_write_ids(
    table_name: str,
    txns: ValidTxnList,
    mappings: Iterable[tuple[int, int]],
    last_write_id: int,
) -> ValidWriteIdList:
    """Return the write ids of a table that are valid for a reader of `txns`, uncut.

    `mappings` are the table's rows (write id, txn) in ascending write id order, as they are now;
    `last_write_id` is the highest id the table ever gave out, 0 if none. A write id without a row
    is committed: only the rows of such ids are ever cleaned. A txn's own write id is valid in its
    own list, before and after the commit, because its txn id is the high watermark of its txn list
    and never an exception there. A txn above the list's high watermark counts as open for this
    reader for ever, whatever became of it.
    """
    rows = list(mappings)
    hwm = write_id_hwm(rows, txns.hwm, last_write_id)
    exceptions = [row for row in rows if row[0] <= hwm and not txns.is_valid(row[1])]
    still_open = tuple(write_id for write_id, txn in exceptions if not txns.is_aborted(txn))
    aborted = tuple(write_id for write_id, txn in exceptions if txns.is_aborted(txn))
    min_open = still_open[0] if still_open else None
    return ValidWriteIdList(table_name, hwm, still_open, aborted, min_open)


def write_id_hwm(rows: Sequence[tuple[int, int]], txn_hwm: int, last_write_id: int) -> int:
    """Return the highest write id a reader may have to judge.

    It is the highest id of a txn up to `txn_hwm`, and `last_write_id` if no row has such a txn.
    """
    covered = (write_id for write_id, txn in reversed(rows) if txn <= txn_hwm)
    highest_covered = next(covered, last_write_id)
    # Hive stops here and loses committed data: an older txn may hold the higher write id, and its
    # row is cleaned first. The highest id without a row is committed, so it is covered as well.
    expected = zip(range(last_write_id, 0, -1), reversed(rows), strict=False)
    cleaned = (write_id for write_id, row in expected if row[0] != write_id)
    return max(highest_covered, next(cleaned, last_write_id - len(rows)))
