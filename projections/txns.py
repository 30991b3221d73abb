"""Txns: one row per txn, given again by every event that touches it, kept after its end.

While a txn is open its row is made at the end of a batch: who catches up reads most txns from open
to end in one batch. Read-only txns have rows like all others. That an aborted txn was forgotten is
a row of its own: by then its beginning is no longer at hand.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from projections.rows import FORGOTTEN, TXN, Fields, number_key, value
from projections.store.batch import LateChange

Part = list[int | None]

EVENTS: Final = (
    *(TxnOpened, WriteIdsAllocated, WritesStaged, TxnCommitted, TxnAborted),
    *(TableCreated, TableAltered, TableRenamed, TableDropped),
    *(SessionClosed, TxnsExpired, AbortedForgotten),
)


class TxnFields(Fields):
    """A txn from open to end.

    `parts` are its tables: number, write id, how many metadata events, version, read position, and
    whether it wrote rows there.
    """

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


def rows(applied: Applied) -> Iterator[LateChange]:
    """Return the row of every txn the event opened, touched, ended or forgot."""
    control, body = applied.event
    for number in still_open(control, body):
        txn = applied.state.txns.open[number]
        yield number_key(TXN, number), partial(standing, txn)
    for number, fields in ended(applied):
        yield number_key(TXN, number), fields.value()
    if isinstance(body, AbortedForgotten):
        for number in body.txns:
            yield number_key(FORGOTTEN, number), value(control.position)


def still_open(control: Control, body: Any) -> Iterable[int]:
    """Return the txns that the event opens, or touches and leaves open."""
    match body:
        case WriteIdsAllocated():
            return dict.fromkeys(each.txn for each in body.ids)
        case TxnOpened():
            return range(control.txn, control.txn + body.size)
        case TableAltered(one_shot=True):
            return ()
        case TableCreated() | TableAltered() | TableRenamed() | TableDropped() if control.txn:
            return (control.txn,)
        case WritesStaged():
            return (control.txn,)
        case _:
            return ()


def ended(applied: Applied) -> Iterator[tuple[int, TxnFields]]:
    """Return the fields of the txns that the event ends, or commits at once."""
    control, body = applied.event
    match body:
        case TxnCommitted():
            yield control.txn, committed(applied, body)
        case TxnAborted(one_shot=False):
            yield control.txn, aborted(applied, control.txn, body.reason, body.parts, body.evidence)
        case TableAltered(one_shot=True):
            yield control.txn, altered(applied, body)
        case SessionClosed() | TxnsExpired():
            for end in body.ends:
                yield end.txn, aborted(applied, end.txn, end.cause, end.parts)
        case _:
            pass


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


def committed(applied: Applied, body: TxnCommitted) -> TxnFields:
    """Return the fields of a committed txn; a one-shot one was opened by the same event."""
    control = applied.event.control
    txn = None if body.one_shot else applied.ended[control.txn]
    parts = [committed_part(part, txn) for part in body.parts]
    if txn is None:
        return at_once(control, body.type, parts)
    return fields_of(txn, "committed", parts, ended=control.position)


def altered(applied: Applied, body: TableAltered) -> TxnFields:
    """Return the fields of a txn that only altered a table, opened and committed at once."""
    part: Part = [body.table, body.write_id, 1, body.version, body.read_at, False]
    return at_once(applied.event.control, "default", [part])


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


def aborted(
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
        ended=applied.event.control.position,
        reason=reason,
        evidence=evidence,
    )


def aborted_part(part: AbortedPart) -> Part:
    """Return one table of an abort."""
    return [part.table, part.write_id, part.metadata_events, None, 0, part.wrote]
