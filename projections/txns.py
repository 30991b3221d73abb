"""Txns: one row per txn, given again by every event that touches it, kept after its end.

While a txn is open its row is made at the end of a batch: who catches up reads most txns from open
to end in one batch. Read-only txns have rows like all others. That an aborted txn was forgotten is
a row of its own: by then its beginning is no longer at hand.
"""

from collections.abc import Iterable, Iterator
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
from projections.rows import FORGOTTEN, TXN, fields_value, number_key, value
from projections.store.batch import LateChange

Fields = dict[str, Any]

EVENTS: Final = (
    *(TxnOpened, WriteIdsAllocated, WritesStaged, TxnCommitted, TxnAborted),
    *(TableCreated, TableAltered, TableRenamed, TableDropped),
    *(SessionClosed, TxnsExpired, AbortedForgotten),
)


def rows(applied: Applied) -> Iterator[LateChange]:
    """Return the row of every txn the event opened, touched, ended or forgot."""
    control, body = applied.event
    for number in still_open(control, body):
        txn = applied.state.txns.open[number]
        yield number_key(TXN, number), partial(standing, txn)
    for number, fields in ended(applied):
        yield number_key(TXN, number), fields_value(fields)
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


def ended(applied: Applied) -> Iterator[tuple[int, Fields]]:
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
    return fields_value({**opening(txn), "status": "open", "parts": open_parts(txn)})


def open_parts(txn: OpenTxn) -> list[list[Any]]:
    """Return the tables that an open txn has touched so far."""
    counts, staged = (txn.write_ids, txn.metadata), txn.staged
    return [
        [table, *(count.get(table, 0) for count in counts), None, 0, table in staged]
        for table in sorted(txn.write_ids.keys() | txn.metadata.keys() | staged.keys())
    ]


def opening(txn: OpenTxn) -> Fields:
    """Return what is known of a txn since its open."""
    return {
        "type": txn.type,
        "session": txn.session,
        "opened": txn.opened,
        "deadline": txn.deadline,
        "min_open": txn.min_open,
    }


def committed(applied: Applied, body: TxnCommitted) -> Fields:
    """Return the fields of a committed txn; a one-shot one was opened by the same event."""
    control = applied.event.control
    txn = None if body.one_shot else applied.ended[control.txn]
    before = opening_at_once(applied, body.type) if txn is None else opening(txn)
    parts = [committed_part(part, txn) for part in body.parts]
    return {**before, "status": "committed", "ended": control.position, "parts": parts}


def altered(applied: Applied, body: TableAltered) -> Fields:
    """Return the fields of a txn that only altered a table, opened and committed at once."""
    part = [body.table, body.write_id, 1, body.version, body.read_at, False]
    ended = applied.event.control.position
    before = opening_at_once(applied, "default")
    return {**before, "status": "committed", "ended": ended, "parts": [part]}


def opening_at_once(applied: Applied, kind: TxnType) -> Fields:
    """Return the beginning of a txn that began with its commit."""
    control = applied.event.control
    return {"type": kind, "session": control.session, "opened": control.position}


def committed_part(part: CommittedPart, txn: OpenTxn | None) -> list[Any]:
    """Return one table of a commit; `txn` is what was open before it, None for a one-shot."""
    counts = (part.table, part.write_id, part.metadata_events)
    wrote = bool(part.writes) or any(each.data_change for each in chunks_of(part, txn))
    return [*counts, part.version, part.read_at, wrote]


def aborted(
    applied: Applied,
    txn: int,
    reason: str,
    parts: Any,
    evidence: Evidence | None = None,
) -> Fields:
    """Return the fields of an aborted txn."""
    return {
        **opening(applied.ended[txn]),
        "status": "aborted",
        "ended": applied.event.control.position,
        "reason": reason,
        "parts": [aborted_part(part) for part in parts],
        "evidence": evidence_form(evidence) if evidence is not None else None,
    }


def aborted_part(part: AbortedPart) -> list[Any]:
    """Return one table of an abort."""
    return [part.table, part.write_id, part.metadata_events, None, 0, part.wrote]
