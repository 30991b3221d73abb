"""Paths that a client names: below the location of the table, and nowhere else.

The server opens manifests that a client names, and the ledger takes the data files in them. A path
elsewhere would let a client read any file of the server, or take the files of another table.
Iceberg's paths are plain text, in which `%` is no escape, also behind `file:`. Writers spell one
path as `file:/x`, `file:///x` and `/x`. The ledger gets it relative to the location.
"""

import re
from functools import cached_property
from typing import Final
from urllib.parse import unquote

from ledger.core.partitions.file_paths import FILE, LOCAL, is_absolute, parts_of
from ledger.definitions.locations import FAMILIES, as_stored
from ledger.files.places import Place
from projections.iceberg.commits.given_json import shown
from projections.iceberg.errors import bad_request
from projections.iceberg.served.paths import place_key

CONTROL: Final = re.compile(r"[\0-\x1f]")
PATH_CHARS_MAX: Final = 2_000
ODD: Final = ("", ".", "..")
"""Segments by which one file gets several names, or a path leaves its folder."""


class TablePaths:
    """The paths of one table, by its location."""

    def __init__(self, location: str) -> None:
        self.location = as_stored(location)
        self._home = home_of(self.location)
        self._start = f"{place_key(self.location)}/"

    @cached_property
    def _place(self) -> Place:
        return Place(self.location)

    def inner(self, path: str, what: str) -> str:
        """Return a path relative to the location, as plain text.

        Raises IcebergRefusal for a path that does not lie below the location, and for one that
        would name its file in a second way.
        """
        if len(path) > PATH_CHARS_MAX or CONTROL.search(path):
            raise bad_request(
                f"the path of {what} must have {PATH_CHARS_MAX} characters at most and no control "
                f"characters, got {shown(path)}"
            )
        family, authority, folder = self._home
        found = home_of(path)
        start = f"{folder}/"
        if found[:2] != (family, authority) or not found[2].startswith(start):
            raise bad_request(
                f"the path of {what} must lie below the location of its table, {self.location}, "
                f"got {shown(path)}"
            )
        inner = found[2][len(start) :]
        # Some readers undo escapes, so an escaped segment must not lead elsewhere either.
        if any(segment in ODD for each in (inner, unquote(inner)) for segment in each.split("/")):
            raise bad_request(
                f"the path of {what} must have no empty segments, `.` or `..`, got {shown(path)}"
            )
        return inner

    def opened(self, path: str, what: str) -> str:
        """Return the relative path of a file that the server itself opens.

        Raises IcebergRefusal as `inner`, and for a path that leads through a link of the disk.
        """
        inner = self.inner(path, what)
        if not self._place.is_plain(inner):
            raise bad_request(
                f"the path of {what} must lead through no link of the disk, got {shown(path)}"
            )
        return inner

    def key(self, path: str) -> str:
        """Return the key of a path, equal for one file: relative to the location, if it is there.

        Nothing is refused: the path may be of a file that the table has already.
        """
        return self.relative(place_key(path))

    def relative(self, place: str) -> str:
        """Return the key of a place, which is a path in the form of `place_key`."""
        return place.removeprefix(self._start) if place.startswith(self._start) else place

    def place(self, key: str) -> str:
        """Return the place of a key, in the form of `place_key`."""
        return key if is_absolute(key) else f"{self._start}{key}"


def home_of(path: str) -> tuple[str, str, str]:
    """Return the family of a scheme, the host and the path of a text; a plain path is of `file`."""
    scheme, authority, rest = parts_of(path)
    family = FAMILIES.get(scheme, scheme)
    if family in ("", FILE):
        return FILE, "" if authority in LOCAL else authority, rest
    return family, authority, rest
