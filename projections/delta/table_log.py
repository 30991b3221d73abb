"""The logs of tables, each for itself: a table whose log cannot go on stops, the others go on."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from ledger.core.events.events import Event
from ledger.errors import StorageError
from ledger.log_lines import LogLines
from projections.delta.actions.schema_json import UnpublishableError
from projections.delta.log.log_marks import LostVersions
from projections.delta.log.log_writer import DeltaLogWriter, Folders, ForeignLogError, digest_of
from projections.delta.log.object_log import log_at
from projections.delta.log.refused_log import PAUSE_MAX_S, WAITING_BYTES_MAX, RefusedLog, Waiting
from projections.delta.publication import Publication
from projections.delta.published_log import DeltaVersion, Outcome, StoppedTable

log_lines = LogLines("lakeledger.publisher")

# So old is no version: none is deleted, and the deleted ones stay away.
KEPT_MS: Final = 2**62


class NewestVersion(NamedTuple):
    """The newest version in a log: its folder, number, and the digest of its bytes."""

    folder: str
    version: int
    digest: str


class TableLogs:
    """Writes the versions of published tables; `kept_ms` is as for `DeltaLogWriter`.

    At most about `waiting_bytes` of each refused log wait in memory.

    A table whose storage refuses a version goes on once `retry` finds that the storage takes it.

    Attributes:
        ended: the tables that cannot be published any further, with why, by id.
        held: the tables with a version that their log did not take, by id.
        newest: the newest version in the log of each table.
        written: the number of versions that were not there before.
        changed: the tables whose entry here changed; the caller empties it.
    """

    def __init__(
        self,
        folders: Folders = log_at,
        kept_ms: int = 0,
        waiting_bytes: int = WAITING_BYTES_MAX,
    ) -> None:
        self._folders, self._kept_ms, self._waiting_bytes = folders, kept_ms, waiting_bytes
        self._writers: dict[int, DeltaLogWriter] = {}
        self._checkpoints: dict[int, list[tuple[int, int]]] = {}
        self.ended: dict[int, StoppedTable] = {}
        self.held: dict[int, RefusedLog] = {}
        self.newest: dict[int, NewestVersion] = {}
        self._uncut: dict[int, tuple[LostVersions, float]] = {}
        self._look_s = 0.0
        self.written = 0
        self.changed: set[int] = set()

    @property
    def stopped(self) -> Mapping[int, StoppedTable]:
        """The tables whose log goes no further for now, with why, by id; any thread may read."""
        return self.ended | {table: each.stopped for table, each in self.held.copy().items()}

    def take(self, outcome: Outcome, now_s: float = 0.0) -> StoppedTable | None:
        """Write a version, unless its table stopped before; return the table if it stops here."""
        table = outcome.table
        if isinstance(outcome, LostVersions):
            self._cut(outcome, now_s)
            return None
        held = self.held.get(table)
        if held is not None and held.is_refused and not is_elsewhere(outcome, held):
            held.add(outcome)
            return None
        self.changed.add(table)
        if isinstance(outcome, DeltaVersion) and outcome.begins:
            # A log that begins anew may be elsewhere.
            self.held.pop(table, None)
        if table in self.held:
            return None
        try:
            self._apply(outcome)
        except (ForeignLogError, UnpublishableError, StorageError) as error:
            assert isinstance(outcome, DeltaVersion), "only a version is written"
            return self._hold(outcome, error, now_s)
        return outcome if isinstance(outcome, StoppedTable) else None

    def _cut(self, lost: LostVersions, now_s: float) -> None:
        """Set aside what a cut took from a log; a storage that refuses it is asked again."""
        try:
            self._set_lost_aside(lost)
        except (UnpublishableError, StorageError) as error:
            self._uncut[lost.table] = lost, now_s + PAUSE_MAX_S
            log_lines.warning(
                "versions that the ledger lost are still in a published log",
                table=lost.name,
                folder=lost.folder,
                reason=str(error),
            )

    def _set_lost_aside(self, lost: LostVersions) -> None:
        kept = lost.set_aside(self._folders(lost.folder))
        self._uncut.pop(lost.table, None)
        if kept:
            if (writer := self._writers.get(lost.table)) is not None:
                writer.forget_above(lost.version)
            self.changed.add(lost.table)
            log_lines.warning(
                "versions that the ledger lost by a cut are set aside",
                table=lost.name,
                above=lost.version,
                files=len(kept),
                oldest=kept[-1],
            )

    def is_retried(self, table: int) -> bool:
        """Return whether a table stopped and is tried again; any thread may call."""
        held = self.held.get(table)
        return held is not None and held.is_refused

    def retry(self, now_s: float) -> list[str]:
        """Try refused versions that are due again; return the names of tables that go on."""
        going = []
        if now_s >= self._look_s:
            self._look_s = now_s + PAUSE_MAX_S
            self.look_again()
        for lost, due_s in list(self._uncut.values()):
            if now_s >= due_s:
                self._cut(lost, now_s)
        for table, held in list(self.held.items()):
            if not held.is_due(now_s):
                continue
            self.changed.add(table)
            if not self._flush(held, now_s):
                continue
            if held.is_whole:
                del self.held[table]
                going.append(held.first.name)
            else:
                held.is_open = True
        return going

    def lacking(self) -> set[int]:
        """Return the tables whose storage takes versions again, and whose next ones are gone."""
        return {table for table, each in self.held.items() if each.is_open}

    def adopt(self, other: "TableLogs", tables: Collection[int]) -> list[str]:
        """Take over tables whose logs were written from the events; return those that go on."""
        going = []
        self.written += other.written
        for table in tables:
            held = self.held.pop(table, None)
            self._writers.pop(table, None)
            self.ended.pop(table, None)
            if table in other.newest:
                self.restore(table, other.newest[table], other.checkpoints(table))
            if table in other.ended:
                self.ended[table] = other.ended[table]
            if (again := other.held.get(table)) is not None:
                again.pause_s = again.pause_s if held is None else held.pause_s
                self.held[table] = again
            elif held is not None and table not in self.ended:
                going.append(held.first.name)
            self.changed.add(table)
        return going

    def checkpoints(self, table: int) -> list[tuple[int, int]]:
        """Return the checkpoints in the log of a table that the cleaning knows, with their time."""
        writer = self._writers.get(table)
        return self._checkpoints.get(table, []) if writer is None else list(writer.checkpoints)

    def restore(
        self, table: int, newest: NewestVersion, checkpoints: Iterable[tuple[int, int]]
    ) -> None:
        """Go on with a log that was written before."""
        self.newest[table] = newest
        self._checkpoints[table] = list(checkpoints)

    def look_again(self) -> None:
        """Look whether files that stopped tables before are still there."""
        for table, held in self.held.items():
            if held.is_refused:
                continue
            try:
                self._writer(table, held.first.folder).check(held.first)
            except (ForeignLogError, UnpublishableError, StorageError):
                continue
            held.is_open = True

    def lacks(self, table: int) -> bool:
        """Return whether the log of a table may be without a version that was written before."""
        newest = self.newest.get(table)
        if newest is None:
            return True
        try:
            return not self._writer(table, newest.folder).holds(newest.version, newest.digest)
        except (UnpublishableError, StorageError):
            return True

    def _flush(self, held: RefusedLog, now_s: float) -> bool:
        """Write what waits; return whether all of it is written."""
        while held.waiting:
            outcome = held.waiting[0]
            try:
                self._apply(outcome)
            except StorageError as error:
                assert isinstance(outcome, DeltaVersion), "only a version is written"
                held.wait(outcome, stop_of(outcome, error), now_s)
                return False
            except (ForeignLogError, UnpublishableError) as error:
                assert isinstance(outcome, DeltaVersion), "only a version is written"
                self._hold(outcome, error, now_s)
                return False
            held.waiting.popleft()
        return True

    def _apply(self, outcome: DeltaVersion | StoppedTable) -> None:
        table = outcome.table
        if isinstance(outcome, StoppedTable):
            self.ended[table] = outcome
            return
        if outcome.begins:
            self.ended.pop(table, None)
            self._writers.pop(table, None)
            self._checkpoints.pop(table, None)
        if table in self.ended:
            return
        if table in self._uncut:
            self._set_lost_aside(self._uncut[table][0])
        self.written += self._writer(table, outcome.folder).write(outcome)
        digest = digest_of(outcome.data)
        self.newest[table] = NewestVersion(outcome.folder, outcome.version, digest)

    def _writer(self, table: int, folder: str) -> DeltaLogWriter:
        writer = self._writers.get(table)
        if writer is None:
            writer = DeltaLogWriter(self._folders(folder), self._kept_ms)
            writer.checkpoints += self._checkpoints.pop(table, [])
            self._writers[table] = writer
        return writer

    def _hold(self, version: DeltaVersion, error: Exception, now_s: float) -> StoppedTable:
        stopped, is_refused = stop_of(version, error), isinstance(error, StorageError)
        self.held[version.table] = RefusedLog(
            version,
            stopped,
            is_refused=is_refused,
            is_whole=is_refused,
            now_s=now_s,
            bytes_max=self._waiting_bytes,
        )
        return stopped


def stop_of(version: DeltaVersion, error: Exception) -> StoppedTable:
    """Return that a table stops before a version because of an error."""
    return StoppedTable(version.table, version.name, version.version, str(error))


def is_elsewhere(outcome: Waiting, held: RefusedLog) -> bool:
    """Return whether a log begins anew in another folder than the one that refused."""
    return (
        isinstance(outcome, DeltaVersion) and outcome.begins and outcome.folder != held.first.folder
    )


class WrittenLog(NamedTuple):
    """The newest version in a log, -1 without one, and why its publication stopped, "" if not.

    `written` versions were not there before.
    """

    newest: int
    written: int
    stopped: str


def written_logs(
    events: Iterable[Event], tables: Collection[int], folders: Folders = log_at
) -> TableLogs:
    """Return the logs of tables once every missing version is written, unless it was too old."""
    publication, logs = Publication(), TableLogs(folders, KEPT_MS)
    for event in events:
        for outcome in publication.take(event):
            if outcome.table in tables:
                logs.take(outcome)
    return logs


def write_table_log(events: Iterable[Event], table: int, folders: Folders = log_at) -> WrittenLog:
    """Write every version of a table's log that is missing, unless it was deleted as too old."""
    logs = written_logs(events, {table}, folders)
    found, newest = logs.stopped.get(table), logs.newest.get(table)
    reason = "" if found is None else f"version {found.version}: {found.reason}"
    return WrittenLog(-1 if newest is None else newest.version, logs.written, reason)
