"""The log of a Delta table at a local path: which versions there are, and what each one did.

Versions are JSON files in `_delta_log`, without a gap. Where the early ones are gone, the oldest
checkpoint that the others follow on is the beginning: one Parquet file, several parts of one, or
the newer form in JSON or Parquet with sidecars. What contradicts itself is refused, never skipped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from ledger.delta.actions import DeltaCommit
from ledger.delta.checkpoints import Checkpoint, base_of, checkpoints_of, read_checkpoint
from ledger.delta.fields import is_number
from ledger.delta.files import damaged, json_of, lines_of, reading, take_all
from ledger.errors import DeltaLogError, SettingsError

LOG_FOLDER: Final = "_delta_log"
LAST_CHECKPOINT: Final = "_last_checkpoint"
VERSION_DIGITS: Final = 20
COMMIT_NAME: Final = re.compile(r"(\d+)\.json")


class Beginning(NamedTuple):
    """The file that a log begins with; one that is written anew differs in what is behind it."""

    path: Path
    number: int
    modified_ns: int


class DeltaLog:
    """The log of one table as its files were when it was opened.

    Attributes:
        first: the first version that can be read.
        last: the newest one.
    """

    def __init__(self, commits: Mapping[int, Path], base: Checkpoint | None) -> None:
        self._commits = commits
        self._base = base
        self.first = base.version if base is not None else 0
        self.last = max([self.first, *commits])

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
            commits = settled(folder, commits_of(files), checkpoints)
            check_unbroken(commits)
            check_newest(folder, commits, checkpoints, hinted)
        return cls(commits, base_of(folder, commits, checkpoints))

    def beginning(self) -> Beginning:
        """Return what the log begins with, as it is now; raises DeltaLogError if it is gone."""
        path = self._base.files[0] if self._base is not None else self._commits[0]
        with reading(path):
            found = path.stat()
        return Beginning(path, found.st_ino, found.st_mtime_ns)

    def versions(self, after: int = -1) -> Iterator[DeltaCommit]:
        """Yield what each version above `after` did, oldest first.

        The first that can be read has the whole state if earlier ones are gone. Raises
        DeltaLogError for a file that is damaged, and if what follows on `after` is gone;
        IncompatibleError for one that asks of its readers what is not known here.
        """
        if self._base is not None and after < self.first and after + 1 not in self._commits:
            if after > -1:
                raise DeltaLogError(
                    str(self._base.files[0]),
                    f"it is the earliest there is; version {after + 1}, which comes next, is gone",
                )
            yield self._from_checkpoint(self._base)
            after = self.first
        for version in range(after + 1, self.last + 1):
            yield read_commit(self._commits[version], version)

    def _from_checkpoint(self, checkpoint: Checkpoint) -> DeltaCommit:
        """Return the state at a checkpoint, with what the version's own file says of its writer."""
        state = read_checkpoint(checkpoint)
        own = self._commits.get(checkpoint.version)
        if own is not None:
            state.provenance = read_commit(own, checkpoint.version).provenance
        return state


def commits_of(files: Iterable[Path]) -> dict[int, Path]:
    """Return the files of versions; raises DeltaLogError if their names are not one for each."""
    commits: dict[int, Path] = {}
    for path in files:
        named = COMMIT_NAME.fullmatch(path.name)
        if named is None:
            continue
        version = int(named[1])
        if version in commits:
            raise damaged(path, f"version {version} has another file, {commits[version].name}")
        commits[version] = path
    for path in commits.values():
        if len(path.stem) != VERSION_DIGITS:
            raise damaged(path, f"the name of a version has {VERSION_DIGITS} digits")
    return commits


def settled(
    folder: Path, commits: Mapping[int, Path], checkpoints: Iterable[Checkpoint]
) -> dict[int, Path]:
    """Return the files of versions as they are once the folder was listed.

    A list that is made while others write and clean up may lack a file before one that it has, and
    have one whose followers were gone already. Asked for by name, each is there or is not.
    """
    found = {version: commits[version] for version in sorted(commits)}
    while found and not next(iter(found.values())).exists():
        del found[next(iter(found))]
    newest = max([*found, *(each.version for each in checkpoints)], default=0)
    for version in range(min(found, default=newest + 1), newest + 1):
        if version not in found:
            path = folder / f"{version:0{VERSION_DIGITS}}.json"
            if not path.exists():
                break
            found[version] = path
    return found


def check_unbroken(commits: Mapping[int, Path]) -> None:
    """Raise DeltaLogError if the versions are not in a row."""
    for version in sorted(commits)[1:]:
        if version - 1 not in commits:
            raise damaged(commits[version], f"version {version - 1} before it is missing")


def hinted_version(hint: Path) -> Any:
    """Return the version of which the last checkpoint is said to be, -1 if nothing is said.

    Hadoop writes over the file in place, so an empty one is only being written.
    """
    content = hint.read_bytes() if hint.exists() else b""
    if not content:
        return -1
    said = json_of(hint, content)
    return said.get("version") if isinstance(said, dict) else None


def check_newest(
    folder: Path, commits: Mapping[int, Path], checkpoints: list[Checkpoint], hinted: Any
) -> None:
    """Refuse a log whose newest versions are missing, also if `hinted` is one of them."""
    if not commits and not checkpoints:
        raise DeltaLogError(str(folder), "it holds neither versions nor checkpoints")
    newest = max([*commits, *(each.version for each in checkpoints)])
    if commits and newest not in commits:
        path = next(each.files[0] for each in checkpoints if each.version == newest)
        raise damaged(path, f"the versions {max(commits) + 1} to {newest} are missing")
    if hinted != -1 and (not is_number(hinted) or hinted > newest):
        what = f"it names a checkpoint of version {hinted}, the newest is {newest}"
        raise damaged(folder / LAST_CHECKPOINT, what)


def read_commit(path: Path, version: int) -> DeltaCommit:
    """Return what one version did; raises DeltaLogError."""
    with reading(path):
        content = path.read_bytes()
    if not content.strip():
        raise damaged(path, "it is empty")
    commit = DeltaCommit(version)
    take_all(commit, path, lines_of(path, content))
    return commit
