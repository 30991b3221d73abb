"""Import of Delta tables: each version of a Delta log is replayed as one txn of a ledger.

A version keeps its operation, its blind flag as far as its actions bear it out, and the level it
was recorded with. It is decided anew: from the version that its writer had read, if other versions
came in between, and then it has to come out as Delta had it. One that does not, because its log
says what Delta's own rules forbid, is committed as made from the version before, and reported.

The progress of an import is that of an application in the table, whose version is the newest Delta
version and whose id is `lakeledger.import:<Delta table id>@<first Delta version>`. So an import
continues where one was ended, however it was, and a repeated one changes nothing. The first Delta
version became version 0 of the table. Versions of both are dense, and no other writer may touch the
table while it is imported: so they always differ by that first version (`delta_versions`). A Delta
table that is replaced gets another id, which is kept as a property.

If an application of the Delta table records progress a second time, or backwards, the ledger would
treat the version as done before: such progress is left out, and counted.
"""

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from threading import Event as Signal
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.core.conflicts.metadata_diff import properties
from ledger.core.refusals import Reason
from ledger.definitions.locations import as_stored, in_one_spelling, is_file_uri, path_of_uri
from ledger.delta.actions import DeltaCommit
from ledger.delta.fields import ShapeError
from ledger.delta.live import LiveFiles, Unmatched
from ledger.delta.log import Beginning, DeltaLog
from ledger.delta.replay import FOREIGN, REPLACED_ID, ImportedTable, replay
from ledger.delta.report import DeltaVersions, Disagreement, ImportReport, versions_in
from ledger.delta.schema import ADOPTED
from ledger.errors import (
    CommandInvalidError,
    ConflictError,
    DeltaLogError,
    LimitExceededError,
    RefusedError,
    SessionExpiredError,
    SettingsError,
    SnapshotTooOldError,
    TableExistsError,
    TxnNotOpenError,
)
from ledger.reads.port import AppRow, TableRow

POLL_S: Final = 1.0
# A clean-up removes files one by one; after this time it has ended, or advanced.
CLEANING_S: Final = 0.1
# Refusals of a txn that say nothing about the version: it may do better in a fresh one.
RETRIED: Final = (SnapshotTooOldError, SessionExpiredError, TxnNotOpenError)

Progress = Callable[[int, int], None]
"""Gets the Delta version just imported, and the newest one in the log."""


class ImportStanding(NamedTuple):
    """A table at a position, and the progress of its applications there."""

    row: TableRow
    position: int
    apps: Sequence[AppRow]


def import_delta(
    ledger: Ledger,
    path: str | PathLike[str],
    table: str,
    *,
    follow: bool = False,
    stop: Signal | None = None,
    poll_s: float = POLL_S,
    progress: Progress = lambda _done, _newest: None,
) -> ImportReport:
    """Import the Delta table at `path` as `table` of the ledger's catalog, or continue an import.

    With `follow` the import looks for new versions every `poll_s` seconds. `stop` ends it after the
    current version; the next import continues from there.

    Raises DeltaLogError if the log is damaged, IncompatibleError if reading it needs an unknown
    feature or version of Delta's protocol, TableExistsError if `table` is another table,
    ConflictError if another program writes to it, and SettingsError if there is no Delta table at
    `path` or an extra is not installed.
    """
    stop = stop or Signal()
    running = DeltaImport(ledger, path, table)
    while True:
        running.take_all(stop, progress)
        if not follow or stop.wait(poll_s):
            return running.report()


