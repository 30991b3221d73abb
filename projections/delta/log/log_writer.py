"""Writes the versions of a published log, and finds files that another program wrote.

A file that is there with the same bytes was written before, by this or another publisher. One with
other bytes is foreign: the table stops, and its files stay as they are.
"""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import pairwise

from ledger.errors import LedgerError
from ledger.properties.promises import is_promised
from projections.delta.actions.checkpoint_file import checkpoint_bytes, hint_bytes
from projections.delta.actions.schema_json import compact
from projections.delta.log.log_folder import (
    LAST_CHECKPOINT,
    LogFiles,
    checkpoint_name,
    version_file,
)
from projections.delta.log.log_marks import (
    NAMED,
    Mark,
    hinted,
    is_version,
    mark_of,
    owner_of,
    passes_lost,
    writer_of,
)
from projections.delta.published_log import DeltaVersion

Folders = Callable[[str], LogFiles]
"""Returns the folder of the log of the table at a place; raises UnpublishableError."""


class ForeignLogError(LedgerError):
    """A folder has a file of a Delta log that this ledger did not write."""


def owned(folder: LogFiles, owner: Mark) -> ForeignLogError:
    """Return that a log has another owner."""
    return ForeignLogError(
        f"the log in {folder.place('')} belongs to {owner}, which publishes it. Release it there "
        "first (lakeledger table release), or take another folder"
    )


class DeltaLogWriter:
    """The log of one table.

    `written` counts the versions that were not there before, `checkpoints` are those with a
    checkpoint and their times. With `kept_ms` a version that is older than that, seen from the
    newest checkpoint, is deleted once readers need it no longer.
    """

    def __init__(
        self, folder: LogFiles, kept_ms: int = 0, checkpoints: list[tuple[int, int]] | None = None
    ) -> None:
        self._folder = folder
        self._kept_ms = kept_ms
        self.checkpoints = [] if checkpoints is None else checkpoints
        self._oldest: int | None = None
        self.written = 0

    def write(self, version: DeltaVersion) -> bool:
        """Write a version unless it is there; return whether it was not.

        Raises ForeignLogError if the folder holds other bytes, or the log of another table.
        """
        name = version_file(version.version)
        found = self._folder.read(name)
        if found is None and self._is_cleaned(version):
            return False
        if found is None:
            self._check_beginning(version)
            if version.begins or version.passes_lost:
                # Without it no reader could begin: versions below are not in the log.
                self._write_checkpoint(version)
            if self._folder.put(name, version.data, version.at):
                found = version.data
                self.written += 1
                self._write_checkpoint(version)
                return True
            found = self._folder.read(name)
        if not is_published(found, version.data):
            raise self._foreign(name)
        self._folder.date(name, version.at)
        self._write_checkpoint(version)
        return False

    def check(self, version: DeltaVersion) -> None:
        """Raise ForeignLogError, as `write`, if a version cannot be written; write nothing."""
        name = version_file(version.version)
        found = self._folder.read(name)
        if found is None:
            self._check_beginning(version)
        elif not is_published(found, version.data):
            raise self._foreign(name)

    def holds(self, version: int, digest: str) -> bool:
        """Return whether a version is there with these bytes, and no version below is missing.

        The newest known checkpoint must be there too, and be named to readers.
        """
        names = self._folder.names()
        numbers = [int(name[:20]) for name in names if is_version(name)]
        numbers = [each for each in numbers if each <= version]
        if not numbers or numbers[-1] != version or self._has_hole(numbers):
            return False
        newest = max((number for number, _ in self.checkpoints), default=-1)
        if newest >= 0 and (checkpoint_name(newest) not in names or hinted(self._folder) < newest):
            return False
        found = self._folder.read(version_file(version))
        return found is not None and digest_of(found) == digest

    def _has_hole(self, numbers: Sequence[int]) -> bool:
        """Return whether versions are missing below one that does not stand above lost ones."""
        behind = (after for before, after in pairwise(numbers) if after > before + 1)
        return any(not passes_lost(self._folder.read(version_file(each)) or b"") for each in behind)

    def _write_checkpoint(self, version: DeltaVersion) -> None:
        """Write the checkpoint of a version unless it is there, and then name it to readers."""
        if version.state is None:
            return
        number, newest = version.version, hinted(self._folder)
        name = checkpoint_name(number)
        if number > newest or not self._folder.has(name):
            actions = list(version.state.actions())
            data = checkpoint_bytes(actions)
            self._folder.put(name, data, version.at)
            if number > newest:
                self._folder.replace(LAST_CHECKPOINT, hint_bytes(number, len(actions), len(data)))
        self.checkpoints.append((number, version.at))
        if self._kept_ms:
            self._clean(version.at - self._kept_ms)

    def _clean(self, horizon: int) -> None:
        """Delete what is below the newest checkpoint of a time or before."""
        oldest = max((number for number, at in self.checkpoints if at <= horizon), default=0)
        self.checkpoints[:] = [
            checkpoint for checkpoint in self.checkpoints if checkpoint[0] >= oldest
        ]
        if not oldest:
            return
        for name in self._folder.names():
            named = NAMED.fullmatch(name)
            if named is not None and int(named[1]) < oldest:
                self._folder.delete(name)

    def _is_cleaned(self, version: DeltaVersion) -> bool:
        """Return whether a version is missing because it was deleted as too old."""
        if not self._kept_ms:
            return False
        if self._oldest is None:
            self._oldest = oldest_kept(self._folder, version)
        return version.version < self._oldest

    def _check_beginning(self, version: DeltaVersion) -> None:
        """Raise ForeignLogError if a log that begins here has versions of another writer.

        Those below the version that an adopted table begins with are the Delta table's own.
        """
        if not version.begins:
            return
        if version.state is None and version.version:
            self._check_goes_on(version)
            return
        for name in self._folder.names():
            named = NAMED.fullmatch(name)
            if named is None or int(named[1]) == version.version:
                continue
            if not self._is_own(name, version):
                raise self._foreign(name)

    def _check_goes_on(self, version: DeltaVersion) -> None:
        """Raise ForeignLogError unless the log ends right before a version, or went on from it."""
        named = (NAMED.fullmatch(name) for name in self._folder.names())
        newest = max((int(each[1]) for each in named if each is not None), default=-1)
        # What is missing then was deleted as too old.
        went_on = oldest_kept(self._folder, version) > version.version
        if newest != version.version - 1 and not went_on:
            raise ForeignLogError(
                f"the log in {self._folder.place('')} ends with version {newest}, and adopted "
                f"table {version.name} goes on with version {version.version}. Import the Delta "
                "table under another name, and adopt that one"
            )
        mine, owner = mark_of(version.data), None if went_on else owner_of(self._folder)
        if mine is not None and owner is not None and owner.ledger != mine.ledger:
            raise owned(self._folder, owner)

    def _is_own(self, name: str, version: DeltaVersion) -> bool:
        """Return whether a file of another version is of the same table of this ledger."""
        if not name.endswith(".json"):
            return True
        return of_one_table(version.data, self._folder.read(name) or b"")

    def _foreign(self, name: str) -> ForeignLogError:
        writer = writer_of(self._folder.read(name) or b"")
        return ForeignLogError(
            f"{self._folder.place(name)} is not what this table publishes{writer}. One log has one "
            "owner: publish into another folder (lakeledger.publish.folder), or remove the log "
            "that is there"
        )


