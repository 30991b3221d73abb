"""Ends of open txns that others brought about: an operator, another client, the ledger itself.

The tail hears of them before anything is asked. So the next call of the txn can say that it is
over, and why, where it would else go on with work that nobody will see.
"""

from typing import Final

from ledger.core.events.events import Event, SessionClosed, TxnAborted, TxnsExpired
from ledger.log.codec import SHAPES

HEADERS: Final = {SHAPES[kind].header for kind in (TxnAborted, TxnsExpired, SessionClosed)}
"""The beginnings of records that may end a txn."""


class Endings:
    """The txns of this process that are open, and what ended one of them; threads may share it."""

    def __init__(self) -> None:
        self._watched: dict[int, Event | None] = {}

    def watch(self, txn: int) -> None:
        """Listen for the end of a txn."""
        self._watched.setdefault(txn)

    def leave(self, txn: int) -> None:
        """Listen no more."""
        self._watched.pop(txn, None)

    def of(self, txn: int) -> Event | None:
        """Return what ended a txn that is watched, None if nothing is known to have."""
        return self._watched.get(txn)

    def concerns(self, txn: int, header: bytes) -> bool:
        """Tell whether a record with this beginning, about `txn` or several, may end one."""
        if header not in HEADERS or not self._watched:
            return False
        return txn in self._watched or header != SHAPES[TxnAborted].header

    def take(self, event: Event) -> None:
        """Note the txns that an event ended."""
        control, body = event
        match body:
            case TxnAborted():
                ended = [control.txn]
            case TxnsExpired() | SessionClosed():
                ended = [each.txn for each in body.ends]
            case _:
                ended = []
        for txn in ended:
            if txn in self._watched:
                self._watched[txn] = event
