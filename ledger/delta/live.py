"""Live files of an imported table, by the key of their path.

A removal of a Delta log may spell the path of its file otherwise than the add did. What is imported
names a file as it was added, so that no file stays live that its log removed.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ledger.core.partitions.file_paths import file_key
from ledger.delta.actions import DeltaAdd, DeltaCommit, DeltaRemove, FileKey
from ledger.log.wire.file_extras import short_id
from ledger.reads.port import FileRow


class Unmatched(NamedTuple):
    """A removal of a version that found no live file."""

    delta_version: int
    path: str


class LiveFiles:
    """The live files after the newest imported version; `folder` is the table's folder."""

    def __init__(self, folder: str, files: Iterable[FileRow] = ()) -> None:
        self._folder = folder
        self._files = {self._key(*each): each for each in ((f.path, f.vector) for f in files)}

    def resolved(self, commit: DeltaCommit) -> tuple[DeltaCommit, list[Unmatched]]:
        """Return a version with paths and vectors of live files as they were added.

        A removal that finds no live file stays as it is, and is returned beside the version.
        """
        removes: dict[FileKey, DeltaRemove] = {}
        unmatched: list[Unmatched] = []
        gone: set[str] = set()
        for (path, vector), remove in commit.removes.items():
            key = self._key(path, vector)
            if key not in self._files:
                unmatched.append(Unmatched(commit.version, path))
            gone.add(key)
            known = self._files.get(key, (path, vector))
            removes[known] = remove._replace(path=known[0], vector=known[1])
        adds: dict[FileKey, DeltaAdd] = {}
        added: dict[str, str] = {}
        for (path, vector), add in commit.adds.items():
            key = self._key(path, vector)
            live, _ = (path, "") if key in gone else self._files.get(key, (path, ""))
            spelled = added.setdefault(key, live)
            adds[spelled, vector] = add._replace(path=spelled)
        return replace(commit, adds=adds, removes=removes), unmatched

    def take(self, commit: DeltaCommit) -> None:
        """Note what a version added and removed, as `resolved` returned it."""
        for path, vector in commit.removes:
            self._files.pop(self._key(path, vector), None)
        self._files.update((self._key(*add), add) for add in commit.adds)

    def differs_from(self, state: DeltaCommit) -> str:
        """Return a file that is live here and not in a state, or only there; "" for none."""
        others = {self._key(path, vector) for path, vector in state.adds}
        return min(self._files.keys() ^ others, default="").partition("\0")[0]

    def is_spelled(self, path: str) -> bool:
        """Tell whether a path is another spelling than the usual one."""
        return file_key(path, self._folder) != path

    def _key(self, path: str, vector: str) -> str:
        key = file_key(path, self._folder)
        return f"{key}\0{short_id(vector)}" if vector else key
