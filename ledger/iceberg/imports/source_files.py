"""The files of an Iceberg table that is imported: read within bounds, and from permitted places.

Metadata names each file by an absolute path, and anybody may have written it. So a path counts only
below a permitted place, in every way in which it may be read: as plain text, with its escapes
decoded, and through the links of a disk.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from ledger.core.partitions.file_paths import FILE, LOCAL, is_absolute, normal, parts_of, spellings
from ledger.definitions.locations import FAMILIES, place_of
from ledger.errors import IcebergTableError, StorageError, UnreadableTableError
from ledger.files.storage import Storage, storage_at

ODD: Final = frozenset({"", ".", ".."})
"""Segments by which one file gets several paths."""

PlaceKey = tuple[str, str, str]
"""The family of the scheme, the host and the path of a place."""


class SourceFiles:
    """The files of one table; `places` are the folders below which its files may lie."""

    def __init__(self, location: str, places: Sequence[str] = ()) -> None:
        self.location = location
        self._storage = storage_at(location)
        self._start = f"{location.rstrip('/')}/"
        self._places = [each for place in (location, *places) for each in permitted(place)]

    @property
    def storage(self) -> Storage:
        """The storage of the table's location."""
        return self._storage

    def path_in_log(self, path: str) -> str:
        """Return the path of a file as the log has it: relative to the location if it can be.

        A path that spells the location otherwise stays as it is, so no path is served otherwise.
        """
        rest = path.removeprefix(self._start)
        is_odd = rest == path or rest.startswith("/") or not ODD.isdisjoint(rest.split("/"))
        return path if is_odd else rest

    def path_in_metadata(self, path: str) -> str:
        """Return the path of a file as metadata has it, from the one in the log."""
        return path if is_absolute(path) else f"{self._start}{path}"

    def check_place(self, path: str) -> None:
        """Raise IcebergTableError for a path that is not below a permitted place."""
        if not is_absolute(path):
            raise IcebergTableError(path, "the path of a file must be absolute")
        for each in spellings("", path) or [""]:
            if not any(is_below(key, place) for key in keys_of(each) for place in self._places):
                raise IcebergTableError(
                    path,
                    f"it lies outside the location of the table, {self.location}. Permit its "
                    "folder (--allow) if it is a file of this table",
                )
            if not any(is_below(real_key(each), place) for place in self._places):
                raise IcebergTableError(path, "it leads outside the permitted places by a link")

    def read(self, path: str, limit: int) -> bytes:
        """Return the bytes of a file; raises IcebergTableError for one that is not to be read.

        It must lie below a permitted place, be there, and have `limit` bytes at most.
        """
        self.check_place(path)
        try:
            size = self._storage.size(path)
            if size > limit:
                raise IcebergTableError(path, f"it must have {limit} bytes at most, got {size}")
            with self._storage.open(path) as stream:
                data = stream.read(limit + 1)
        except (OSError, StorageError, UnreadableTableError) as error:
            raise IcebergTableError(path, f"it cannot be read: {error}") from error
        if len(data) > limit:
            raise IcebergTableError(path, f"it must have {limit} bytes at most, got more")
        return bytes(data)

    def exists(self, path: str) -> bool:
        """Return whether a file is there; raises IcebergTableError for one of another place."""
        self.check_place(path)
        try:
            return self._storage.exists(path)
        except (OSError, StorageError) as error:
            raise IcebergTableError(path, f"it cannot be read: {error}") from error


def is_in(path: str, place: str) -> bool:
    """Return whether an absolute path lies below a place, in every way in which it is read."""
    if not is_absolute(path):
        return False
    within, spelled_ways = list(permitted(place)), spellings("", path)
    return bool(spelled_ways) and all(
        any(is_below(key, each) for each in within)
        for spelled in spelled_ways
        for key in (*keys_of(spelled), real_key(spelled))
    )


def permitted(place: str) -> Iterator[PlaceKey]:
    """Yield the keys of a permitted place: as it is written, and where its links lead."""
    family, authority, path = place_of(place)
    key = ("" if family == FILE else family, "" if authority in LOCAL else authority, normal(path))
    yield key
    if not key[0]:
        yield ("", "", os.path.realpath(key[2]))


def keys_of(path: str) -> Iterator[PlaceKey]:
    """Yield the key of an absolute path as it is written."""
    scheme, authority, rest = parts_of(path)
    family = FAMILIES.get(scheme, scheme)
    yield ("" if family == FILE else family, "" if authority in LOCAL else authority, normal(rest))


def real_key(path: str) -> PlaceKey:
    """Return the key of an absolute path after the links of a disk."""
    key = next(keys_of(path))
    return key if key[0] else (*key[:2], os.path.realpath(key[2]))


def is_below(key: PlaceKey, place: PlaceKey) -> bool:
    """Return whether a path lies in a folder or below it."""
    folder = place[2].rstrip("/") + "/"
    return key[:2] == place[:2] and key[2].startswith(folder)
