"""How a client reads, appends and commits files outside a txn."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ledger.arrow.read_once import is_stream, items_of
from ledger.clock import time_text
from ledger.core.commands import AppVersion, CommitTxn, TableWrite
from ledger.core.limits import FOOTPRINT_BYTES_MAX
from ledger.definitions.given import check_arrow, check_list, shown
from ledger.definitions.names import TableLike, TableStanding
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.errors import ConflictError, OutcomeUnknownError, RefusedError, SnapshotTooOldError
from ledger.expressions.build import Expression, condition_in
from ledger.properties.known_properties import asks_for_unique
from ledger.reads.html import ShownList
from ledger.reads.row_counts import ChangedRows
from ledger.session.explain import name_conflict
from ledger.session.receipt import Outcome, Receipt, Token, receipt_of
from ledger.session.refusals import check_done
from ledger.session.session import UNNUMBERED
from ledger.snapshot.as_of import AsOf, known_row
from ledger.snapshot.reading import TableFiles
from ledger.snapshot.table_snapshot import TableSnapshot
from ledger.tracing import verb
from ledger.transaction.client_txns import LedgerTxns
from ledger.transaction.transaction import Transaction
from ledger.work.app_notes import AppProgress, progress_in
from ledger.work.given_files import (
    added_files,
    are_rows,
    check_rows_or,
    checked_rows,
    columns_of,
    several,
)
from ledger.work.repeated_batches import noted_receipt
from ledger.work.staging import riding
from ledger.work.writes import DeclaredWrites, level_named

if TYPE_CHECKING:
    from ledger.tables.appending import AppendTarget
    from ledger.transaction.grouped.append_writer import AppendWriter

APPEND_ATTEMPTS: Final = 3


class Appended(NamedTuple):
    """The arguments of an append, as they were given."""

    files: Sequence[Any]
    app: AppVersion | None
    operation: str
    rows: ChangedRows | None = None


class LedgerFiles(LedgerTxns):
    """The part of a client that deals with files."""

    _writers: set["AppendWriter"]

    def read(
        self,
        table: TableLike,
        where: str | Expression | None = None,
        *,
        version: int | None = None,
        position: Token | int | None = None,
        whole: bool = False,
        time_zone: ZoneLike | None = None,
    ) -> TableFiles:
        """Return the files that a condition may concern, now or at a `version` or `position`.

        Files are left out by their partition only, so a condition on another column returns all
        files. A txn that is opened later can build on the read: `Transaction.use`. `time_zone` and
        the errors are as for `Transaction.read`.
        """
        number, _ = self._names.find(table)
        zone = self._view.zone if time_zone is None else zone_named(time_zone)
        snapshot = TableSnapshot.of(self._view, number, AsOf(version, position), zone)
        return snapshot.read(condition_in(where), whole=whole)

    def progress(self, app: str = "") -> Sequence[AppProgress]:
        """Return how far applications came, or one of them, in each table with their progress.

        An application that starts again goes on behind the version, at the place that it noted with
        it: see `info` of `Transaction.app`. Dropped tables are left out.
        """
        heads = ("application", "version", "table", "position", "time (UTC)")
        return ShownList("row", progress_in(self._view.reads(), app), heads, progress_cells)

    @verb
    def append(
        self,
        table: TableLike,
        rows: Any,
        app: AppVersion | tuple[str, int] | None = None,
        *,
        operation: str = "WRITE",
        level: str | None = None,
        evolve: bool = False,
    ) -> Receipt:
        """Add rows, or files, to a table of layout `listed`: a whole txn in one round trip.

        `rows` and `evolve` are as for `Transaction.insert`; they need the extra `arrow`. A list of
        paths or of `AddFile` adds files that are written already. Without rows and files the
        commit makes a version that changes no row, and records `app`.

        `app` is name and version of an application. If the table has that version or a later one,
        nothing is done and the receipt is `skipped`, so a batch that is sent again is applied once.
        The receipt's `note` says why, and a warning is logged. Files that do not fit one record
        take a txn with several.

        Raises ValueError as `Transaction.add_files`, and ConflictError as `Transaction.commit`:
        also if the table was changed since it was looked up, or has other columns than the given
        row of it. After OutcomeUnknownError ask `outcome` before you repeat the call, unless `app`
        is given.
        """
        progress = None if app is None else AppVersion(*app)
        asked = level_named(level)
        if isinstance(rows, Iterator) and not is_stream(rows):
            rows = items_of(rows)
        check_rows_or("files", rows)
        if are_rows(rows):
            return self._append_rows(table, rows, progress, operation, level, evolve=evolve)
        made = Appended(list(several(rows)), progress, operation)
        # The second lookup is as new as the refusal, so it can hardly be too old again.
        for _ in range(APPEND_ATTEMPTS - 1):
            with suppress(SnapshotTooOldError):
                return self._append(table, made, asked)
        return self._append(table, made, asked)

    def writer(self, table: TableLike, *, flush_ms: float = 20.0) -> "AppendWriter":
        """Return a writer that makes one commit of many small appends of this process.

        Its `append` accepts rows, and returns their outcome to wait for. Rows that arrive within
        `flush_ms` of the first waiting ones are committed together, or sooner if they fill a block.
        Threads may share it. Close it, or use it in a `with` block: see `AppendWriter`. Needs the
        extra `arrow`.

        Raises UnknownTableError, FilesUnknownError for a table whose files the ledger does not
        list, and ValueError for an impossible time.
        """
        check_arrow()
        from ledger.transaction.grouped import append_writer, written_table  # noqa: PLC0415

        def run(work: Callable[[Transaction], None]) -> Receipt:
            receipts: list[Receipt] = []
            self.run(work, on_commit=receipts.append)
            return receipts[-1]

        commits = written_table.Commits(self._append_fitted, run)
        place = written_table.WrittenTable(table, self._names, self._view, commits)
        made = append_writer.AppendWriter(place, flush_ms, self._writers.discard)
        self._writers.add(made)
        return made

    @verb
    def commit_once(self, writes: Iterable[TableWrite], level: str | None = None) -> Receipt:
        """Open, allocate and commit in one round trip; for tables of layout `listed`.

        An update or delete names in `read_at` the position from which it was planned. Raises as
        `Transaction.commit`. After OutcomeUnknownError ask `outcome` before you repeat the call.
        """
        check_list("writes", writes, TableWrite)
        made = list(writes)
        for each in made:
            if not isinstance(each, TableWrite):
                raise TypeError(f"each write must be a TableWrite, got {shown(each)}")
        return self._commit(made, level_named(level))

    def _append_rows(
        self,
        table: TableLike,
        rows: Any,
        app: AppVersion | None,
        operation: str,
        level: str | None,
        *,
        evolve: bool,
    ) -> Receipt:
        """Write rows into files, and append these; if no commit names them they are deleted."""
        check_arrow()
        from ledger.tables.appending import AppendTarget  # noqa: PLC0415 - loads Arrow

        if evolve:
            return self._insert_once(table, rows, app, operation, level, evolve=True)
        standing = self._names.look_up(table)
        row = standing.row or known_row(self._view.reads(), standing.table)
        if asks_for_unique(row.definition):
            return self._insert_once(row, rows, app, operation, level)
        target = AppendTarget(row, self._view.zone, self._names.identities.take)
        made, asked = Appended((), app, operation), level_named(level)
        return self._append_fitted(standing, target, target.batches(rows), made, asked)

    def _append_fitted(
        self,
        standing: TableStanding,
        target: "AppendTarget",
        batches: Any,
        made: Appended = Appended((), None, "WRITE"),  # noqa: B008 - it never changes
        level: str = "",
    ) -> Receipt:
        """Write batches of a target into files, and append these; if none names them they go."""
        from ledger.tables.appending import NewRows  # noqa: PLC0415 - loads Arrow

        has_blocks = bool(target.schema.inline) and self._names.log_room.has(target.row)
        origin, keys = self._view.origin.ledger, self._view.keys
        new = NewRows(target, batches, origin, has_blocks=has_blocks, keys=keys)
        made = made._replace(files=new.files, rows=ChangedRows(inserted=new.count))
        try:
            receipt = self._append(target.row, made, level, standing)
        except OutcomeUnknownError as error:
            if is_refused(self.outcome(error.session, error.n)):
                new.discard()
            raise
        except RefusedError:
            new.discard()
            raise
        if receipt.skipped:
            new.discard()
        return receipt

    def _insert_once(
        self,
        table: TableLike,
        rows: Any,
        app: AppVersion | None,
        operation: str,
        level: str | None,
        *,
        evolve: bool = False,
    ) -> Receipt:
        """Insert rows in a txn of their own, record the progress of an application, and commit."""
        with self.begin(level=level) as txn:
            txn.insert(table, rows, evolve=evolve)
            txn.operation(table, operation)
            if app is not None:
                txn.app(*app)
            return txn.commit()

    def _append(
        self, table: TableLike, made: Appended, level: str, found: TableStanding | None = None
    ) -> Receipt:
        """Append to a table as it is now, or as it was found."""
        number, row, position = found or self._names.look_up(table)
        given = added_files(made.files, columns_of(row), data_change=True)
        kept = list(checked_rows(row, given))
        writes = DeclaredWrites(position)
        writes.writer(number).add(kept)
        writes.writer(number).name(made.operation)
        if made.rows is not None:
            writes.count(number, made.rows)
        if made.app is not None:
            writes.record(made.app, [number])
        (part,) = writes.parts((), level)
        footprint = riding(part, FOOTPRINT_BYTES_MAX)
        if footprint is not None:
            # The sequencer looks up the application itself: progress recorded by others is fine.
            said = footprint._replace(read_apps=[])
            receipt = self._commit([TableWrite(number, position, (), said)], level)
            return receipt if receipt.skipped else replace(receipt, rows=writes.rows)
        with self.begin(level=level or None) as txn:
            if row is not None:
                self._names.look_up(row)  # A change before the txn's open is not a conflict to it.
            txn.add_files(number, kept, operation=made.operation)
            if made.rows is not None:
                txn._work.writes.count(number, made.rows)  # noqa: SLF001 - of this package
            if made.app is not None:
                txn.app(*made.app)
            return txn.commit()

    def _commit(self, writes: Sequence[TableWrite], level: str) -> Receipt:
        answer = self._ask(CommitTxn(*UNNUMBERED, 0, writes, level))
        try:
            check_done(answer)
        except ConflictError as error:
            name_conflict(error, self._view.at_hand, lambda _table, _hash: ())
            raise
        apps = {app for write in writes if write.footprint for app in write.footprint.apps}
        tables = [write.table for write in writes]
        return noted_receipt(
            receipt_of(answer, self._view.origin), self._view, sorted(apps), tables
        )


def is_refused(outcome: Outcome) -> bool:
    """Tell whether a commit was answered, and did nothing."""
    return outcome.is_known and outcome.answer != "TxnCommitted"


def progress_cells(row: AppProgress) -> Sequence[object]:
    """Return what a list of progress shows of an application in a table."""
    return row.app, row.version, row.table.name, row.position, time_text(row.at)
