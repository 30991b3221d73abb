"""Txns: one row per txn, written again by every event that touches it, kept after its end.

Read-only txns have rows like all others. That an aborted txn was forgotten is a row of its own: by
then its beginning is no longer at hand.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ledger.core.events import (
    AbortedForgotten,
    AbortedPart,
    CommittedPart,
    Evidence,
    SessionClosed,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.txns import OpenTxn
from projections.applied import Applied
from projections.rows import FORGOTTEN, TXN, fields_value, number_key, value
from projections.store import RowChange

Fields = dict[str, Any]


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the row of every txn the event opened, touched, ended or forgot."""
    control, body = applied.event
    for txn, fields in described(applied):
        yield number_key(TXN, txn), fields_value(fields)
    if isinstance(body, AbortedForgotten):
        for txn in body.txns:
            yield number_key(FORGOTTEN, txn), value(control.position)


def described(applied: Applied) -> Iterator[tuple[int, Fields]]:
    """Return the fields of every txn row the event changes."""
    control, body = applied.event
    match body:
        case TxnCommitted():
            yield control.txn, committed(applied, body)
        case WriteIdsAllocated():
            yield from still_open(applied, dict.fromkeys(each.txn for each in body.ids))
        case TxnOpened():
            yield from still_open(applied, range(control.txn, control.txn + body.size))
        case TxnAborted(one_shot=False):
            yield control.txn, aborted(applied, control.txn, body.reason, body.parts, body.evidence)
        case TableCreated() | TableRenamed() | TableDropped() if control.txn:
            yield from still_open(applied, (control.txn,))
        case SessionClosed() | TxnsExpired():
            for end in body.ends:
                yield end.txn, aborted(applied, end.txn, end.cause, end.parts)
        case _:
            pass


def still_open(applied: Applied, txns: Any) -> Iterator[tuple[int, Fields]]:
    """Return the fields of txns that are open after the event."""
    for number in txns:
        txn = applied.state.txns.open[number]
        parts = [
            [table, txn.write_ids.get(table, 0), txn.metadata.get(table, 0), None, 0, False]
            for table in sorted(txn.write_ids.keys() | txn.metadata.keys())
        ]
        yield number, {**opening(txn), "status": "open", "parts": parts}


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
    at_once = {"type": body.type, "session": control.session, "opened": control.position}
    before = at_once if body.one_shot else opening(applied.ended[control.txn])
    parts = [committed_part(part) for part in body.parts]
    return {**before, "status": "committed", "ended": control.position, "parts": parts}


def committed_part(part: CommittedPart) -> list[Any]:
    """Return one table of a commit."""
    wrote = bool(part.writes)
    counts = (part.table, part.write_id, part.metadata_events)
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
        "evidence": evidence_fields(evidence),
    }


def aborted_part(part: AbortedPart) -> list[Any]:
    """Return one table of an abort."""
    return [part.table, part.write_id, part.metadata_events, None, 0, part.wrote]


def evidence_fields(evidence: Evidence | None) -> Mapping[str, Any] | None:
    """Return the evidence of a lost conflict by field."""
    if evidence is None:
        return None
    return {**evidence._asdict(), "winner": evidence.winner._asdict()}
