"""Rows made from a state and the event that changed it.

They are what `tests.oracle.reads` answers with. Pure. The rows that are kept on disk are made
by `projections`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ledger.core.events.events import (
    AbortedForgotten,
    CommandRefused,
    CommandRepeated,
    CommandsMoved,
    Event,
    LogCut,
    LogTrimmed,
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
from ledger.core.events.parts import AbortedPart, CommittedPart, Evidence
from ledger.core.state.sessions import Session
from ledger.core.state.tables import Table
from ledger.core.state.txns import TxnInFlight, Txns
from ledger.log.wire.file_list import chunks_of
from ledger.reads.port import (
    ConflictRow,
    EndStatus,
    HistoryRow,
    SessionRow,
    TableRow,
    TxnPart,
    TxnRow,
)


class End(NamedTuple):
    """How a txn ended, or that it has not."""

    status: EndStatus
    position: int = 0
    at: int = 0
    reason: str = ""
    parts: Sequence[TxnPart] = ()
    evidence: Evidence | None = None
    reads: tuple[int, ...] = ()


def ends_of(event: Event, open_txns: Mapping[int, TxnInFlight]) -> Mapping[int, End]:
    """Return the txns that an event ends, by id; `open_txns` are those before it."""
    (control, body), here = event, (event.control.position, event.control.at)
    match body:
        case TxnCommitted():
            parts = committed_parts(body.parts, open_txns.get(control.txn))
            reads = tuple(dict.fromkeys(read.table for read in body.reads))
            return {control.txn: End("committed", *here, parts=parts, reads=reads)}
        case TableAltered(one_shot=True):
            part = TxnPart(body.table, body.write_id, 1, body.version, body.read_at, wrote=False)
            return {control.txn: End("committed", *here, parts=[part])}
        case TxnAborted(one_shot=False):
            parts = aborted_parts(body.parts)
            return {control.txn: End("aborted", *here, body.reason, parts, body.evidence)}
        case SessionClosed() | TxnsExpired():
            return {
                end.txn: End("aborted", *here, end.cause, aborted_parts(end.parts))
                for end in body.ends
            }
        case _:
            return {}


def committed_parts(parts: Iterable[CommittedPart], txn: TxnInFlight | None) -> list[TxnPart]:
    """Return the tables of a commit; `txn` is what was open before it, None for a one-shot."""
    return [
        TxnPart(
            part.table,
            part.write_id,
            part.metadata_events,
            part.version,
            part.read_at,
            wrote=bool(part.writes) or any(every.data_change for every in chunks_of(part, txn)),
        )
        for part in parts
    ]


def aborted_parts(parts: Iterable[AbortedPart]) -> list[TxnPart]:
    return [
        TxnPart(part.table, part.write_id, part.metadata_events, None, 0, part.wrote)
        for part in parts
    ]


def open_parts(txn: TxnInFlight) -> list[TxnPart]:
    """Return the tables that an open txn has touched so far."""
    ids, counts, staged = txn.write_ids, txn.metadata, txn.staged
    return [
        TxnPart(table, ids.get(table, 0), counts.get(table, 0), None, 0, wrote=table in staged)
        for table in sorted(ids.keys() | counts.keys() | staged.keys())
    ]


def one_shot(event: Event) -> TxnInFlight | None:
    """Return the txn that an event opened and committed at once, or None."""
    control, body = event
    if not isinstance(body, TxnCommitted | TableAltered) or not body.one_shot:
        return None
    kind = body.type if isinstance(body, TxnCommitted) else "default"
    return TxnInFlight(control.txn, kind, control.session, 0, control.position, 0)


def conflict_row(event: Event, user: str) -> ConflictRow | None:
    """Return why an event made somebody lose, None if it did not."""
    control, body = event
    if not isinstance(body, TxnAborted) or body.evidence is None:
        return None
    return ConflictRow(
        control.position,
        control.at,
        control.txn,
        control.session,
        user,
        body.evidence,
        tuple(body.attempted),
        body.level,
    )


def txn_row(txn: TxnInFlight, asker: SessionRow, opened_at: int, end: End) -> TxnRow:
    """Return the row of a txn as it was before it ended, and how it did."""
    return TxnRow(
        txn.txn,
        txn.type,
        txn.session,
        asker.user,
        asker.host,
        asker.application,
        status=end.status,
        opened=txn.opened,
        opened_at=opened_at,
        deadline=txn.deadline,
        min_open=txn.min_open,
        ended=end.position,
        ended_at=end.at,
        forgotten=0,
        reason=end.reason,
        parts=tuple(end.parts),
        evidence=end.evidence,
        reads=end.reads,
    )


def session_row(session: Session) -> SessionRow:
    labels = (session.user, session.host, session.application)
    return SessionRow(session.number, *labels, session.lease_ms, ended=0)


def table_row(table: Table, created: int, partitioned: int, dropped: int) -> TableRow:
    """Return the row of a table; `created`, `partitioned` and `dropped` are positions."""
    return TableRow(
        table.table,
        table.catalog,
        table.name,
        table.definition,
        table.version,
        table.last_write_id,
        table.mapped_from,
        created=created,
        changed=table.change.position,
        operation=table.change.operation,
        partitioned=partitioned,
        dropped=dropped,
        creator=table.creator,
    )


def history_row(event: Event, txns: Txns, ended: Sequence[int]) -> HistoryRow:
    """Return an event in brief; `txns` are those after it, `ended` were open before."""
    control, body = event
    outcome, message = reason_of(body)
    return HistoryRow(
        control.position,
        control.at,
        type(body).__name__,
        control.txn,
        control.session,
        control.n,
        tables=tuple(sorted(set(named_tables(body)))),
        outcome=outcome,
        message=message,
        ended=tuple(ended),
        forgotten=tuple(body.txns) if isinstance(body, AbortedForgotten) else (),
        watermark=txns.watermark,
        next_txn=txns.next_txn,
    )


def reason_of(body: Any) -> tuple[str, str]:
    """Return why, in a word and in a sentence, where the type of an event does not say it."""
    match body:
        case CommandRefused():
            return body.reason, body.message
        case TxnAborted():
            return body.reason, body.evidence.exception if body.evidence is not None else ""
        case CommandRepeated():
            return body.outcome, ""
        case CommandsMoved() | LogCut() | LogTrimmed():
            return "", body.reason
        case _:
            return "", ""


def named_tables(body: Any) -> Collection[int]:
    """Return the tables that an event names."""
    match body:
        case WriteIdsAllocated() | TxnOpened():
            return [each.table for each in body.ids]
        case TxnCommitted() | TxnAborted() | AbortedForgotten():
            return [each.table for each in body.parts]
        case TableCreated() | TableAltered() | TableRenamed() | TableDropped() | WritesStaged():
            return (body.table,)
        case SessionClosed() | TxnsExpired():
            return [part.table for end in body.ends for part in end.parts]
        case _:
            return ()
