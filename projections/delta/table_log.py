"""The logs of tables, each for itself: a table whose log cannot go on stops, the others go on."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from ledger.core.events.events import Event
from projections.delta.log_writer import DeltaLogWriter, Folders, ForeignLogError
from projections.delta.object_log import log_at
from projections.delta.publication import DeltaVersion, Outcome, Publication, StoppedTable
from projections.delta.schema_json import UnpublishableError

# So old is no version: none is deleted, and the deleted ones stay away.
KEPT_MS: Final = 2**62


class TableLogs:
    """Writes the versions of published tables; `kept_ms` is as for `DeltaLogWriter`.

    Attributes:
        stopped: the tables that ended, with why, by id.
        newest: the newest version in the log of each table.
        written: the number of versions that were not there before.
    """

    def __init__(self, folders: Folders = log_at, kept_ms: int = 0) -> None:
        self._folders, self._kept_ms = folders, kept_ms
        self._writers: dict[int, DeltaLogWriter] = {}
        self.stopped: dict[int, StoppedTable] = {}
        self.newest: dict[int, int] = {}
        self.written = 0

    def take(self, outcome: Outcome) -> StoppedTable | None:
        """Write a version, unless its table stopped before; return the table if it stops here."""
        if isinstance(outcome, StoppedTable):
            return self._stop(outcome)
        if outcome.begins:
            # A log that begins anew may be elsewhere.
            self.stopped.pop(outcome.table, None)
            self._writers.pop(outcome.table, None)
        if outcome.table in self.stopped:
            return None
        try:
            self._write(outcome)
        except (ForeignLogError, UnpublishableError, OSError) as error:
            return self._stop(
                StoppedTable(outcome.table, outcome.name, outcome.version, str(error))
            )
        return None

    def _write(self, version: DeltaVersion) -> None:
        writer = self._writers.get(version.table)
        if writer is None:
            writer = DeltaLogWriter(self._folders(version.folder), self._kept_ms)
            self._writers[version.table] = writer
        self.written += writer.write(version)
        self.newest[version.table] = version.version

    def _stop(self, stopped: StoppedTable) -> StoppedTable:
        self.stopped[stopped.table] = stopped
        return stopped


class WrittenLog(NamedTuple):
    """The newest version in a log, -1 without one, and why its publication stopped, "" if not.

    `written` versions were not there before.
    """

    newest: int
    written: int
    stopped: str


def write_table_log(events: Iterable[Event], table: int, folders: Folders = log_at) -> WrittenLog:
    """Write every version of a table's log that is missing, unless it was deleted as too old."""
    publication, logs = Publication(), TableLogs(folders, KEPT_MS)
    for event in events:
        for outcome in publication.take(event):
            if outcome.table == table:
                logs.take(outcome)
    found = logs.stopped.get(table)
    reason = "" if found is None else f"version {found.version}: {found.reason}"
    return WrittenLog(logs.newest.get(table, -1), logs.written, reason)
