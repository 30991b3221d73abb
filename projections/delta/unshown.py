"""What the published log of a table does not show yet, since rows of the table lie in the log.

Readers of Delta find files alone. So a version is shown once the files have the rows of a version
that the table had: of its own if no row lies in the log, else of the one before the oldest row
there, if the commits since then put rows into the log or files together. If others came too, each
flush shows the version that it read.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ledger.log.wire.file_extras import is_block
from ledger.log.wire.file_list import FileList, RemoveFile
from projections.delta.actions.file_actions import (
    Action,
    FileKey,
    FilePlaces,
    LiveFile,
    removed_fields,
)
from projections.delta.past_files import PastFiles, PastVersion
from projections.rows.keys import Fields

VECTOR: Final = "deletionVector"


class PastState(NamedTuple):
    """A version, and files that changed since, as readers see them then; None for no such file."""

    version: int
    files: Mapping[FileKey, LiveFile | None]


class Unshown(Fields, dict=True):
    """The changes of a table since the version that its log shows; `files` have rows of their own.

    `progress` has the actions of applications and domains that wait, each with its version. The
    files alone may have rows of version `settled`, and of none after it that left rows in the log.
    With `is_altered` the definition is another one than shown.

    Attributes:
        files: the changed files as readers see them, None for one that they do not see.
        touched: the files whose row changes.
        read: the state that the newest version shows since it read it, None for any other version.
    """

    progress: list[tuple[int, Action]]
    past: PastFiles
    settled: int = 0
    is_altered: bool = False

    def __post_init__(self) -> None:
        self.files: dict[FileKey, LiveFile | None] = {}
        self.touched: dict[FileKey, None] = {}
        self.read: PastState | None = None
        # The versions of the rows in the log, the oldest first, made when a version asks for them.
        self._blocks: dict[FileKey, int] | None = None

    def blocks_of(self, live: Mapping[FileKey, LiveFile]) -> dict[FileKey, int]:
        """Return the versions of the rows of a table in the log; `live` is asked once."""
        if self._blocks is None:
            found = ((file.version, key) for key, file in live.items() if is_block(key[0]))
            self._blocks = {key: version for version, key in sorted(found)}
        return self._blocks

    def take(
        self,
        version: int,
        changed: Mapping[FileKey, LiveFile | None],
        live: Mapping[FileKey, LiveFile],
        *,
        is_plain: bool,
    ) -> None:
        """Note what a version did; `is_plain` says that it only added or moved rows.

        `changed` are the files that it changed, as they were before.
        """
        blocks = self.blocks_of(live)
        for key, before in changed.items():
            if not is_block(key[0]):
                continue
            blocks.pop(key, None)
            if before is not None:
                self.settled = max(self.settled, before.version)
            if key in live:
                blocks[key] = live[key].version
        if not is_plain:
            self.settled = version

    def keep(self, version: int, past: PastVersion | None, position: int) -> None:
        """Keep what a version at a position changed, or with None nothing up to there."""
        if past is not None and self._blocks:
            self.past.note(version, past)
        else:
            self.past.forget(version, position)
        # None of the versions up to there is shown any more, unless it is the last of them.
        least = min(self.settled, self.past.floor)
        early = bisect_right(self.progress, least, key=lambda waiting: waiting[0])
        if early > 1:
            self.progress[:early] = each_once(self.progress[:early])

    def look_back(
        self,
        read_at: int,
        changed: Mapping[FileKey, LiveFile | None],
        live: Mapping[FileKey, LiveFile],
    ) -> None:
        """Note which state a flush has read at a position, if its files show that one.

        So it is if each row that was in the log then is in a file now.
        """
        if (found := self.past.at(read_at)) is None:
            return
        number, files = found
        files = {**changed, **files}
        moved = {path for (path, _), before in changed.items() if is_block(path) and before}
        left = {key for key in self.blocks_of(live) if key not in files}
        left |= {key for key, then in files.items() if is_block(key[0]) and then}
        if not moved or {path for path, _ in left} - moved:
            return
        files = {key: then for key, then in files.items() if not is_block(key[0])}
        for key in changed:
            if key in live and not is_block(key[0]):
                # Rows that were deleted meanwhile are in the vector.
                fields = {name: value for name, value in live[key].fields.items() if name != VECTOR}
                files |= {key: None, (key[0], ""): LiveFile(live[key].version, fields)}
        self.read = PastState(number, files)
        self.past.forget(number, read_at)

    def shown(self, version: int, live: Mapping[FileKey, LiveFile]) -> int | None:
        """Return the version whose rows readers may see after a version, None without one."""
        blocks = self.blocks_of(live)
        if not blocks:
            return version
        before = next(iter(blocks.values())) - 1
        if before >= self.settled:
            return before
        return self.read.version if self.read is not None else None

    def state_shown(
        self, version: int, live: Mapping[FileKey, LiveFile]
    ) -> Mapping[FileKey, LiveFile | None]:
        """Return the files of the state that a version shows, as far as they may differ."""
        then: Mapping[FileKey, LiveFile | None] = {}
        if self.read is not None and self.shown(version, live) == self.read.version:
            then = self.read.files
        for key in then:
            self.files.setdefault(key, live.get(key))
        return {key: then[key] if key in then else live.get(key) for key in self.files}

    def hides(self, keys: Iterable[FileKey]) -> bool:
        """Return whether readers do not see some files, or rows in the log, that are there."""
        files = self.files
        return any(is_block(key[0]) or files.get(key, key) is None for key in keys)

    def hold(
        self, changed: Mapping[FileKey, LiveFile | None], removes: Mapping[FileKey, Action]
    ) -> None:
        """Keep files as they are shown that a version changed.

        A file that was removed has from then on the `dataChange` of its remove.
        """
        for key, before in changed.items():
            if is_block(key[0]):
                continue
            shown = self.files.setdefault(key, before)
            if shown is not None and key in removes:
                more = {"dataChange": removes[key]["remove"]["dataChange"]}
                self.files[key] = LiveFile(shown.version, {**shown.fields, **more})
            self.touched[key] = None

    def pop_progress(self, shown: int | None) -> list[Action]:
        """Return the actions of applications and domains up to a version, each once."""
        if shown is None:
            return []
        waiting = [(number, action) for number, action in self.progress if number > shown]
        found = self.progress[: len(self.progress) - len(waiting)]
        self.progress = waiting
        return [action for _, action in each_once(found)]

    def changes(
        self, state: Mapping[FileKey, LiveFile | None], at: int, places: FilePlaces
    ) -> Iterable[Action]:
        """Yield the actions after which readers see the files of a state, at a time."""
        for key in sorted(self.files):
            before = self.files[key]
            if before is not None and state[key] is None:
                is_change = before.fields["dataChange"]
                gone = RemoveFile(key[0], data_change=is_change)
                yield {"remove": places.placed(removed_fields(gone, before, at, (), places))}
        for key in sorted(self.files):
            before, after = self.files[key], state[key]
            if after is not None and (before is None or is_other(before, after)):
                yield {"add": places.placed(after.fields)}

    def files_shown(self, live: Mapping[FileKey, LiveFile]) -> list[tuple[FileKey, LiveFile]]:
        """Return the files that readers see."""
        found = {key: file for key, file in live.items() if not is_block(key[0])}
        for key, before in self.files.items():
            found.pop(key, None)
            if before is not None:
                found[key] = before
        return list(found.items())

    def go_on(
        self, state: Mapping[FileKey, LiveFile | None], live: Mapping[FileKey, LiveFile]
    ) -> None:
        """Let only files wait that are other ones in the state that is shown."""
        self.touched.update(dict.fromkeys(self.files))
        self.files = {key: file for key, file in state.items() if file != live.get(key)}
        self.is_altered = False


def each_once(progress: list[tuple[int, Action]]) -> list[tuple[int, Action]]:
    """Return the last action of each application and domain, if several versions have some."""
    if len({number for number, _ in progress}) < 2:  # noqa: PLR2004 - several
        return progress
    last = {subject_of(action): (number, action) for number, action in progress}
    return sorted(last.values(), key=lambda waiting: waiting[0])


def is_plain(files: FileList, *, is_again: bool) -> bool:
    """Return whether a commit only put rows into the log, or rows of files into other files."""
    if files.marks:
        return False
    if not files.removes and not is_again:
        return all(is_block(file.path) for file in files.adds)
    changes = any(file.data_change or is_block(file.path) for file in files.adds)
    return not changes and not any(file.data_change for file in files.removes)


def is_other(one: LiveFile, other: LiveFile) -> bool:
    """Return whether readers see two states of a file differently."""
    return {**one.fields, "dataChange": True} != {**other.fields, "dataChange": True}


def subject_of(action: Action) -> tuple[str, str]:
    """Return what an action of an application or a domain is about."""
    ((kind, fields),) = action.items()
    return kind, fields["appId"] if kind == "txn" else fields["domain"]
