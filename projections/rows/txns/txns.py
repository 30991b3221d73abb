"""Txns: one row for each txn, written by every event that touches it, kept after its end.

The row of an open txn is made at the end of a batch: a follower that catches up reads most txns
from open to end in one batch. Read-only txns have rows like all others. A forgotten txn has a
second row, because the state no longer holds its beginning by then.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ledger.core.commands import TxnType
from ledger.core.events.events import (
    AbortedForgotten,
    Control,
    SessionClosed,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
    WritesStaged,
)
from ledger.core.events.parts import AbortedPart, AllocatedId, Evidence
from ledger.core.state.txns import TxnInFlight
from ledger.reads.rows import TxnPart
from ledger.reads.txn_parts import aborted_part, altered_part, committed_part
from projections.rows.applied import Applied, MetadataChange
from projections.rows.keys import FORGOTTEN, TABLE_READ, TXN, Fields, number_key, pair_key, value
from projections.rows.projection import Rows
from projections.rows.txns.conflicts import evidence_form
from projections.rows.txns.txn_parts import parts_apart, parts_gone, parts_within
from projections.store.batch import LateChange


class TxnFields(Fields):
    """A txn from open to end; `opened` and `ended` are positions, `deadline` is milliseconds.

    `reads` are the tables that its commit only read.
    """

    type: TxnType
    session: int = 0
    opened: int = 0
    deadline: int = 0
    min_open: int = 0
    status: str = ""
    ended: int = 0
    reason: str = ""
    parts: tuple[TxnPart, ...] = ()
    reads: tuple[int, ...] = ()
    evidence: Mapping[str, Any] | None = None


def opened(applied: Applied, body: TxnOpened) -> Iterator[LateChange]:
    """Return the rows of the txns that the event opened."""
    first, named = applied.control.txn, by_txn(body.ids)
    for number in range(first, first + body.size):
        yield from touched(applied, number, named.get(number, ()))


def allocated(applied: Applied, body: WriteIdsAllocated) -> Iterator[LateChange]:
    """Return the rows of the txns that were given further write ids."""
    for number, tables in by_txn(body.ids).items():
        yield from touched(applied, number, tables)


def by_txn(ids: Iterable[AllocatedId]) -> Mapping[int, Collection[int]]:
    """Return the tables of write ids by their txns."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for each in ids:
        found[each.txn].append(each.table)
    return found


def change_rows(applied: Applied, body: MetadataChange | WritesStaged) -> Iterable[LateChange]:
    """Return the row of the open txn, if there is one, that has one more change to commit."""
    txn = applied.control.txn
    return touched(applied, txn, (body.table,)) if txn else ()


def altered(applied: Applied, body: TableAltered) -> Iterable[LateChange]:
    """Return the row of the txn that altered a table; the event may open and commit it too."""
    if not body.one_shot:
        return change_rows(applied, body)
    fields = at_once(applied.control, "default", [altered_part(body)])
    return [(number_key(TXN, applied.control.txn), fields.value())]


def committed(applied: Applied, body: TxnCommitted) -> Iterator[LateChange]:
    """Yield the row of a committed txn, and one for each table that it only read.

    A one-shot txn was opened by the same event.
    """
    control = applied.control
    txn = None if body.one_shot else applied.ended[control.txn]
    parts = [committed_part(part, txn) for part in body.parts]
    if txn is None:
        fields = at_once(control, body.type, parts)
    else:
        fields = fields_of(txn, "committed", parts, ended=control.position)
        yield from parts_gone(txn)
    fields.reads = tuple(dict.fromkeys(read.table for read in body.reads))
    yield number_key(TXN, control.txn), fields.value()
    wrote = [part.table for part in body.parts]
    for table in fields.reads:
        yield pair_key(TABLE_READ, table, control.position), value([control.txn, wrote])


def aborted(applied: Applied, body: TxnAborted) -> Iterable[LateChange]:
    """Return the row of an aborted txn; a one-shot that lost has no txn."""
    if body.one_shot:
        return ()
    return ended(applied, applied.control.txn, body.reason, body.parts, body.evidence)


def all_aborted(applied: Applied, body: SessionClosed | TxnsExpired) -> Iterator[LateChange]:
    """Return the rows of the txns that ended with their session, or by housekeeping."""
    for txn, cause, parts in body.ends:
        yield from ended(applied, txn, cause, parts)


def forgotten(applied: Applied, body: AbortedForgotten) -> list[LateChange]:
    """Return the rows of the forgotten txns."""
    position = value(applied.control.position)
    return [(number_key(FORGOTTEN, txn), position) for txn in body.txns]


def touched(applied: Applied, number: int, tables: Collection[int]) -> Iterator[LateChange]:
    """Return the rows of a txn that stays open and touched these tables."""
    txn = applied.state.txns.open[number]
    yield number_key(TXN, number), partial(open_value, txn)
    yield from parts_apart(txn, tables)


def open_value(txn: TxnInFlight) -> bytes:
    """Return the row of an open txn."""
    return fields_of(txn, "open", parts_within(txn)).value()


def fields_of(
    txn: TxnInFlight,
    status: str,
    parts: Iterable[TxnPart],
    *,
    ended: int = 0,
    reason: str = "",
    evidence: Evidence | None = None,
) -> TxnFields:
    """Return the fields of a txn that is or was open, with those of its end."""
    return TxnFields(
        type=txn.type,
        session=txn.session,
        opened=txn.opened,
        deadline=txn.deadline,
        min_open=txn.min_open,
        status=status,
        ended=ended,
        reason=reason,
        parts=tuple(parts),
        evidence=evidence_form(evidence) if evidence is not None else None,
    )


def at_once(control: Control, kind: TxnType, parts: Iterable[TxnPart]) -> TxnFields:
    """Return the fields of a txn that began with its commit."""
    return TxnFields(
        type=kind,
        session=control.session,
        opened=control.position,
        status="committed",
        ended=control.position,
        parts=tuple(parts),
    )


def ended(
    applied: Applied,
    number: int,
    reason: str,
    parts: Sequence[AbortedPart],
    evidence: Evidence | None = None,
) -> Iterator[LateChange]:
    """Return the rows of a txn that was aborted."""
    txn, position = applied.ended[number], applied.control.position
    left = [aborted_part(part) for part in parts]
    fields = fields_of(txn, "aborted", left, ended=position, reason=reason, evidence=evidence)
    yield from parts_gone(txn)
    yield number_key(TXN, number), fields.value()


ROWS: Final[Mapping[type, Rows]] = {
    TxnOpened: opened,
    WriteIdsAllocated: allocated,
    WritesStaged: change_rows,
    TableCreated: change_rows,
    TableAltered: altered,
    TableRenamed: change_rows,
    TableDropped: change_rows,
    TxnCommitted: committed,
    TxnAborted: aborted,
    SessionClosed: all_aborted,
    TxnsExpired: all_aborted,
    AbortedForgotten: forgotten,
}
