"""Places: which file below a location a path of the log means, however it is spelled.

A path is relative to the location of its table or absolute, plain text or a URI, and may lead
through links of the disk. One path may be read in two ways; then both files are meant. What cannot
be decided counts as the same file, so a cleaner keeps it.
"""

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from ledger.core.partitions.file_paths import FILE, LOCAL, is_plain, normal, parts_of, spellings
from ledger.tables.storage import is_absolute

LINKS_KEPT: Final = 65_536
MARK: Final = "_"
"""A file in a folder, by which the folder is found."""


class Place:
    """The folder of a location, and the names of files below it."""

    def __init__(self, location: str) -> None:
        scheme, authority, path = parts_of(location)
        self._location = location
        self._is_local = scheme in ("", FILE) and authority in LOCAL
        self._authority = "" if self._is_local else authority
        self._folder = normal(path)
        self._real = os.path.realpath(self._folder) if self._is_local else self._folder

    def names(self, location: str, path: str) -> Iterator[str]:
        """Yield the names that a path in the log of the table at `location` may have here."""
        if location == self._location and is_plain(path) and "%" not in path:
            yield path
            return
        for spelled in spellings("" if is_absolute(path) else location, path):
            yield from self._names_of(spelled)

    def folders(self, location: str) -> set[str]:
        """Return the names of another location here, "" for the same; it may lie elsewhere."""
        places = spellings("", location.rstrip("/"))
        found = {name for each in places for name in self._names_of(f"{each}/{MARK}")}
        return {name.removesuffix(MARK).rstrip("/") for name in found}

    def _names_of(self, place: str) -> Iterator[str]:
        scheme, authority, path = parts_of(place)
        is_local = scheme in ("", FILE) and authority in LOCAL
        if is_local != self._is_local or ("" if is_local else authority) != self._authority:
            return
        found = normal(path)
        yield from below(self._folder, found)
        if is_local:
            yield from below(self._real, resolved(found))

    def is_plain(self, name: str) -> bool:
        """Return whether a name leads to its file without any link of the disk."""
        if not self._is_local:
            return True
        real = f"{self._real.rstrip('/')}/{name}"
        return os.path.realpath(real) == real


def below(folder: str, place: str) -> Iterator[str]:
    """Yield the name of a place below a folder, nothing for a place elsewhere."""
    start = folder.rstrip("/") + "/"
    if place.startswith(start):
        yield place[len(start) :]


def resolved(place: str) -> str:
    """Return an absolute path of the disk with the links of its folder resolved."""
    folder, _, name = place.rpartition("/")
    return f"{real_folder(folder or '/').rstrip('/')}/{name}"


@lru_cache(LINKS_KEPT)
def real_folder(folder: str) -> str:
    """Return a folder of the disk without links."""
    return os.path.realpath(folder)
