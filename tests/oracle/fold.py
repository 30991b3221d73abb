"""The fold of a log into a state in memory, with notes of all that the state itself forgets.

What `tests.oracle.reads` answers from. The notes are rows as its callers get them; they are
never cleaned, so memory grows with the log.
"""

from bisect import bisect_right

from ledger.core.acceptance import LogHead
from ledger.core.commands import TableDefinition
from ledger.core.events.events import (
    AbortedForgotten,
    Event,
    LogCut,
    SessionClosed,
    SessionOpened,
    TxnCommitted,
    TxnsExpired,
)
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table
from ledger.core.state.traits import partitioned_by
from ledger.core.state.txns import TxnInFlight
from ledger.errors import LedgerError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.port import Log, Topic
from ledger.log.wire.file_list import chunks_of
from ledger.reads.lineage import check_not_left_out, check_same, gaps_of
from ledger.reads.port import (
    ConflictRow,
    HistoryRow,
    OutcomeRow,
    Reached,
    SessionRow,
    TableReadRow,
    TableRow,
    TxnRow,
)
from tests.oracle.files import StateFiles
from tests.oracle.rows import (
    End,
    conflict_row,
    ends_of,
    history_row,
    one_shot,
    session_row,
    table_row,
    txn_row,
)
from tests.oracle.versions import StateVersions

READ_MAX = 2_000


