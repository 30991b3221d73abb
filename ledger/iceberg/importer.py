"""Import of Iceberg tables: each snapshot of the main branch becomes one version in a ledger.

The import begins at the oldest snapshot from which every later one is whole. A version notes the
snapshot that it shows, so a client that knows the id of a snapshot finds it. Files stay where they
are, and nothing of the Iceberg table is changed.

The progress of an import is that of an application in the table, `lakeledger.import:iceberg/` and
the uuid of the Iceberg table, whose version is that of the ledger's table. So an import continues
where one was ended, however it was, and a repeated one changes nothing. Beside it each version
notes how far the metadata was read: an older metadata file is refused.

If the Iceberg table went back to an earlier snapshot, or another history took its place, the next
version shows what is there now, in one step.
"""

from collections.abc import Callable, Sequence
from os import PathLike
from threading import Event as Signal
from typing import Final

from ledger.client import Ledger
from ledger.core.conflicts.metadata_diff import properties
from ledger.core.refusals import Reason
from ledger.delta.replay import FOREIGN
from ledger.errors import (
    ConflictError,
    IcebergTableError,
    IncompatibleError,
    LimitExceededError,
    RefusedError,
    SessionExpiredError,
    SnapshotTooOldError,
    TableExistsError,
    TxnNotOpenError,
)
from ledger.iceberg.imports.finding import metadata_file
from ledger.iceberg.imports.loading import absolute, load_metadata
from ledger.iceberg.imports.metadata_fields import MetadataShapeError
from ledger.iceberg.imports.replaying import ImportedIceberg, ImportStep, replay_step
from ledger.iceberg.imports.report import (
    ICEBERG_APPS,
    NOT_BEGUN,
    IcebergImportReport,
    import_app,
    progress_in,
)
from ledger.iceberg.imports.steps import BranchSteps
from ledger.iceberg.table_metadata import IcebergMetadata
from ledger.reads.port import AppRow, TableRow

POLL_S: Final = 1.0
RETRIED: Final = (SnapshotTooOldError, SessionExpiredError, TxnNotOpenError)
"""Refusals of a txn that say nothing about the version: it may do better in a fresh one."""

ADOPTED: Final = "iceberg.adopted"
"""Under this property an adopted table has the metadata file that was its last one."""

Progress = Callable[[int, int], None]
"""Gets how many of the snapshots that a run found are imported, and their number."""


def import_iceberg(
    ledger: Ledger,
    path: str | PathLike[str],
    table: str,
    *,
    places: Sequence[str] = (),
    newest: bool = False,
    follow: bool = False,
    stop: Signal | None = None,
    poll_s: float = POLL_S,
    progress: Progress = lambda _done, _all: None,
) -> IcebergImportReport:
    """Import the Iceberg table at `path` as `table` of the ledger's catalog, or continue an import.

    `path` is a metadata file, or the folder of a table without a catalog. With `newest` it may be
    the folder of any table, whose metadata file with the highest number counts then. Files must lie
    below the table's location or one of `places`. With `follow` the import looks for new snapshots
    every `poll_s` seconds. `stop` ends it after the current one.

    Raises IcebergTableError if the metadata is damaged, IncompatibleError for what the ledger does
    not have, TableExistsError if `table` is another table, ConflictError if another program writes
    to it or it was adopted, and SettingsError if there is no Iceberg table at `path`.
    """
    stop = stop or Signal()
    running = IcebergImport(ledger, path, table, places, newest=newest)
    while True:
        running.take_all(stop, progress)
        if not follow or stop.wait(poll_s):
            return running.report()


