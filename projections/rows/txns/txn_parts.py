"""Parts of txns: what a txn did in each of its tables, as rows.

Parts are in the row of the txn, and each event that touches the txn writes that row again. For an
open txn of many tables that cost would grow with the square of the tables, so there each part has a
row of its own. The end of the txn joins them.
"""

from collections.abc import Collection, Iterator
from typing import Final

from ledger.core.state.txns import TxnInFlight
from ledger.reads.rows import TxnPart
from ledger.reads.txn_parts import open_part, touched_tables
from projections.rows.keys import TXN_PART, pair_key, value
from projections.store.port import RowChange

TOUCHES_MAX: Final = 64
"""An open txn that has touched more has a row for each part."""

TOUCHES_PER_TABLE: Final = 3
"""The three ways to touch a table: a write id, a change of metadata, staged writes."""


def is_wide(txn: TxnInFlight) -> bool:
    """Return whether an open txn has a row for each part; once it has, it keeps them."""
    return touches(txn) > TOUCHES_MAX


def touches(txn: TxnInFlight) -> int:
    """Return how many touches of tables there are so far; the number only rises."""
    return len(txn.write_ids) + len(txn.metadata) + len(txn.staged)


def parts_within(txn: TxnInFlight) -> list[TxnPart]:
    """Return the parts in the row of an open txn: its tables so far, or [] if it is wide."""
    return [] if is_wide(txn) else [open_part(txn, table) for table in touched_tables(txn)]


def parts_apart(txn: TxnInFlight, named: Collection[int]) -> Iterator[RowChange]:
    """Return the rows of the tables that an event named, if the txn is wide by now.

    If this event may have made the txn wide, the rows of all its other tables come too.
    """
    if not is_wide(txn):
        return
    was_wide = touches(txn) - TOUCHES_PER_TABLE * len(named) > TOUCHES_MAX
    for table in named if was_wide else touched_tables(txn):
        yield pair_key(TXN_PART, txn.txn, table), value(open_part(txn, table))


def parts_gone(txn: TxnInFlight) -> Iterator[RowChange]:
    """Return the ends of the rows that an ended txn had for its parts."""
    for table in touched_tables(txn) if is_wide(txn) else ():
        yield pair_key(TXN_PART, txn.txn, table), None
