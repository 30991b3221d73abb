"""Paths: how Iceberg's readers find the files of a table, and which texts mean one file.

A reader takes a path as it stands: nothing is decoded. A path on a disk begins with `file://`.
"""

from typing import Final

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.core.partitions.file_paths import FILE, LOCAL, is_absolute, normal, parts_of
from ledger.definitions.locations import FAMILIES, as_stored
from ledger.files.storage import Storage, places_of

LOCATION: Final = "iceberg.location"
"""The property with the text of a location that a client gave."""

FOLDER: Final = "metadata"
"""The folder of a table in which its metadata lies."""


def location_of(definition: TableDefinition) -> str:
    """Return the location of a table as readers get it, with a scheme before a plain path.

    A text that a client gave for the same folder is returned byte for byte.
    """
    given = properties(definition).get(LOCATION, "")
    if given and as_stored(given) == as_stored(definition.location):
        return given
    return location_text(definition.location)


def location_text(location: str) -> str:
    """Return a plain path as a URI in which nothing is escaped; another text stays as it is."""
    found = location.rstrip("/")
    return f"{FILE}://{found}" if found.startswith("/") else found


def folder_text(location: str) -> str:
    """Return the folder of a table's metadata as readers get it."""
    return f"{location.rstrip('/')}/{FOLDER}"


def file_text(location: str, path: str, storage: Storage) -> str:
    """Return the path of a data file as readers get it; `path` is as in the log.

    `location` is as readers get it. An absolute path stays as it came. Raises UnreadableTableError
    if the path may mean two files.
    """
    if is_absolute(path):
        return location_text(path)
    places = places_of(storage.location, path)
    place = storage.place(path) if len(places) > 1 else places[0]
    return f"{location.rstrip('/')}{place.removeprefix(storage.location)}"


def place_key(text: str) -> str:
    """Return what equal files have alike, from a path as readers get it or send it back."""
    scheme, authority, path = parts_of(text)
    if scheme in ("", FILE) and authority in LOCAL:
        return normal(path)
    return f"{FAMILIES.get(scheme, scheme)}://{authority}{normal(path)}"
