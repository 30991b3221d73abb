"""A log whose events a case dictates: no sequencer decides them, everything else is real.

Each event is framed, appended to the log and accepted. It is read back and folded into rows, with
those before it, as soon as the state or the rows are asked for. The cases name
their own table ids and write ids, so the folded state is told beforehand which id comes next: in a
real ledger other tables and other writers took the ids between.
"""

import time
from typing import Any

from ledger.core.acceptance import LogHead
from ledger.core.events.events import (
    Body,
    CatalogCreated,
    Control,
    Event,
    Fenced,
    LedgerCreated,
    SessionOpened,
)
from ledger.core.limits import DEFAULT_LIMITS
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table
from ledger.core.state.txns import TxnInFlight
from ledger.log import checkpoints
from ledger.log.acceptor import Acceptor
from ledger.log.port import Log, Topic
from ledger.log.wire.codec import frame_event, frame_fence
from ledger.version import CODE_VERSION, READER_VERSION
from projections.fold.fold import Fold
from projections.store.port import RowStore

CATALOG = "lake"
AT = 1_700_000_000_000
PATIENCE_S = 30.0
READ_MAX = 2_000


class LiteralLedger:
    """One new ledger over an empty log."""

    def __init__(self, log: Log, store: RowStore) -> None:
        self._store = store
        self._log = log
        self._unread = 0
        self._writer = log.writer(Topic.EVENTS)
        self._reader = log.reader(Topic.EVENTS, 0)
        self._acceptor = Acceptor(LogHead())
        self._fold = Fold.load(store, log)
        fenced = Fenced(b"nonce of a term!", "case", CODE_VERSION, READER_VERSION)
        self._take(frame_fence(Control(b"", 1, 0, 0, 0, 0, AT, 0), fenced))
        genesis = LedgerCreated("case", "case", 0, "commands", "events", DEFAULT_LIMITS)
        self._append(genesis, cmd=-1)
        self._append(CatalogCreated(CATALOG), cmd=-1)
        opened = SessionOpened(b"nonce of the case", "case", "host", "conformance", 0)
        self.session = self.write(opened).control.position

    @property
    def state(self) -> DomainState:
        """The state after all events so far, folded from the log."""
        self._follow()
        return self._fold.state

    @property
    def store(self) -> RowStore:
        """The rows of all events so far."""
        self._follow()
        return self._store

    def write(self, body: Body, txn: int = 0) -> Event:
        """Append an answer and return it as it was read back."""
        session = 0 if isinstance(body, SessionOpened) else self.session
        return self._append(body, cmd=self._acceptor.head.last_cmd + 1, session=session, txn=txn)

    def open(self, txn: int) -> TxnInFlight:
        return self.state.txns.open[txn]

    def expect_table(self, table: int) -> None:
        """Let the next table have this id."""
        self.state.tables.next_table = table

    def expect_write_id(self, table: Table, txn: int, write_id: int) -> None:
        """Let the next write id of a table be this one, unless it is the txn's already."""
        if write_id and self.open(txn).write_ids.get(table.table) != write_id:
            table.last_write_id = write_id - 1

    def checkpoint(self) -> bytes:
        self._follow()
        return checkpoints.dump(self.state, self._acceptor.head, self._fold.offset)

    def close(self) -> None:
        """Let go of the log and of the store."""
        self._reader.close()
        self._writer.close()
        self._log.close()
        self._store.close()

    def _append(self, body: Any, *, cmd: int, session: int = 0, txn: int = 0) -> Event:
        head = self._acceptor.head
        # The numbers of a session's commands are not what these cases are about.
        n = head.position if session else 0
        control = Control(b"", head.epoch, head.position + 1, cmd, session, n, AT, txn)
        return self._take(frame_event(control, body, head.chain)[1])

    def _take(self, framed: bytes) -> Event:
        """Append a record, and return its event."""
        self._writer.append(CATALOG.encode(), framed)
        self._unread += 1
        event = self._acceptor.take(framed)
        assert event is not None, "the record does not count"
        return event

    def _follow(self) -> None:
        """Read back the records that were appended since, and fold them."""
        self._writer.flush(PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while self._unread:
            records = self._reader.read(READ_MAX, PATIENCE_S)
            if not records and time.monotonic() > deadline:
                raise TimeoutError(f"the records were not read back within {PATIENCE_S} s")
            self._fold.feed(records)
            self._unread -= len(records)
