"""The upkeep of tables: rows of the log go into files, and files are joined, cleaned and deleted.

A look asks for the tables with rows in the log, and passes over all others. What is due is a commit
like any other. So several processes may do this at once, and any of them may be killed: a commit
that comes second finds the rows gone, and changes nothing.

The properties of a table say what is done, see `ledger.properties.upkeep`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from threading import Event as Signal
from typing import Final

from ledger.client import Ledger
from ledger.clock import Clock
from ledger.config.settings import FlusherSettings
from ledger.errors import LedgerError
from ledger.log_lines import LogLines
from ledger.properties.upkeep import flush_bounds, is_maintained
from ledger.reads.port import Reads, TableRow
from ledger.snapshot.reading import is_in_folders
from ledger.transaction.transaction import Transaction

ATTEMPTS: Final = 3
HELD_S: Final = 30.0
"""So long a table is left alone whose upkeep has failed."""

HOUR_S: Final = 3600.0

log_lines = LogLines("lakeledger.flusher")


class Upkeep:
    """Keeps the tables of a ledger; `stop` ends a look between two tables.

    `connect` makes a client, and one in its place after a failure: the log may have been cut.

    Attributes:
        flushed: how many blocks went into files.
        compacted: how many bytes of files were written anew.
        vacuumed: how many files were deleted.
    """

    def __init__(
        self,
        connect: Callable[[], AbstractContextManager[Ledger]],
        settings: FlusherSettings,
        clock: Clock,
    ) -> None:
        self._connect, self._settings, self._clock = connect, settings, clock
        self._own = ExitStack()
        self._ledger: Ledger | None = None
        self._is_doubtful = False
        self._held: dict[int, float] = {}
        self._told: dict[int, str] = {}
        self._maintain_at_s = 0.0
        # By table: the version after the last compaction, and when the next vacuum is due.
        self._compact: dict[int, int] = {}
        self._vacuum_at_s: dict[int, float] = {}
        self.flushed = self.compacted = self.vacuumed = 0

    def run(self, stop: Signal) -> None:
        """Look after the tables every `look_s` until it is stopped."""
        with self._own:
            while not stop.wait(self._settings.look_s):
                self.look(stop)

    def look(self, stop: Signal) -> None:
        """Do once what is due; no error of a table goes further than a line in the log."""
        try:
            ledger = self._ledger = self._ledger or self._own.enter_context(self._connect())
            reads = ledger.reads()
            self._flush_all(ledger, reads, stop)
            if self._clock.monotonic_s() >= self._maintain_at_s:
                self._maintain_all(ledger, reads, stop)
                self._maintain_at_s = self._clock.monotonic_s() + self._settings.maintain_s
        except LedgerError as problem:
            self._tell(0, "the tables could not be looked at", problem)
            self._let_go()
        else:
            self._told.pop(0, None)
            if self._is_doubtful:
                self._let_go()

    def _let_go(self) -> None:
        """Close the client; the next look makes another one."""
        self._own.close()
        self._ledger, self._is_doubtful = None, False

    def _flush_all(self, ledger: Ledger, reads: Reads, stop: Signal) -> None:
        for waiting in reads.blocks():
            row = reads.table(waiting.table)
            if row is None or row.dropped or stop.is_set():
                continue
            bounds, now_ms = flush_bounds(row.definition), self._clock.now_ms()
            if bounds.are_reached(waiting.size, waiting.rows, waiting.since, now_ms):
                self._do(row, "its rows stay in the log", partial(self._flush, ledger))

    def _flush(self, ledger: Ledger, row: TableRow) -> None:
        done = ledger.run(lambda txn: txn.flush(row.table), ATTEMPTS)
        self.flushed += done.removed
        if done.removed:
            log_lines.info("flushed", table=row.name, blocks=done.removed, files=done.added)

    def _maintain_all(self, ledger: Ledger, reads: Reads, stop: Signal) -> None:
        left = self._settings.compact_bytes
        for row in reads.tables():
            if stop.is_set() or not is_maintained(row.definition) or is_in_folders(row):
                continue
            if left > 0 and self._compact.get(row.table) != row.version:
                before = self.compacted
                self._do(row, "its files stay as they are", partial(self._compact_some, ledger))
                left -= self.compacted - before
            if self._clock.monotonic_s() >= self._vacuum_at_s.get(row.table, 0.0):
                self._do(row, "none of its files is deleted", partial(self._vacuum, ledger))

    def _compact_some(self, ledger: Ledger, row: TableRow) -> None:
        """Compact a table; if that was not all, the next look does more."""
        from ledger.statements.rewrites.compacting import USUAL, compact  # noqa: PLC0415 - loads Arrow

        most = min(USUAL.max_bytes, self._settings.compact_bytes)
        bounds = USUAL._replace(max_bytes=most)

        def work(txn: Transaction) -> int:
            return compact(txn.statement(row.table, "optimize"), bounds)

        size = ledger.run(work, ATTEMPTS)
        self.compacted += size
        if size:
            log_lines.info("compacted", table=row.name, bytes=size)
            return
        self._compact[row.table] = row.version

    def _vacuum(self, ledger: Ledger, row: TableRow) -> None:
        report = ledger.vacuum(row.table, older_than_h=self._settings.retention_h)
        due_s = self._clock.monotonic_s() + self._settings.vacuum_h * HOUR_S
        self._vacuum_at_s[row.table] = due_s
        self.vacuumed += len(report)
        if len(report):
            log_lines.info("vacuumed", table=row.name, files=len(report), bytes=report.size)

    def _do(self, row: TableRow, otherwise: str, work: Callable[[TableRow], None]) -> None:
        """Do a piece of work on a table, unless one has just failed there."""
        if self._clock.monotonic_s() < self._held.get(row.table, 0.0):
            return
        try:
            work(row)
        except (LedgerError, OSError, ValueError) as problem:
            self._held[row.table] = self._clock.monotonic_s() + HELD_S
            self._is_doubtful = True
            self._tell(row.table, f"table {row.name} is left alone for now: {otherwise}", problem)
        else:
            self._held.pop(row.table, None)
            self._told.pop(row.table, None)

    def _tell(self, table: int, what: str, problem: Exception) -> None:
        """Log a failure once, however the names of files in it change."""
        kind = type(problem).__name__
        if self._told.get(table) != kind:
            log_lines.warning(what, error=kind, why=str(problem))
        self._told[table] = kind
