"""Txns: one row per txn, given again by every event that touches it, kept after its end.

While a txn is open its row is made at the end of a batch: who catches up reads most txns from open
to end in one batch. Read-only txns have rows like all others. That an aborted txn was forgotten is
a row of its own: by then its beginning is no longer at hand.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ledger.core.event_parts import AbortedPart, CommittedPart, Evidence
from ledger.core.events import (
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
from ledger.core.ids import TxnType
from ledger.core.txns import OpenTxn
from ledger.file_list import chunks_of
from projections.applied import Applied
from projections.conflicts import evidence_form
from projections.projection import Rows
from projections.rows import FORGOTTEN, TXN, Fields, number_key, value
from projections.store.batch import LateChange

Part = list[int | None]
"""One table of a txn: number, write id, metadata events, version, position read at, rows written.

There is no version while it is open or once it is aborted.
"""


class TxnFields(Fields):
    """A txn from open to end; `opened` and `ended` are positions, `deadline` is milliseconds."""

    type: TxnType
    session: int = 0
    opened: int = 0
    deadline: int = 0
    min_open: int = 0
    status: str = ""
    ended: int = 0
    reason: str = ""
    parts: tuple[Part, ...] = ()
    evidence: Mapping[str, Any] | None = None


def opened(applied: Applied, body: TxnOpened) -> list[LateChange]:
    """Return the rows of the txns that the event opened."""
    first = applied.control.txn
    return [touched(applied, number) for number in range(first, first + body.size)]


def allocated(applied: Applied, body: WriteIdsAllocated) -> list[LateChange]:
    """Return the rows of the txns that have further write ids."""
    return [touched(applied, number) for number in {each.txn for each in body.ids}]


def changed(applied: Applied, _body: object) -> list[LateChange]:
    """Return the row of the txn, if there is one, that has one more change to commit."""
    txn = applied.control.txn
    return [touched(applied, txn)] if txn else []


def altered(applied: Applied, body: TableAltered) -> list[LateChange]:
    """Return the row of the txn that altered a table, perhaps opened and committed by that."""
    if not body.one_shot:
        return changed(applied, body)
    part: Part = [body.table, body.write_id, 1, body.version, body.read_at, False]
    fields = at_once(applied.control, "default", [part])
    return [(number_key(TXN, applied.control.txn), fields.value())]


def committed(applied: Applied, body: TxnCommitted) -> list[LateChange]:
    """Return the row of a committed txn; a one-shot one was opened by the same event."""
    control = applied.control
    txn = None if body.one_shot else applied.ended[control.txn]
    parts = [committed_part(part, txn) for part in body.parts]
    if txn is None:
        fields = at_once(control, body.type, parts)
    else:
        fields = fields_of(txn, "committed", parts, ended=control.position)
    return [(number_key(TXN, control.txn), fields.value())]


def aborted(applied: Applied, body: TxnAborted) -> list[LateChange]:
    """Return the row of an aborted txn; a one-shot one that lost never was."""
    if body.one_shot:
        return []
    txn = applied.control.txn
    fields = aborted_fields(applied, txn, body.reason, body.parts, body.evidence)
    return [(number_key(TXN, txn), fields.value())]


def all_aborted(applied: Applied, body: SessionClosed | TxnsExpired) -> list[LateChange]:
    """Return the rows of the txns that ended with their session, or by housekeeping."""
    return [
        (number_key(TXN, txn), aborted_fields(applied, txn, cause, parts).value())
        for txn, cause, parts in body.ends
    ]


def forgotten(applied: Applied, body: AbortedForgotten) -> list[LateChange]:
    """Return the rows of the aborted txns that are no exceptions any more."""
    position = value(applied.control.position)
    return [(number_key(FORGOTTEN, txn), position) for txn in body.txns]


def touched(applied: Applied, number: int) -> LateChange:
    """Return the row of a txn that stays open."""
    return number_key(TXN, number), partial(standing, applied.state.txns.open[number])


def standing(txn: OpenTxn) -> bytes:
    """Return the row of an open txn."""
    return fields_of(txn, "open", open_parts(txn)).value()


def open_parts(txn: OpenTxn) -> list[Part]:
    """Return the tables that an open txn has touched so far."""
    counts, staged = (txn.write_ids, txn.metadata), txn.staged
    return [
        [table, *(count.get(table, 0) for count in counts), None, 0, table in staged]
        for table in sorted(txn.write_ids.keys() | txn.metadata.keys() | staged.keys())
    ]


def fields_of(
    txn: OpenTxn,
    status: str,
    parts: Iterable[Part],
    *,
    ended: int = 0,
    reason: str = "",
    evidence: Evidence | None = None,
) -> TxnFields:
    """Return the fields of a txn that is or was open: what is known since its open, and more."""
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


def at_once(control: Control, kind: TxnType, parts: Iterable[Part]) -> TxnFields:
    """Return the fields of a txn that began with its commit."""
    return TxnFields(
        type=kind,
        session=control.session,
        opened=control.position,
        status="committed",
        ended=control.position,
        parts=tuple(parts),
    )


def committed_part(part: CommittedPart, txn: OpenTxn | None) -> Part:
    """Return one table of a commit; `txn` is what was open before it, None for a one-shot."""
    counts = (part.table, part.write_id, part.metadata_events)
    wrote = bool(part.writes) or any(each.data_change for each in chunks_of(part, txn))
    return [*counts, part.version, part.read_at, wrote]


def aborted_fields(
    applied: Applied,
    txn: int,
    reason: str,
    parts: Sequence[AbortedPart],
    evidence: Evidence | None = None,
) -> TxnFields:
    """Return the fields of an aborted txn."""
    return fields_of(
        applied.ended[txn],
        "aborted",
        [aborted_part(part) for part in parts],
        ended=applied.control.position,
        reason=reason,
        evidence=evidence,
    )


def aborted_part(part: AbortedPart) -> Part:
    """Return one table of an abort."""
    return [part.table, part.write_id, part.metadata_events, None, 0, part.wrote]


ROWS: Final[Mapping[type, Rows]] = {
    TxnOpened: opened,
    WriteIdsAllocated: allocated,
    WritesStaged: changed,
    TableCreated: changed,
    TableAltered: altered,
    TableRenamed: changed,
    TableDropped: changed,
    TxnCommitted: committed,
    TxnAborted: aborted,
    SessionClosed: all_aborted,
    TxnsExpired: all_aborted,
    AbortedForgotten: forgotten,
}
