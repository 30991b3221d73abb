"""The logs of tables, each for itself: a table whose log cannot go on stops, the others go on."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from ledger.core.events.events import Event
from ledger.errors import StorageError
from ledger.log_lines import LogLines
from projections.delta.actions.schema_json import UnpublishableError
from projections.delta.kept_rows import (
    CHECKPOINTS,
    CURSOR,
    WAITING,
    number_in,
    rows_below,
    table_in,
)
from projections.delta.log.log_marks import LostVersions
from projections.delta.log.log_writer import DeltaLogWriter, Folders, ForeignLogError
from projections.delta.log.object_log import log_at
from projections.delta.publication import Publication, outcomes_of
from projections.delta.published_log import Outcome, StoppedTable
from projections.delta.table_cursor import (
    PAUSE_MAX_S,
    TableCursor,
    WaitingRow,
    read_cursor,
    read_waiting,
)
from projections.rows.keys import read_value
from projections.store.memory import MemoryStore
from projections.store.port import RowChange, RowStore

log_lines = LogLines("lakeledger.publisher")

# So old is no version: none is deleted, and the deleted ones stay away.
KEPT_MS: Final = 2**62
WAITING_BYTES_MAX: Final = 16 << 20


class TableLogs:
    """Writes the versions of published tables that wait in a store; `kept_ms` as `DeltaLogWriter`.

    At most about `waiting_bytes` of each log wait that takes no version.

    Attributes:
        cursors: how far the log of each table is written.
        written: the number of versions that were not there before.
    """

    def __init__(
        self,
        store: RowStore,
        folders: Folders = log_at,
        kept_ms: int = 0,
        waiting_bytes: int = WAITING_BYTES_MAX,
    ) -> None:
        self._store, self._folders = store, folders
        self._kept_ms, self._waiting_bytes = kept_ms, waiting_bytes
        self.cursors: dict[int, TableCursor] = {}
        self._lost: dict[tuple[int, str], tuple[LostVersions, float]] = {}
        self.written = 0
        for key, row in rows_below(store, CURSOR):
            self.cursors[table_in(key)] = read_cursor(row)
        for key, row in rows_below(store, CHECKPOINTS):
            self._cursor(table_in(key)).checkpoints = [
                (each[0], each[1]) for each in read_value(row)
            ]
        for key, row in rows_below(store, WAITING):
            self._cursor(table_in(key)).note(number_in(key), len(row))

    @property
    def stopped(self) -> Mapping[int, StoppedTable]:
        """The tables whose log goes no further for now, with why, by id; any thread may read."""
        found = [cursor.stopped for cursor in list(self.cursors.values())]
        return {each.table: each for each in found if each is not None}

    def is_retried(self, table: int) -> bool:
        """Return whether a table stopped and is tried again; any thread may call."""
        cursor = self.cursors.get(table)
        return cursor is not None and bool(cursor.refused_in)

    def take(self, outcome: Outcome) -> list[RowChange]:
        """Let a version wait until it is written, and return the rows for the store."""
        if isinstance(outcome, LostVersions):
            self._lost[outcome.table, outcome.folder] = outcome, 0.0
            return []
        return self._cursor(outcome.table).add(outcome, self._waiting_bytes)

    def keep(self, tables: Container[int]) -> None:
        """Keep the cursors of tables; those of other ones go once nothing waits for them."""
        for cursor in self.cursors.values():
            cursor.is_dropped = cursor.table not in tables

    def write(self, now_s: float) -> None:
        """Write what waits, unless it is tried again only later."""
        for lost, due_s in list(self._lost.values()):
            if now_s >= due_s:
                self._cut(lost, now_s)
        for cursor in list(self.cursors.values()):
            self._write(cursor, now_s)

    def lacking(self) -> set[int]:
        """Return the tables whose log takes versions again, and whose next ones do not wait."""
        return {table for table, each in self.cursors.items() if each.is_lacking}

    def lacks(self, table: int, newest: int) -> bool:
        """Return whether the log of a table may be without a version that was written before."""
        cursor = self._cursor(table)
        if cursor.stopped is not None or (cursor.has_waiting and cursor.version < 0):
            return False
        if cursor.version < newest and not cursor.has_waiting:
            return True
        try:
            return not self._writer(cursor, cursor.folder).holds(cursor.version, cursor.digest)
        except (UnpublishableError, StorageError):
            return True

    def write_again(
        self, events: Iterable[Event], tables: Collection[int], now_s: float = 0.0
    ) -> None:
        """Write the logs of tables from the first event on; versions that were deleted stay away.

        If the events end too early, the next publisher finds the tables lacking.
        """
        kept_ms, self._kept_ms = self._kept_ms, KEPT_MS
        cursors = [self._cursor(table) for table in tables]
        held = [(each, each.held.name) for each in cursors if each.held is not None]
        for cursor in cursors:
            cursor.is_dropped = False
            pause_s, changes = cursor.pause_s, cursor.reset()
            cursor.pause_s, cursor.version = pause_s, -1
            cursor.begin()
            self._store.write([*changes, *cursor.rows()])
        for outcome in outcomes_of(events, Publication()):
            if outcome.table in tables:
                self._store.write(self.take(outcome))
                self._write(self._cursor(outcome.table), now_s)
        self._kept_ms = kept_ms
        for cursor in cursors:
            cursor.writer = None
        for cursor, name in held:
            if cursor.stopped is None:
                cursor.go_on()
                log_lines.info("a table is published again", table=name)
        self.write(now_s)

    def _cursor(self, table: int) -> TableCursor:
        if table not in self.cursors:
            self.cursors[table] = TableCursor(table)
        return self.cursors[table]

    def _write(self, cursor: TableCursor, now_s: float) -> None:
        """Write what waits for one log, up to the first version that it does not take."""
        changes: list[RowChange] = []
        if cursor.has_waiting and now_s >= cursor.due_s:
            changes += self._written(cursor, now_s)
        elif not cursor.is_gone:
            return
        self._store.write([*changes, *cursor.rows()])
        if cursor.is_gone:
            del self.cursors[cursor.table]

    def _written(self, cursor: TableCursor, now_s: float) -> Iterator[RowChange]:
        """Write what waits for one log, and yield the rows that change."""
        was_held = cursor.held is not None
        for key, row in rows_below(self._store, WAITING, cursor.table):
            form = read_waiting(row)
            try:
                self._apply(cursor, form)
            except (ForeignLogError, UnpublishableError, StorageError) as error:
                assert form.version is not None, "only a version is written"
                yield from cursor.hold(form.version, error, now_s)
                if not was_held:
                    self._tell_stopped(cursor)
                return
            yield cursor.pass_by(number_in(key), len(row))
        if was_held and not cursor.is_short:
            assert cursor.held is not None
            log_lines.info("a table is published again", table=cursor.held.name)
            cursor.go_on()

    def _apply(self, cursor: TableCursor, form: WaitingRow) -> None:
        if form.stop is not None:
            cursor.ended = form.stop
            self._tell_stopped(cursor)
        version = form.version
        if version is None:
            return
        if version.begins:
            cursor.begin()
        if cursor.ended is not None:
            return
        if (uncut := self._lost.get((version.table, version.folder))) is not None:
            self._set_lost_aside(uncut[0])
        self.written += self._writer(cursor, version.folder).write(version)
        cursor.move(version)

    def _writer(self, cursor: TableCursor, folder: str) -> DeltaLogWriter:
        if cursor.writer is None:
            files = self._folders(folder)
            cursor.writer = DeltaLogWriter(files, self._kept_ms, cursor.checkpoints)
        return cursor.writer

    def _tell_stopped(self, cursor: TableCursor) -> None:
        stopped = cursor.stopped
        assert stopped is not None
        log_lines.error(
            "a table is not published any further",
            table=stopped.name,
            version=stopped.version,
            reason=stopped.reason,
            is_retried=bool(cursor.refused_in),
        )

    def _cut(self, lost: LostVersions, now_s: float) -> None:
        """Set aside what a cut took from a log; a storage that refuses it is asked again."""
        try:
            self._set_lost_aside(lost)
        except (UnpublishableError, StorageError) as error:
            self._lost[lost.table, lost.folder] = lost, now_s + PAUSE_MAX_S
            log_lines.warning(
                "versions that the ledger lost are still in a published log",
                table=lost.name,
                folder=lost.folder,
                reason=str(error),
            )

    def _set_lost_aside(self, lost: LostVersions) -> None:
        kept = lost.set_aside(self._folders(lost.folder))
        self._lost.pop((lost.table, lost.folder), None)
        if kept:
            self._cursor(lost.table).forget_above(lost.version)
            log_lines.warning(
                "versions that the ledger lost by a cut are set aside",
                table=lost.name,
                above=lost.version,
                files=len(kept),
                oldest=kept[-1],
            )


class WrittenLog(NamedTuple):
    """The newest version in a log, -1 without one, and why its publication stopped, "" if not.

    `written` versions were not there before.
    """

    newest: int
    written: int
    stopped: str


def write_table_log(events: Iterable[Event], table: int, folders: Folders = log_at) -> WrittenLog:
    """Write every version of a table's log that is missing, unless it was deleted as too old."""
    logs = TableLogs(MemoryStore(), folders)
    logs.write_again(events, {table})
    cursor = logs.cursors[table]
    found = cursor.stopped
    reason = "" if found is None else f"version {found.version}: {found.reason}"
    return WrittenLog(cursor.version, logs.written, reason)
