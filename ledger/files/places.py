"""Places: which file a path of the log means, however it is spelled, and how folders lie.

A path is relative to the location of its table or absolute, plain text or a URI. It may lead
through links of the disk, or through another mount of the same folder. One path may be read in two
ways; then both files are meant. What cannot be decided counts as the same file, so a cleaner keeps
it.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from ledger.core.partitions.file_paths import (
    FILE,
    LOCAL,
    is_absolute,
    is_plain,
    normal,
    parts_of,
    spellings,
)
from ledger.definitions.locations import as_stored

MARK: Final = "_"
"""A file in a folder, by which the folder is found."""

FolderKey = tuple[str, str] | tuple[int, int]
"""A folder by its host and path, or on a disk by its device and inode."""


class FileKeys:
    """Keys of files: two paths that mean one file share a key."""

    def __init__(self) -> None:
        # What a folder is, as long as the work takes: links and mounts change.
        self._folders: dict[str, Sequence[FolderKey]] = {}

    def of(self, location: str, path: str) -> Iterator[int]:
        """Yield the keys of a path in the log of a table at a location.

        Earlier releases decoded nothing in a location: what they wrote is kept too.
        """
        for folder in [""] if is_absolute(path) else dict.fromkeys((as_stored(location), location)):
            for spelled in spellings(folder, path):
                yield from self.at(spelled)

    def at(self, place: str) -> Iterator[int]:
        """Yield the keys of an absolute place that is plain text."""
        folder, _, name = place.rpartition("/")
        if name in ("", ".", ".."):
            folder, _, name = normal(place).rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = list(keys_of_folder(folder))
        for each in self._folders[folder]:
            yield hash((each, name))


class Place:
    """The folder of a location, and the names of files and folders below it."""

    def __init__(self, location: str) -> None:
        scheme, authority, path = parts_of(as_stored(location))
        self._is_local = is_local(scheme, authority)
        self._authority = "" if self._is_local else authority
        self._folder = normal(path)
        self._real = os.path.realpath(self._folder) if self._is_local else self._folder
        self.inode = inode(self._real) if self._is_local else None
        self._inner: dict[str, frozenset[tuple[int, int]]] = {"": frozenset()}

    def folders(self, location: str) -> set[str]:
        """Return the names of another location here, "" for the same; it may lie elsewhere."""
        found = self._names_of(f"{as_stored(location)}/{MARK}")
        return {name.removesuffix(MARK).rstrip("/") for name in found}

    def _names_of(self, place: str) -> Iterator[str]:
        scheme, authority, path = parts_of(place)
        here = is_local(scheme, authority)
        if here != self._is_local or ("" if here else authority) != self._authority:
            return
        found = normal(path)
        yield from below(self._folder, found)
        if here:
            folder, _, name = found.rpartition("/")
            real = f"{os.path.realpath(folder or '/').rstrip('/')}/{name}"
            yield from below(self._real, real)
            yield from self._below_a_mount(real)

    def _below_a_mount(self, real: str) -> Iterator[str]:
        """Yield the name of a file whose path leads through another mount of this folder."""
        above = real.rpartition("/")[0]
        while self.inode is not None and above:
            if inode(above) == self.inode:
                yield real[len(above) + 1 :]
            above = above.rpartition("/")[0]

    def is_plain(self, name: str) -> bool:
        """Return whether a name leads to its file without any link of the disk."""
        if not self._is_local:
            return True
        real = f"{self._real.rstrip('/')}/{name}"
        return os.path.realpath(real) == real

    def inner(self, name: str) -> frozenset[tuple[int, int]]:
        """Return the inodes of the folders between the location and a file."""
        folder = name.rpartition("/")[0]
        if not self._is_local:
            return frozenset()
        if folder not in self._inner:
            own = inode(f"{self._real.rstrip('/')}/{folder}")
            self._inner[folder] = self.inner(folder) | ({own} if own else frozenset())
        return self._inner[folder]


def keys_of_folder(folder: str) -> Iterator[FolderKey]:
    """Yield the keys of an absolute folder."""
    scheme, authority, path = parts_of(folder)
    plain = path if is_plain(path.lstrip("/")) else normal(path)
    if not is_local(scheme, authority):
        yield authority, plain.strip("/")
        return
    real = os.path.realpath(plain or "/")
    yield from {("", normal(plain or "/")), ("", real)}
    if (found := inode(real)) is not None:
        yield found


def is_local(scheme: str, authority: str) -> bool:
    """Return whether a URI is of a disk of this host."""
    return scheme in ("", FILE) and authority in LOCAL


def inode(folder: str) -> tuple[int, int] | None:
    """Return the device and the inode of a folder, None if it is absent."""
    try:
        found = os.stat(folder)  # noqa: PTH116 - Path costs more than the call
    except OSError:
        return None
    return found.st_dev, found.st_ino


def below(folder: str, place: str) -> Iterator[str]:
    """Yield the name of a place below a folder, nothing for a place elsewhere."""
    start = folder.rstrip("/") + "/"
    if place.startswith(start):
        yield place[len(start) :]
