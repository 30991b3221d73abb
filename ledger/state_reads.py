"""Reads from a state in memory: folds a log when asked, keeps all of it, and forgets nothing.

For tests of code that uses a ledger: there is no store, no follower and no delay. It costs memory
and time that grow with the log, so it is no place to read a real ledger from; the rows that
`projections` keep are.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from threading import Lock
from time import monotonic

from ledger.core.acceptance import LogHead
from ledger.core.commands import Domain, Protocol, TableDefinition
from ledger.core.events import (
    AbortedForgotten,
    Event,
    SessionClosed,
    SessionOpened,
    TxnCommitted,
    TxnsExpired,
)
from ledger.core.evolve import evolve, fold
from ledger.core.state import DomainState
from ledger.core.tables import Table
from ledger.core.txns import OpenTxn
from ledger.core.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.visibility import valid_txn_list, valid_write_ids
from ledger.core.watermark import bounds
from ledger.errors import LedgerError, ReaderBehindError
from ledger.file_list import chunks_of
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.port import Log, Topic
from ledger.read_errors import dropped_table, unknown_table, unknown_version
from ledger.reads import (
    AnomalyRow,
    AppRow,
    ConflictRow,
    FileRow,
    HistoryRow,
    Identity,
    MappingRow,
    OutcomeRow,
    Reads,
    SessionRow,
    TableRow,
    TxnRow,
    VersionRow,
    WatermarkRow,
)
from ledger.state_files import StateFiles
from ledger.state_rows import (
    End,
    conflict_row,
    ends_of,
    history_row,
    one_shot,
    open_parts,
    session_row,
    table_row,
    txn_row,
)
from ledger.state_versions import StateVersions

READ_MAX = 2_000


class StateReads(Reads):
    """Answers from the fold of a log, caught up at every call; threads may share it."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._reader = log.reader(Topic.EVENTS, 0)
        self._batches = BatchAcceptor(log, Acceptor(LogHead()), 0)
        self._state = DomainState()
        self._events: list[Event] = []
        self._history: list[HistoryRow] = []
        self._tables: dict[int, TableRow] = {}
        self._ended_txns: dict[int, TxnRow] = {}
        self._sessions: dict[int, SessionRow] = {}
        self._nonces: dict[bytes, int] = {}
        self._outcomes: dict[tuple[int, int], OutcomeRow] = {}
        self._definitions: dict[int, list[tuple[int, TableDefinition]]] = {}
        self._files = StateFiles()
        self._versions = StateVersions()
        self._conflicts: dict[int, ConflictRow] = {}
        self._turn = Lock()

    def identity(self) -> Identity:
        """Return who the ledger is."""
        created = self._now().genesis
        if created is None:
            raise ReaderBehindError(self._state.position, self._state.position + 1, 0)
        return Identity(created.ledger, created.name, created.domain)

    def position(self) -> int:
        """Return the position of the last event of the log."""
        return self._now().position

    def wait(self, position: int, timeout_ms: int) -> int:
        """Return the applied position as soon as it is at least `position`."""
        until_s = monotonic() + timeout_ms / 1000
        with self._turn:
            while self._catch_up(0.0) < position:
                left_s = until_s - monotonic()
                if left_s <= 0:
                    raise ReaderBehindError(self._state.position, position, timeout_ms)
                self._catch_up(left_s)
            return self._state.position

    def valid_txns(self, position: int | None = None) -> ValidTxnList:
        """Return the valid txn list as of a position, or as of now."""
        now, place = self._now(), self._applied(position)
        if place == now.position:
            return valid_txn_list(now)
        return valid_txn_list(fold(DomainState(), self._events[:place]))

    def valid_write_ids(self, table: int, txns: ValidTxnList) -> ValidWriteIdList:
        """Return the write ids of a table that a reader of `txns` may see."""
        row = self._table(table)
        name = f"{row.catalog}.{row.name}"
        return valid_write_ids(name, txns, self.mappings(table), row.last_write_id)

    def mappings(self, table: int) -> Sequence[MappingRow]:
        """Return TXN_TO_WRITE_ID of a table from the watermark on."""
        txns = self._now().txns
        ids = {txn: ended for txn, ended in txns.mappings.items() if txn >= txns.watermark}
        ids |= {txn: each.write_ids for txn, each in txns.open.items()}
        found = ((each[table], txn) for txn, each in ids.items() if table in each)
        return [MappingRow(*row) for row in sorted(found)]

    def table(self, table: int) -> TableRow | None:
        """Return an incarnation of a table."""
        self._now()
        return self._tables.get(table)

    def table_named(self, catalog: str, name: str) -> TableRow | None:
        """Return the table that holds a name now."""
        found = self._now().tables.named(catalog, name)
        return self._tables[found.table] if found is not None else None

    def tables(self, *, include_dropped: bool = False) -> Sequence[TableRow]:
        """Return the tables that exist for all, or every incarnation there ever was."""
        self._now()
        every = [row for _, row in sorted(self._tables.items())]
        return [row for row in every if include_dropped or not (row.creator or row.dropped)]

    def definition(self, table: int, position: int | None = None) -> TableDefinition | None:
        """Return what a table was for all as of a position, or is now."""
        place = self._applied(position)
        known = self._definitions.get(table, ())
        return next((each for since, each in reversed(known) if since <= place), None)

    def txn(self, txn: int) -> TxnRow | None:
        """Return a txn."""
        still_open = self._now().txns.open.get(txn)
        if still_open is None:
            return self._ended_txns.get(txn)
        return self._txn_row(still_open, End("open", parts=open_parts(still_open)))

    def open_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the open txns, oldest first."""
        return self._rows_of(list(islice(self._now().txns.open, limit)))

    def aborted_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the aborted txns that are not forgotten."""
        return self._rows_of(sorted(self._now().txns.aborted)[:limit])

    def outcome(self, session: int, n: int) -> OutcomeRow | None:
        """Return the first answer to a command."""
        self._now()
        return self._outcomes.get((session, n))

    def session(self, session: int) -> SessionRow | None:
        """Return a session."""
        self._now()
        return self._sessions.get(session)

    def session_of(self, nonce: bytes) -> int | None:
        """Return the session that was opened last with this nonce."""
        self._now()
        return self._nonces.get(nonce)

    def watermark(self) -> WatermarkRow:
        """Return the cleanup watermark and what holds it."""
        txns = self._now().txns
        marks = bounds(txns)
        oldest = txns.oldest_open() if marks.open_bound == marks.watermark else None
        pins = marks.aborted_bound == marks.watermark
        left = txns.aborted.get(marks.aborted_bound) if pins else None
        has_left = left is not None and bool(left.wrote)
        return WatermarkRow(
            *marks,
            open=self.txn(oldest.txn) if oldest is not None else None,
            aborted=self.txn(marks.aborted_bound) if has_left else None,
            tables=sorted(left.wrote) if left is not None else (),
        )

    def history(self, after: int, limit: int) -> Sequence[HistoryRow]:
        """Return the events that follow position `after`."""
        self._now()
        return self._history[max(0, after) : max(0, after) + limit]

    def files(
        self, table: int, *, position: int | None = None, version: int | None = None
    ) -> Sequence[FileRow]:
        """Return the files live now, or as of a position or a version of the table."""
        place, dropped = self._applied(position), self._table(table).dropped
        if version is not None:
            found = self.version_row(table, version=version)
            if found is None:
                known = self._versions.versions.get(table, ())
                raise unknown_version(table, version, len(known) - 1)
            place = found.position
        if 0 < dropped <= place:
            raise dropped_table(table, dropped)
        return self._files.files(table, place)

    def file_paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        """Return the paths known by a hash."""
        self._now()
        return self._files.paths(table, path_hash)

    def version_row(
        self, table: int, *, version: int | None = None, position: int | None = None, at: int = 0
    ) -> VersionRow | None:
        """Return a version, or the last one up to a position or a time."""
        place = self._applied(position)
        return self._versions.find(table, version=version, position=place, at=at)

    def versions(self, table: int, limit: int, *, below: int | None = None) -> Sequence[VersionRow]:
        """Return the versions of a table, newest first."""
        self._now()
        known = self._versions.versions.get(table, [])
        return known[: None if below is None else max(0, below)][::-1][:limit]

    def app(self, table: int, app: str) -> AppRow | None:
        """Return how far an application came in a table."""
        self._now()
        return self._versions.apps.get(table, {}).get(app)

    def apps(self, table: int) -> Sequence[AppRow]:
        """Return the applications that recorded progress in a table."""
        self._now()
        return [row for _, row in sorted(self._versions.apps.get(table, {}).items())]

    def protocol(self, table: int) -> Protocol | None:
        """Return the protocol of a table."""
        self._now()
        return self._versions.protocols.get(table)

    def domains(self, table: int) -> Sequence[Domain]:
        """Return the domain metadata of a table."""
        self._now()
        return [each for _, each in sorted(self._versions.domains.get(table, {}).items())]

    def conflict(self, txn: int) -> ConflictRow | None:
        """Return why a txn lost."""
        row = self.txn(txn)
        return self._conflicts.get(row.ended) if row is not None else None

    def conflicts(self, after: int, limit: int) -> Sequence[ConflictRow]:
        """Return the conflicts that follow position `after`."""
        self._now()
        return [row for where, row in self._conflicts.items() if where > after][:limit]

    def anomalies(self, table: int | None, limit: int) -> Sequence[AnomalyRow]:
        """Return commits that say what cannot be."""
        self._now()
        found = (row for row in self._files.anomalies if table in (None, row.table))
        return list(islice(found, limit))

    def close(self) -> None:
        """Let go of the log."""
        self._reader.close()

    def _now(self) -> DomainState:
        with self._turn:
            self._catch_up(0.0)
        return self._state

    def _applied(self, position: int | None) -> int:
        """Return a position that must be applied, without one the newest that is."""
        applied = self._now().position
        if position is not None and position > applied:
            raise ReaderBehindError(applied, position, 0)
        return applied if position is None else position

    def _table(self, table: int) -> TableRow:
        row = self.table(table)
        if row is None:
            raise unknown_table(table, self._state.position)
        return row

    def _catch_up(self, timeout_s: float) -> int:
        """Apply what the log has, waiting for the first record if it has none; under `_turn`."""
        try:
            while records := self._reader.read(READ_MAX, timeout_s):
                for _, event in self._batches.events(records):
                    if event is not None:
                        self._apply(event)
                timeout_s = 0.0
        except LedgerError:
            # What was read and not applied is read again, so the next call meets it as well.
            self._reader.close()
            self._reader = self._log.reader(Topic.EVENTS, self._batches.offset)
            raise
        return self._state.position

    def _apply(self, event: Event) -> None:
        control, body = event
        ends = ends_of(event, self._state.txns.open)
        at_once = one_shot(event)
        txns = {txn: self._state.txns.open.get(txn) or at_once for txn in ends}
        tables_before = dict(self._state.tables.by_id)
        self._note_commit(event)
        evolve(self._state, event)
        self._events.append(event)
        self._note_session(event)
        self._note_tables(control.position, tables_before)
        for number, txn in txns.items():
            assert txn is not None, f"txn {number} ended at {control.position} without having been"
            self._ended_txns[number] = self._txn_row(txn, ends[number])
        for number in body.txns if isinstance(body, AbortedForgotten) else ():
            known = self._ended_txns[number]
            self._ended_txns[number] = known._replace(forgotten=control.position)
        ended = () if at_once is not None else tuple(ends)
        self._history.append(history_row(event, self._state.txns, ended))

    def _note_commit(self, event: Event) -> None:
        """Note what a commit did to its tables, or why it lost; before the event is applied."""
        control, body = event
        asker = self._sessions.get(control.session)
        user = asker.user if asker is not None else ""
        self._versions.note_change(event, user)
        lost = conflict_row(event, user)
        if lost is not None:
            self._conflicts[control.position] = lost
        if not isinstance(body, TxnCommitted):
            return
        txn = self._state.txns.open.get(control.txn)
        changes = self._state.tables.pending.get(control.txn, ())
        for part in body.parts:
            files = self._files.note(control.position, part, chunks_of(part, txn))
            self._versions.note_part(control, part, user, files, changes)

    def _note_session(self, event: Event) -> None:
        control, body = event
        sessions = self._state.sessions.by_number
        if isinstance(body, SessionOpened):
            self._sessions[control.position] = session_row(sessions[control.position])
            self._nonces[body.nonce] = control.position
        closed = body.sessions if isinstance(body, TxnsExpired) else ()
        for number in (control.session,) if isinstance(body, SessionClosed) else closed:
            self._sessions[number] = self._sessions[number]._replace(ended=control.position)
        asker = sessions.get(control.session)
        if asker is not None and control.n in asker.answers:
            answer = asker.answers[control.n]
            self._outcomes[asker.number, control.n] = OutcomeRow(asker.number, control.n, *answer)

    def _note_tables(self, position: int, before: dict[int, Table]) -> None:
        now = self._state.tables.by_id
        for number, table in (before | now).items():
            known = self._tables.get(number)
            created = known.created if known is not None else position
            if number in now and not table.creator:
                ever = self._definitions.setdefault(number, [])
                if not ever or ever[-1][1] is not table.definition:
                    ever.append((position, table.definition))
            self._tables[number] = table_row(table, created, 0 if number in now else position)

    def _txn_row(self, txn: OpenTxn, end: End) -> TxnRow:
        opened_at = self._events[txn.opened - 1].control.at
        return txn_row(txn, self._sessions[txn.session], opened_at, end)

    def _rows_of(self, txns: Iterable[int]) -> list[TxnRow]:
        rows = (self.txn(txn) for txn in txns)
        return [row for row in rows if row is not None]
