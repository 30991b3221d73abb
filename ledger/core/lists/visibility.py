"""Visibility: the computation of the lists of ids that a reader may see.

`valid_txn_list` is the list of a txn, or of a reader without one, in the present state. A txn keeps
the list in its TxnOpened. `valid_write_ids` turns a valid txn list into the valid write id list of
one table. It combines the present mappings write id -> txn with a txn list that may be old. The
cleanup watermark guarantees that the result is still the one of the old snapshot.

This module changes no state. For the meaning of a list see `valid_lists`.
"""

from collections.abc import Iterable, Sequence

from ledger.core.events.events import Control, TxnOpened
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.state.domain import DomainState


def valid_txn_list(state: DomainState, txn: int = 0) -> ValidTxnList:
    """Return the present valid txn list of `txn`, or with 0 the list of a reader without a txn.

    The high watermark is the txn's own id (without a txn: the largest id given out). The exceptions
    are the open and aborted ids below it, without read-only txns (rule b1).
    """
    hwm = txn or state.txns.next_txn - 1
    below = txn or state.txns.next_txn
    return listed(hwm, state.txns.open_visible.below(below), state.txns.aborted_ids.below(below))


def held_txn_list(control: Control, opened: TxnOpened, txn: int) -> ValidTxnList:
    """Return the list that `txn` keeps from its TxnOpened, which must be `inline`.

    Txns with a lower id from the same event count as open.
    """
    if not opened.inline:
        raise AssertionError(f"the snapshot of txn {txn} is not in its event")
    batch = () if opened.type == "read_only" else range(control.txn, txn)
    return listed(txn, (*opened.open, *batch), tuple(opened.aborted))


def listed(hwm: int, still_open: tuple[int, ...], aborted: tuple[int, ...]) -> ValidTxnList:
    """Return the list with its least open id."""
    return ValidTxnList(hwm, still_open, aborted, still_open[0] if still_open else None)


def hides(txns: ValidTxnList, txn: int) -> bool:
    """Tell whether a reader of `txns` must not see this txn's commit, past or future."""
    return not txns.is_valid(txn) and not txns.is_aborted(txn)


def is_protected(txns: ValidTxnList, watermark: int) -> bool:
    """Tell whether a list hides no txn below the watermark, as is true for open txns."""
    return min((*txns.open[:1], txns.hwm + 1)) >= watermark


def valid_write_ids(
    table_name: str, txns: ValidTxnList, mappings: Iterable[tuple[int, int]], last_write_id: int
) -> ValidWriteIdList:
    """Return the write ids of a table that are valid for a reader of `txns`, uncut.

    `mappings` are the table's present rows (write id, txn) in ascending write id order;
    `last_write_id` is the highest id the table ever gave out, 0 if it gave out no id. A write id
    without a row is committed, because only rows of committed ids are cleaned. A txn's own write id
    is always valid in its own list: its txn id is the high watermark of the txn list and no
    exception. A txn above the high watermark counts as open for this reader for ever.
    """
    rows = list(mappings)
    hwm = write_id_hwm(rows, txns.hwm, last_write_id)
    exceptions = [row for row in rows if row[0] <= hwm and not txns.is_valid(row[1])]
    still_open = tuple(write_id for write_id, txn in exceptions if not txns.is_aborted(txn))
    aborted = tuple(write_id for write_id, txn in exceptions if txns.is_aborted(txn))
    min_open = still_open[0] if still_open else None
    return ValidWriteIdList(table_name, hwm, still_open, aborted, min_open)


def write_id_hwm(rows: Sequence[tuple[int, int]], txn_hwm: int, last_write_id: int) -> int:
    """Return the high watermark of a write id list.

    It is the highest id of a txn up to `txn_hwm`, or `last_write_id` if no row has such a txn.
    """
    covered = (write_id for write_id, txn in reversed(rows) if txn <= txn_hwm)
    highest_covered = next(covered, last_write_id)
    # Hive stops here and loses committed data: an older txn may hold the higher write id, and its
    # row is cleaned first. The highest id without a row is committed, so it is covered too.
    expected = zip(range(last_write_id, 0, -1), reversed(rows), strict=False)
    cleaned = (write_id for write_id, row in expected if row[0] != write_id)
    return max(highest_covered, next(cleaned, last_write_id - len(rows)))
