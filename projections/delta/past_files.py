"""The files of a published table at its last versions, as long as rows of it lie in the log.

A flush puts the rows of the version that it read into files. If other commits came meanwhile, these
files and the others as they were then are a state that the table had.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from projections.delta.actions.file_actions import FileKey, LiveFile
from projections.rows.keys import Fields, read_value, value_as_given

CHANGED_MAX: Final = 10_000
"""So many changed files are known at most; beyond that only later flushes are looked at."""


class PastVersion(NamedTuple):
    """A version by its position, and the files that it changed, as they were before."""

    position: int
    changed: Mapping[FileKey, LiveFile | None]

    def value(self) -> bytes:
        """Return the value of its row."""
        changed = [(*key, before) for key, before in self.changed.items()]
        return value_as_given([self.position, changed])


def past_in(row: bytes) -> PastVersion:
    """Return position and changed files, as `PastVersion.value` keeps them."""
    position, changed = read_value(row)
    return PastVersion(
        position,
        {
            (path, vector): None if before is None else LiveFile(*before)
            for path, vector, before in changed
        },
    )


class PastFiles(Fields, dict=True):
    """What the versions after `floor` changed; that one was committed at `floor_at` or before.

    Attributes:
        versions: the versions by their numbers, in order.
        touched: the versions whose row changes.
    """

    floor: int = 0
    floor_at: int = 0

    def __post_init__(self) -> None:
        self.versions: dict[int, PastVersion] = {}
        self.touched: dict[int, None] = {}
        self._changed = 0

    def note(self, version: int, past: PastVersion) -> None:
        """Note the next version."""
        self.load(version, past)
        self.touched[version] = None
        if self._changed > CHANGED_MAX:
            self.forget(version, past.position)

    def load(self, version: int, past: PastVersion) -> None:
        """Take a version from its row, in the order of the versions."""
        self.versions[version] = past
        self._changed += len(past.changed)

    def forget(self, version: int, position: int) -> None:
        """Let no version up to one be known, which was committed at a position or before."""
        self.floor, self.floor_at = version, position
        for number in [number for number in self.versions if number <= version]:
            self._changed -= len(self.versions.pop(number).changed)
            self.touched[number] = None

    def at(self, position: int) -> tuple[int, dict[FileKey, LiveFile | None]] | None:
        """Return the version at a position, and files that changed since, as they were then.

        None if it is not known.
        """
        if position < self.floor_at:
            return None
        number, files = self.floor, dict[FileKey, LiveFile | None]()
        for version, past in self.versions.items():
            if past.position <= position:
                number = version
                continue
            for key, before in past.changed.items():
                files.setdefault(key, before)
        return number, files
