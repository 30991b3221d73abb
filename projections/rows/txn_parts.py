"""Parts of txns: what a txn did in each of its tables, as rows have it.

They stand in the row of the txn, which is made anew by all that touches it. For an open txn of many
tables that would cost as much with every table as all before it did, so there each part has a row
of its own, until the end puts them together.
"""

from collections.abc import Collection, Iterator
from typing import Final

from ledger.core.state.txns import OpenTxn
from ledger.reads.rows import TxnPart
from ledger.reads.txn_parts import open_part, touched_tables
from projections.rows.keys import TXN_PART, pair_key, value
from projections.store.port import RowChange

TOUCHES_MAX: Final = 64
"""What has touched more has parts in rows of their own while it is open."""

TOUCHES_PER_TABLE: Final = 3
"""A txn has a write id in a table, changes it and stages writes to it."""


def is_wide(txn: OpenTxn) -> bool:
    """Tell whether an open txn has rows of its own for its parts; once it has, it keeps them."""
    return touches(txn) > TOUCHES_MAX


def touches(txn: OpenTxn) -> int:
    """Return in how many ways tables are touched so far; it only ever rises."""
    return len(txn.write_ids) + len(txn.metadata) + len(txn.staged)


def parts_within(txn: OpenTxn) -> list[TxnPart]:
    """Return what stands in the row of an open txn: its tables so far, unless it is wide."""
    return [] if is_wide(txn) else [open_part(txn, table) for table in touched_tables(txn)]


def parts_apart(txn: OpenTxn, named: Collection[int]) -> Iterator[RowChange]:
    """Return the rows of those tables that an event named, if the txn is wide by now.

    If the event may have made it so, those of all others come with them.
    """
    if not is_wide(txn):
        return
    was_wide = touches(txn) - TOUCHES_PER_TABLE * len(named) > TOUCHES_MAX
    for table in named if was_wide else touched_tables(txn):
        yield pair_key(TXN_PART, txn.txn, table), value(open_part(txn, table))


def parts_gone(txn: OpenTxn) -> Iterator[RowChange]:
    """Return the ends of the rows that an ended txn had for its parts."""
    for table in touched_tables(txn) if is_wide(txn) else ():
        yield pair_key(TXN_PART, txn.txn, table), None
