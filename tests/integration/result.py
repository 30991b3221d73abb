"""What a command was answered, small enough to keep hundreds of thousands of them."""

from typing import NamedTuple

from ledger.core.events.events import (
    CommandRefused,
    Event,
    TableCreated,
    TxnCommitted,
    TxnOpened,
    WriteIdsAllocated,
)

Asker = tuple[int, int]
"""The session and its number of the command."""


class Result(NamedTuple):
    """An answer: its position, its type or the reason of a refusal, and the ids it gave out."""

    position: int
    kind: str
    ids: tuple[tuple[int, ...], ...] = ()


def asker_of(event: Event) -> Asker:
    """Return whose command an event answers, (0, 0) if nobody's."""
    return event.control.session, event.control.n


def result_of(event: Event) -> Result:
    """Return what an answer says."""
    control, body = event
    kind = type(body).__name__
    ids: tuple[tuple[int, ...], ...] = ((control.txn,),)
    match body:
        case CommandRefused():
            kind, ids = body.reason, ()
        case TxnOpened():
            ids = ((control.txn, body.size), *map(tuple, body.ids))
        case TableCreated():
            ids = ((body.table,),)
        case WriteIdsAllocated():
            ids = tuple((each.table, each.txn, each.write_id) for each in body.ids)
        case TxnCommitted():
            parts = ((part.table, part.write_id, part.version) for part in body.parts)
            ids = ((control.txn,), *parts)
        case _:
            pass
    return Result(control.position, kind, ids)