class DeltaImport:
    """An import under way."""

    def __init__(self, ledger: Ledger, path: str | PathLike[str], table: str) -> None:
        self._ledger = ledger
        path = folder_at(path)
        self._path = path
        self._folder = str(path.resolve())
        self._versions = self._rebased = self._left_out = 0
        self._disagreed: list[Disagreement] = []
        self._unmatched: list[Unmatched] = []
        self._passed_over: dict[str, str] = {}
        self._live: LiveFiles | None = None
        self._imported = ImportedTable(table, location_of(path), "", 0)
        self._positions: dict[int, int] = {}
        self._beginning: Beginning | None = None
        self._source = self._found = ""

    def take_all(self, stop: Signal, progress: Progress) -> None:
        """Import every version that was not imported yet, until `stop` is set.

        During a clean-up of its beginning a log may look damaged, but not twice in the same way.
        """
        before = ""
        while True:
            try:
                return self._take_all(stop, progress)
            except DeltaLogError as error:
                if str(error) == before or stop.wait(CLEANING_S):
                    raise
                before = str(error)

    def _take_all(self, stop: Signal, progress: Progress) -> None:
        log = DeltaLog.open(self._path)
        imported = self._imported
        self._identify(log)
        self._look()
        if log.last < imported.delta_version:
            raise DeltaLogError(
                str(self._path),
                f"it ends with version {log.last}, and {imported.delta_version} was imported",
            )
        try:
            for commit in log.versions(after=imported.delta_version):
                if stop.is_set():
                    return
                if commit.version > imported.delta_version:
                    self._take(commit)
                progress(commit.version, log.last)
        finally:
            self._passed_over |= log.passed_over

    def report(self) -> ImportReport:
        """Return the state of the import."""
        imported = self._imported
        return ImportReport(
            imported.table,
            imported.name,
            imported.app,
            imported.delta_version,
            imported.version,
            imported.position,
            tuple(self._unmatched),
            dict(self._passed_over),
            self._versions,
            self._rebased,
            tuple(self._disagreed),
            self._left_out,
        )

    def _take(self, commit: DeltaCommit) -> None:
        """Import one version."""
        left_out = len(commit.apps) - len(self._imported.new_apps(commit))
        commit, unmatched = self._resolved(commit)
        try:
            done = self._rebase(commit) or self._follow_on(commit)
        except ShapeError as error:
            raise DeltaLogError(f"version {commit.version} of {self._path}", str(error)) from error
        except (CommandInvalidError, LimitExceededError) as error:
            # Of whatever kind it is, it names no version by itself.
            error.args = (f"version {commit.version} of the Delta table at {self._path}: {error}",)
            raise
        if not done:
            self._live = None
        else:
            self._versions += 1
            self._left_out += left_out
            self._unmatched += unmatched
            if self._live is not None:
                self._live.take(commit)
            self._positions[commit.version] = self._imported.position

    def _resolved(self, commit: DeltaCommit) -> tuple[DeltaCommit, list[Unmatched]]:
        """Return a version with paths as live files have them, and the removals that found none.

        The live files of a table are asked for once there is something to compare them with.
        """
        imported = self._imported
        if self._live is None:
            live = LiveFiles(self._folder)
            if imported.table:
                if not commit.removes and not any(live.is_spelled(path) for path, _ in commit.adds):
                    return commit, []
                reads = self._ledger.reads()
                live = LiveFiles(
                    self._folder, reads.files(imported.table, position=imported.position)
                )
            self._live = live
        return self._live.resolved(commit)

    def _rebase(self, commit: DeltaCommit) -> bool:
        """Import a version that was made from an older one than that before it; tell if it was."""
        read_version = commit.provenance.read_version
        if read_version is None or read_version >= commit.version - 1 or commit.is_checkpoint:
            return False
        try:
            replay(self._ledger, self._imported, commit, self._position_of(read_version))
        except RefusedError as refused:
            if self._is_taken(commit):
                return False
            if not isinstance(refused, ConflictError | SnapshotTooOldError):
                raise
            self._rebased += 1
            self._disagreed.append(Disagreement(commit.version, refused.reason))
            return False
        self._rebased += 1
        return True

    def _follow_on(self, commit: DeltaCommit) -> bool:
        """Import a version as made from the one before; tell whether it had not been before."""
        if self._imported.delta_version >= commit.version:
            return False
        try:
            replay(self._ledger, self._imported, commit, self._imported.position)
        except RefusedError as refused:
            if self._is_taken(commit):
                return False
            if not isinstance(refused, RETRIED):
                raise
            replay(self._ledger, self._imported, commit, self._imported.position)
        return True

    def _identify(self, log: DeltaLog) -> None:
        """See which table the log is of, if it begins otherwise than when that was looked at last.

        Another one may have been made in its place meanwhile.
        """
        beginning = log.beginning()
        if beginning == self._beginning:
            return
        if self._read_standing() is None:
            first = log.whole_beginning().version
            self._imported.app, self._imported.first = (
                f"{IMPORT_APPS}{log.table_id()}@{first}",
                first,
            )
        self._source = IMPORT_APPS + log.table_id()
        self._found = f"{self._source}@{log.first}"
        self._beginning = beginning

    def _is_taken(self, commit: DeltaCommit) -> bool:
        """Look whether another process was faster with a version."""
        self._imported.check_unshared()
        self._look()
        return self._imported.delta_version >= commit.version

    def _look(self) -> None:
        """Read the state of the import from the ledger: another process may import too."""
        imported, standing = self._imported, self._read_standing()
        if standing is None:
            return
        row, position, apps = standing
        if ADOPTED in properties(row.definition):
            raise ConflictError(
                f"table {row.name} was adopted: the ledger commits to the Delta table at "
                f"{self._path}, and its import has ended. To import it anew, use another name",
                reason=FOREIGN,
                subject=row.table,
            )
        known = versions_in(apps, self._source)
        if known is None:
            other = versions_in(apps)
            if other is not None and self._has_followed(other, row):
                # It was replaced, and what comes before that is gone from the log.
                self._source = other.app.rpartition("@")[0]
                known = other
        if known is None:
            held = f"imported as {other.app}" if other is not None else "no import"
            raise TableExistsError(
                f"table {row.name} is {held}, the log at {self._path} would be {self._found}. "
                "Choose another name",
                reason=Reason.TABLE_EXISTS,
                subject=row.table,
            )
        if not self._is_here(row):
            raise TableExistsError(
                f"table {row.name} was imported from {row.definition.location}, where files that "
                f"only {imported.location} has are missing. Import that under another name",
                reason=Reason.TABLE_EXISTS,
                subject=row.table,
            )
        imported.app, imported.first, imported.delta_version = known
        imported.table, imported.definition = row.table, row.definition
        # No other program wrote since, or the import stops: plan from the present position.
        imported.newest, imported.position = row.version, position
        imported.apps = {app.app: app.version for app in apps}

    def _read_standing(self) -> ImportStanding | None:
        """Return the table and the progress of its applications, None if absent.

        Reads one after the other may see a commit of another process only with the last one.
        """
        reads, name = self._ledger.reads(), (self._ledger.catalog, self._imported.name)
        row = reads.table_named(*name)
        while row is not None:
            position, apps = reads.position(), reads.apps(row.table)
            before, row = row, reads.table_named(*name)
            if row == before:
                return ImportStanding(row, position, apps)
        return None

    def _has_followed(self, other: DeltaVersions, row: TableRow) -> bool:
        """Return whether the log had the table's id at the version imported last."""
        kept = properties(row.definition).get(REPLACED_ID)
        if kept is None or not self._is_here(row):
            return False
        delta_id = ""
        for commit in DeltaLog.open(self._path).versions():
            if delta_id and commit.version > other.newest:
                break
            delta_id = commit.metadata.id if commit.metadata is not None else delta_id
        return delta_id == kept

    def _is_here(self, row: TableRow) -> bool:
        """Return whether a table has the log's location; earlier releases escaped nothing in it."""
        here, before = self._imported.location, f"file://{self._folder}"
        return row.definition.location == before or as_stored(row.definition.location) == here

    def _position_of(self, delta_version: int) -> int:
        """Return where a version was imported; for one before the first, where that was."""
        if delta_version in self._positions:
            return self._positions[delta_version]
        imported = self._imported
        version = max(0, delta_version - imported.first)
        row = self._ledger.reads().version_row(imported.table, version=version)
        assert row is not None, f"table {imported.table} has no version {version}"
        return row.position


def folder_at(path: str | PathLike[str]) -> Path:
    """Return the folder that a path or a URI of `file:` means; raises SettingsError for others."""
    text = fspath(path)
    if not is_file_uri(text):
        return Path(text)
    try:
        return Path(path_of_uri(text))
    except ValueError as error:
        raise SettingsError(f"the folder of a Delta table cannot be read: {error}") from None


def location_of(path: Path) -> str:
    """Return the location of the table in a folder; what is no UTF-8 stands there as a URI."""
    return in_one_spelling(path.resolve().as_uri())