class StateFold:
    """The state after all that was read so far; one thread at a time may let it catch up.

    `tables` are all incarnations, `definitions` what each was from which position on, `ended_txns`
    the rows of those not open any more, `conflicts` are by position, everything else by its id.
    """

    def __init__(self, log: Log) -> None:
        self.state = DomainState()
        self.events: list[Event] = []
        self.history: list[HistoryRow] = []
        self.tables: dict[int, TableRow] = {}
        self.definitions: dict[int, list[tuple[int, TableDefinition]]] = {}
        self.ended_txns: dict[int, TxnRow] = {}
        self.sessions: dict[int, SessionRow] = {}
        self.nonces: dict[bytes, int] = {}
        self.outcomes: dict[tuple[int, int], OutcomeRow] = {}
        self.files = StateFiles()
        self.versions = StateVersions()
        self.conflicts: dict[int, ConflictRow] = {}
        self._log = log
        self._reader = log.reader(Topic.EVENTS, 0)
        self._batches = BatchAcceptor(log, Acceptor(LogHead()), 0)

    def catch_up(self) -> None:
        """Apply what the log has.

        Raises what reading the log raises; the next call then meets it again.
        """
        try:
            while records := self._reader.read(READ_MAX, 0.0):
                for _, event in self._batches.events(records):
                    if event is not None:
                        self._apply(event)
        except LedgerError:
            # What was read and not applied is read again, so the next call meets it as well.
            self._reader.close()
            self._reader = self._log.reader(Topic.EVENTS, self._batches.offset)
            raise

    def reached(self, seen: Reached) -> Reached:
        """Return how far the log was read.

        Raises LogRewrittenError if it has another chain at the position that was `seen`.
        """
        if seen.position:
            event = self.event_at(seen.position)
            found = "" if event is None else event.control.chain.hex()
            check_same(seen, found, lambda: gaps_of(self.state))
        if not self.events:
            return Reached()
        end = self.events[-1].control
        return Reached(end.position, end.chain.hex(), self._batches.offset)

    def check_token(self, position: int) -> None:
        """Raise LogRewrittenError for a position that a cut has left out."""
        check_not_left_out(position, gaps_of(self.state))

    def event_at(self, position: int) -> Event | None:
        """Return the event at a position; a cut may have left it out."""
        found = self.events_to(position)[-1:]
        return found[0] if found and found[0].control.position == position else None

    def events_to(self, position: int) -> list[Event]:
        """Return the events up to a position; a cut may have left some positions out."""
        count = bisect_right(self.events, position, key=lambda each: each.control.position)
        return self.events[:count]

    def table_reads(self, table: int) -> list[TableReadRow]:
        """Return the commits that only read a table, newest first."""
        return [
            TableReadRow(
                table, control.position, control.txn, tuple(part.table for part in body.parts)
            )
            for control, body in reversed(self.events)
            if isinstance(body, TxnCommitted) and table in {read.table for read in body.reads}
        ]

    def txn_row(self, txn: TxnInFlight, end: End) -> TxnRow:
        """Return the row of a txn as it is or was while open, and how it ended, if it did."""
        opened = self.event_at(txn.opened)
        assert opened is not None, f"txn {txn.txn} was opened at {txn.opened}"
        opened_at = opened.control.at
        return txn_row(txn, self.sessions[txn.session], opened_at, end)

    def close(self) -> None:
        """Let go of the log."""
        self._reader.close()

    def _apply(self, event: Event) -> None:
        control, body = event
        ends = ends_of(event, self.state.txns.open)
        at_once = one_shot(event)
        txns = {txn: self.state.txns.open.get(txn) or at_once for txn in ends}
        tables_before = dict(self.state.tables.by_id)
        self._note_commit(event)
        evolve(self.state, event)
        self.events.append(event)
        self._note_session(event)
        self._note_tables(control.position, tables_before)
        for number, txn in txns.items():
            assert txn is not None, f"txn {number} ended at {control.position} without having been"
            self.ended_txns[number] = self.txn_row(txn, ends[number])
        for number in body.txns if isinstance(body, AbortedForgotten) else ():
            known = self.ended_txns[number]
            self.ended_txns[number] = known._replace(forgotten=control.position)
        ended = () if at_once is not None else tuple(ends)
        self.history.append(history_row(event, self.state.txns, ended))

    def _note_commit(self, event: Event) -> None:
        """Note what a commit did to its tables, or why it lost; before the event is applied."""
        control, body = event
        asker = self.sessions.get(control.session)
        user = asker.user if asker is not None else ""
        self.versions.note_change(event, user, self.files.sums)
        lost = conflict_row(event, user)
        if lost is not None:
            self.conflicts[control.position] = lost
        if not isinstance(body, TxnCommitted):
            return
        txn = self.state.txns.open.get(control.txn)
        changes = self.state.tables.pending.get(control.txn, ())
        for part in body.parts:
            chunks = chunks_of(part, txn)
            known = self.tables.get(part.table)
            partitioned = 0 if known is None else known.partitioned
            files = self.files.note(control.position, part, chunks, partitioned)
            sums = self.files.sums(part.table)
            self.versions.note_part(control, part, user, files, changes, sums=sums)
            self.versions.note_chunks(control.position, part.table, chunks)

    def _note_session(self, event: Event) -> None:
        control, body = event
        sessions = self.state.sessions.by_number
        if isinstance(body, LogCut):
            self.sessions[control.position] = session_row(sessions[control.position])
        if isinstance(body, SessionOpened):
            self.sessions[control.position] = session_row(sessions[control.position])
            self.nonces[body.nonce] = control.position
        closed = body.sessions if isinstance(body, TxnsExpired) else ()
        for number in (control.session,) if isinstance(body, SessionClosed) else closed:
            self.sessions[number] = self.sessions[number]._replace(ended=control.position)
        asker = sessions.get(control.session)
        if asker is not None and control.n in asker.answers:
            answer = asker.answers[control.n]
            self.outcomes[asker.number, control.n] = OutcomeRow(asker.number, control.n, *answer)

    def _note_tables(self, position: int, before: dict[int, Table]) -> None:
        now = self.state.tables.by_id
        for number, table in (before | now).items():
            known = self.tables.get(number)
            created = known.created if known is not None else position
            partitioned = partitioned_at(table, known, position)
            dropped = 0 if number in now else position
            self.tables[number] = table_row(table, created, partitioned, dropped)
        for number, table in now.items():
            ever = self.definitions.setdefault(number, [])
            if not table.creator and (not ever or ever[-1][1] is not table.definition):
                ever.append((position, table.definition))


def partitioned_at(table: Table, known: TableRow | None, position: int) -> int:
    """Return when the partition columns of a table last became others, at `position` or before."""
    if known is None:
        return 0
    is_same = known.definition is table.definition or (
        partitioned_by(known.definition) == partitioned_by(table.definition)
    )
    return known.partitioned if is_same else position