def oldest_kept(folder: LogFiles, version: DeltaVersion) -> int:
    """Return the oldest version in the log of a table if readers begin there, else 0."""
    names = folder.names()
    oldest = min((int(name[:20]) for name in names if name.endswith(".json")), default=0)
    if not oldest or checkpoint_name(oldest) not in names:
        return 0
    found = folder.read(version_file(oldest)) or b""
    return oldest if of_one_table(version.data, found) else 0


def digest_of(data: bytes) -> str:
    """Return the digest of what a version says, without the form that a release gave it."""
    return sha256(b"\n".join(said_in(data))).hexdigest()


def is_published(found: bytes | None, made: bytes) -> bool:
    """Return whether the bytes of a version are what this ledger publishes.

    An earlier release may have published features and properties that nothing obeys.
    """
    if found is None or found == made:
        return found is not None
    return mark_of(made) is not None and said_in(found) == said_in(made)


def said_in(data: bytes) -> list[bytes]:
    """Return the lines of a version, without features and without properties not obeyed."""
    lines = (line for line in data.split(b"\n") if not line.startswith(b'{"protocol":'))
    return [obeyed(each) if each.startswith(b'{"metaData":') else each for each in lines]


def obeyed(line: bytes) -> bytes:
    """Return a metaData action without properties that nothing obeys; else the line as it is."""
    try:
        action = json.loads(line)
        kept = action["metaData"]["configuration"].items()
        promised = {key: each for key, each in kept if is_promised(key, each, ())}
    except (ValueError, KeyError, TypeError, AttributeError):
        return line
    action["metaData"]["configuration"] = promised
    return compact(action).encode()


def of_one_table(mine: bytes, other: bytes) -> bool:
    """Return whether two versions are of one table of a ledger."""
    mark = mark_of(mine)
    return mark is not None and mark.is_of(mark_of(other))
