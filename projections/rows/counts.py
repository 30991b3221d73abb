"""Counts: the numbers that would cost too much to count for each question.

There is one row, made from the state when a batch ends. The state holds the numbers. Any event may
change one of them: a mapping leaves with the first event after its holder ended.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from ledger.core.state.domain import DomainState
from projections.rows.applied import Applied
from projections.rows.keys import COUNTS, Fields
from projections.rows.projection import EVERY, Rows
from projections.store.batch import LateChange


class CountFields(Fields):
    """The numbers of open txns, of aborted txns not yet forgotten, of tables and of mappings."""

    open_txns: int = 0
    aborted_txns: int = 0
    tables: int = 0
    mappings: int = 0


def moved(applied: Applied, _body: object) -> list[LateChange]:
    """Return the row of the counts."""
    return [(COUNTS, partial(counted, applied.state))]


def counted(state: DomainState) -> bytes:
    """Return the row of the counts; a table that exists for all holds one name."""
    fields = CountFields(
        open_txns=len(state.txns.open),
        aborted_txns=len(state.txns.aborted),
        tables=len(state.tables.names),
        mappings=state.txns.mapped,
    )
    return fields.value()


ROWS: Final[Mapping[type, Rows]] = dict.fromkeys(EVERY, moved)
