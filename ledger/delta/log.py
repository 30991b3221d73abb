"""The log of a Delta table at a local path: which versions there are, and what each one did.

Versions are JSON files in `_delta_log`. The log is read from the oldest place from which every
later version is whole: version 0, or a checkpoint. What lies below that place may be damaged or
gone, as for other readers. A checkpoint is one Parquet file, several parts of one, or the newer
form in JSON or Parquet with sidecars. What contradicts itself is refused, never skipped.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from ledger.delta.actions import DeltaCommit
from ledger.delta.checkpoints import (
    LAST_CHECKPOINT,
    checkpoints_of,
    hinted_version,
    read_checkpoint,
)
from ledger.delta.files import check_table, damaged, is_blank, lines_of, reading, take_all
from ledger.delta.listing import Start, commits_of, starts_of, unbroken, unneeded, version_of
from ledger.delta.live import LiveFiles
from ledger.errors import DeltaLogError, IncompatibleError, SettingsError

LOG_FOLDER: Final = "_delta_log"


class Beginning(NamedTuple):
    """The file that a log begins with; one that is written anew differs in what is behind it."""

    path: Path
    number: int
    modified_ns: int


class DeltaLog:
    """The log of one table as its files were when it was opened.

    Attributes:
        first: the oldest version that it may be read from.
        last: the newest one.
        passed_over: by file, why it was passed over: it does not fit, and is not needed.
    """

    def __init__(
        self,
        folder: str,
        commits: Mapping[int, Path],
        starts: Sequence[Start],
        passed_over: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._commits = commits
        self._starts = starts
        self._beginning: DeltaCommit | None = None
        self.first = version_of(starts[0])
        self.last = max([version_of(starts[-1]), *commits])
        self.passed_over = dict(passed_over or {})

    @classmethod
    def open(cls, table: Path) -> Self:
        """Open the log of the table in a folder; raises DeltaLogError if it is damaged.

        Raises SettingsError for a folder of no Delta table.
        """
        folder = table / LOG_FOLDER
        with reading(folder):
            if not folder.is_dir():
                raise SettingsError(
                    f"{table} is no Delta table: there is no folder {LOG_FOLDER} in it. Name the "
                    "folder of the table, the one that holds it"
                )
            # Before the files are listed: what it names may be written only now.
            hinted = hinted_version(folder / LAST_CHECKPOINT)
            files = sorted(folder.iterdir())
            checkpoints = checkpoints_of(files)
            whole = [checkpoint for checkpoint in checkpoints if checkpoint.is_complete]
            listed = commits_of(files)
            commits = unbroken(folder, listed, [each.version for each in whole])
            starts = starts_of(folder, listed, commits, checkpoints)
        log = cls(str(table.resolve()), commits, starts, dict(unneeded(listed, commits, starts)))
        if hinted > log.last:
            log.passed_over[str(folder / LAST_CHECKPOINT)] = (
                f"it names a checkpoint of version {hinted}, the newest version is {log.last}"
            )
        return log

    def beginning(self) -> Beginning:
        """Return what the log begins with, as it is now; raises DeltaLogError if it is gone."""
        start = self._starts[0]
        path = start.files[0] if start is not None else self._commits[0]
        with reading(path):
            found = path.stat()
        return Beginning(path, found.st_ino, found.st_mtime_ns)

    def table_id(self) -> str:
        """Return the id that the table has at the oldest place that can be read."""
        commit = self._beginning or self._begin(list(self._starts))
        assert commit.metadata is not None, "a log was opened that does not say what it is of"
        return commit.metadata.id

    def versions(self, after: int = -1) -> Iterator[DeltaCommit]:
        """Yield what each version above `after` did, oldest first.

        The first of all has the whole state if earlier ones are gone or damaged. Raises
        DeltaLogError for a file that is damaged, and if what follows on `after` is gone;
        IncompatibleError for one that asks of its readers what is not known here.
        """
        if after < 0:
            first = self.whole_beginning()
            yield first
            after = first.version
        elif after < self.last and after + 1 not in self._commits:
            place = self._starts[-1] if self._starts[0] is None else self._starts[0]
            assert place is not None, "a log that lacks a version begins with a checkpoint"
            raise DeltaLogError(
                str(place.files[0]),
                f"it is the earliest there is; version {after + 1}, which comes next, is gone. "
                "Where no copy of it is left, import the table anew under another name",
            )
        for version in range(after + 1, self.last + 1):
            yield self._commit(version)

    def whole_beginning(self) -> DeltaCommit:
        """Return the oldest place from which every version can be read; raises as `versions`.

        Only a log with several places to begin is looked through for that: then what follows on
        the place also leaves the files live that the newest checkpoint has. Where no place lies
        above what is damaged, it is the oldest that can be read.
        """
        if self._beginning is None:
            self._beginning = self._oldest_whole()
        return self._beginning

    def _oldest_whole(self) -> DeltaCommit:
        starts = list(self._starts)
        while True:
            first = self._begin(starts)
            wrong = self._first_wrong(first) if len(starts) > 1 else None
            later = [start for start in starts if wrong is not None and version_of(start) >= wrong]
            if wrong is None or not later:
                return first
            starts = later

    def _first_wrong(self, first: DeltaCommit) -> int | None:
        """Return the version after `first` that is damaged, or that a checkpoint contradicts."""
        newest, live = self._newest_checkpoint(first.version), LiveFiles(self._folder)
        live.take(first)
        for version in range(first.version + 1, self.last + 1):
            try:
                commit = self._commit(version)
            except (DeltaLogError, IncompatibleError) as error:
                if version <= version_of(self._starts[-1]):
                    self._pass_over(self._commits[version], error)
                return version
            if newest is not None and version <= newest.version:
                live.take(commit)
                if version == newest.version and (odd := live.differs_from(newest)):
                    self.passed_over[str(self._commits[version])] = (
                        f"the versions up to it and the checkpoint of it differ in file {odd}"
                    )
                    return version
        return None

    def _newest_checkpoint(self, above: int) -> DeltaCommit | None:
        """Return the newest checkpoint that readers use above a version, None if absent."""
        newest = self._starts[-1]
        if newest is None or newest.version <= above:
            return None
        try:
            return read_checkpoint(newest)
        except (DeltaLogError, IncompatibleError):
            return None

    def _begin(self, starts: list[Start]) -> DeltaCommit:
        """Return the first of some places that can be read, and leave out the others before it.

        Raises as the last of them.
        """
        while True:
            start = starts[0]
            try:
                return self._read(start)
            except (DeltaLogError, IncompatibleError) as error:
                if len(starts) == 1:
                    raise
                self._pass_over(self._commits[0] if start is None else start.files[0], error)
                del starts[0]

    def _pass_over(self, path: Path, error: DeltaLogError | IncompatibleError) -> None:
        if isinstance(error, DeltaLogError):
            self.passed_over[error.file] = error.what
        else:
            self.passed_over[str(path)] = str(error)

    def _read(self, start: Start) -> DeltaCommit:
        """Return the first version, or the state at a checkpoint with what its writer recorded."""
        if start is None:
            return self._commit(0)
        state = read_checkpoint(start)
        own = self._commits.get(start.version)
        with suppress(DeltaLogError, IncompatibleError):
            if own is not None:
                state.provenance = read_commit(own, start.version).provenance
        return state

    def _commit(self, version: int) -> DeltaCommit:
        """Return what one version did; raises DeltaLogError.

        An empty file is a version without actions, as for other readers, unless a checkpoint above
        it knows what it had.
        """
        path = self._commits[version]
        if version <= version_of(self._starts[-1]):
            with reading(path):
                if is_blank(path):
                    raise damaged(path, "it is empty")
        commit = read_commit(path, version)
        if commit.is_empty:
            self.passed_over[str(path)] = "it is empty"
        return commit


def read_commit(path: Path, version: int) -> DeltaCommit:
    """Return what one version did; raises DeltaLogError, IncompatibleError."""
    with reading(path):
        content = path.read_bytes()
    commit = DeltaCommit(version)
    take_all(commit, path, lines_of(path, content))
    check_table(commit, path)
    return commit
