"""What an event is about: the tables that it names, and why it happened."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from ledger.core.events.events import (
    AbortedForgotten,
    CommandRefused,
    CommandRepeated,
    CommandsMoved,
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


def named_tables(body: Any) -> Collection[int]:
    """Return the tables that an event names, each once."""
    tables = TABLES.get(type(body))
    return tables(body) if tables is not None else ()


def reason_of(body: Any) -> tuple[str, str]:
    """Return why, in a word and in a sentence; both are empty where the type says it all."""
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


def _of_ids(body: TxnOpened | WriteIdsAllocated) -> Collection[int]:
    return {each.table for each in body.ids}


def _of_parts(body: TxnCommitted | TxnAborted) -> Collection[int]:
    # An end has one part for each table.
    return [part.table for part in body.parts]


def _of_forgotten(body: AbortedForgotten) -> Collection[int]:
    return {part.table for part in body.parts}


def _of_ends(body: SessionClosed | TxnsExpired) -> Collection[int]:
    return {part.table for end in body.ends for part in end.parts}


def _own(
    body: TableCreated | TableAltered | TableRenamed | TableDropped | WritesStaged,
) -> Collection[int]:
    return (body.table,)


TABLES: Final[Mapping[type, Callable[[Any], Collection[int]]]] = {
    TxnOpened: _of_ids,
    WriteIdsAllocated: _of_ids,
    TableCreated: _own,
    TableAltered: _own,
    TableRenamed: _own,
    TableDropped: _own,
    WritesStaged: _own,
    TxnCommitted: _of_parts,
    TxnAborted: _of_parts,
    SessionClosed: _of_ends,
    TxnsExpired: _of_ends,
    AbortedForgotten: _of_forgotten,
}
