"""Open txns ended from outside: by an operator, another client, or the ledger itself.

The tail sees such an event before the next command. So the next call of the txn can raise an error
with the reason, instead of work that no reader will ever see.
"""

from typing import Final

from ledger.core.events.events import Event, SessionClosed, TxnAborted, TxnsExpired
from ledger.log.wire.codec import HEADER_OF

HEADERS: Final = {HEADER_OF[kind] for kind in (TxnAborted, TxnsExpired, SessionClosed)}
"""The beginnings of records that may end a txn."""


class Endings:
    """The open txns of this process, and the events that ended them; threads may share it."""

    def __init__(self) -> None:
        self._watched: dict[int, Event | None] = {}

    def watch(self, txn: int) -> None:
        """Watch for the end of a txn."""
        self._watched.setdefault(txn)

    def leave(self, txn: int) -> None:
        """Stop watching a txn."""
        self._watched.pop(txn, None)

    def of(self, txn: int) -> Event | None:
        """Return the event that ended a watched txn, None if absent."""
        return self._watched.get(txn)

    def concerns(self, txn: int, header: bytes) -> bool:
        """Return whether a record with this header, about `txn` or several, may end one."""
        if header not in HEADERS or not self._watched:
            return False
        return txn in self._watched or header != HEADER_OF[TxnAborted]

    def take(self, event: Event) -> None:
        """Note the txns that an event ended."""
        control, body = event
        match body:
            case TxnAborted():
                ended = [control.txn]
            case TxnsExpired() | SessionClosed():
                ended = [end.txn for end in body.ends]
            case _:
                ended = []
        for txn in ended:
            if txn in self._watched:
                self._watched[txn] = event