class IcebergImport:
    """An import under way."""

    def __init__(
        self,
        ledger: Ledger,
        path: str | PathLike[str],
        table: str,
        places: Sequence[str] = (),
        *,
        newest: bool = False,
    ) -> None:
        self._ledger = ledger
        self._path, self._newest = absolute(path), newest
        self._places = [absolute(each) for each in places]
        self._imported = ImportedIceberg(table)
        self._uuid = ""
        self._versions = 0
        self._passed_over: dict[str, str] = {}
        self._left_out: dict[str, str] = {}
        self._read = ""
        self._steps: BranchSteps | None = None

    def take_all(self, stop: Signal, progress: Progress) -> None:
        """Import every snapshot that was not imported yet, until `stop` is set."""
        file = metadata_file(self._path, newest=self._newest)
        if file == self._read:
            return
        metadata = load_metadata(file, self._places)
        try:
            while not self._take_branch(file, metadata, stop, progress):
                self._steps = None
        except MetadataShapeError as error:
            raise IcebergTableError(file, str(error)) from error
        if not stop.is_set():
            self._read = file

    def _take_branch(
        self, file: str, metadata: IcebergMetadata, stop: Signal, progress: Progress
    ) -> bool:
        """Import the snapshots of a metadata file; return False if another process was faster."""
        self._identify(metadata)
        self._look(metadata)
        self._check_newer(file, metadata)
        if self._steps is None:
            self._steps = BranchSteps(self._ledger, self._imported, self._places)
        steps = self._steps
        for done, count, step in steps.of(file, metadata):
            if stop.is_set():
                return True
            if not self._is_done(step, metadata):
                return False
            steps.note(step)
            self._versions += 1
            progress(done, count)
        self._passed_over |= steps.passed_over
        self._left_out = dict(steps.left_out)
        return True

    def report(self) -> IcebergImportReport:
        """Return the state of the import."""
        imported = self._imported
        return IcebergImportReport(
            imported.table,
            imported.name,
            self._uuid,
            imported.progress.snapshot,
            imported.version,
            imported.position,
            self._versions,
            dict(self._passed_over),
            dict(self._left_out),
        )

    def _is_done(self, step: ImportStep, metadata: IcebergMetadata) -> bool:
        """Commit a version; return False if another process committed it before."""
        imported = self._imported
        version = imported.version
        try:
            replay_step(self._ledger, imported, step)
        except LimitExceededError as error:
            error.args = (f"snapshot {step.progress.snapshot} of {self._path}: {error}",)
            raise
        except RefusedError as refused:
            if isinstance(refused, ConflictError) and refused.reason == FOREIGN:
                raise
            self._look(metadata)
            if imported.version > version:
                return False
            if not isinstance(refused, RETRIED):
                raise
            replay_step(self._ledger, imported, step)
        return True

    def _identify(self, metadata: IcebergMetadata) -> None:
        """See that the metadata is of the table that this import began with."""
        if self._uuid and self._uuid != metadata.uuid:
            raise IncompatibleError(
                f"the Iceberg table at {self._path} has the uuid {metadata.uuid}, and {self._uuid} "
                "was imported: it is another table. Import it under another name"
            )
        self._uuid = metadata.uuid
        self._imported.app = f"{ICEBERG_APPS}{metadata.uuid}"

    def _look(self, metadata: IcebergMetadata) -> None:
        """Read the state of the import from the ledger: another process may import too."""
        imported, standing = self._imported, self._read_standing()
        if standing is None:
            return
        row, position, apps = standing
        app = import_app(apps)
        if app is None or app.app != imported.app:
            held = "no import of Iceberg" if app is None else f"imported as {app.app}"
            raise TableExistsError(
                f"table {row.name} is {held}, the metadata at {self._path} is of "
                f"{imported.app}. Choose another name",
                reason=Reason.TABLE_EXISTS,
                subject=row.table,
            )
        version = self._ledger.reads().version_row(row.table, version=app.version)
        noted = progress_in("" if version is None else version.info)
        if (adopted := properties(row.definition).get(ADOPTED)) is not None:
            known = noted or NOT_BEGUN
            is_later = (metadata.sequence, metadata.updated_ms) > (known.sequence, known.updated_ms)
            later = f", and snapshot {metadata.current} was committed outside" if is_later else ""
            raise ConflictError(
                f"table {row.name} was adopted at {adopted}: the ledger alone commits to it, and "
                f"its import has ended{later}. To import the Iceberg table anew, use another name",
                reason=FOREIGN,
                subject=row.table,
            )
        imported.table, imported.definition = row.table, row.definition
        imported.version, imported.newest, imported.position = app.version, row.version, position
        imported.progress = noted or NOT_BEGUN
        imported.check_unshared()

    def _read_standing(self) -> tuple[TableRow, int, Sequence[AppRow]] | None:
        """Return the table, the position of that state and the progress there, None if absent."""
        reads, name = self._ledger.reads(), (self._ledger.catalog, self._imported.name)
        row = reads.table_named(*name)
        while row is not None:
            position, apps = reads.position(), reads.apps(row.table)
            before, row = row, reads.table_named(*name)
            if row == before:
                return row, position, apps
        return None

    def _check_newer(self, file: str, metadata: IcebergMetadata) -> None:
        """Raise ConflictError for metadata that is older than what was read before."""
        known = self._imported.progress
        if known.metadata in ("", file) or known.metadata in metadata.earlier_files:
            return
        if (metadata.sequence, metadata.updated_ms) < (known.sequence, known.updated_ms):
            raise ConflictError(
                f"the metadata at {file} is older than {known.metadata}, which was imported into "
                f"{self._imported.name}: name the newest metadata file of the table",
                reason=FOREIGN,
                subject=self._imported.table,
            )
