"""Files that a client has written and names: read within bounds, and only below the location.

What the server reads for a commit of one table is bounded in bytes and entries. A file that
is absent, too large or of another form is the client's fault, and the commit is refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ledger.core.rows.bitmaps import RowSet
from ledger.errors import UnreadableTableError
from ledger.files.storage import Storage, storage_at
from ledger.iceberg.limits import DELETES_LIMITS, LIST_LIMITS, MANIFEST_LIMITS, IcebergFormatError
from ledger.iceberg.manifests import (
    ManifestEntry,
    ManifestFile,
    inherited,
    read_manifest,
    read_manifest_list,
)
from ledger.iceberg.manifests.rows import ReadManifest
from ledger.iceberg.position_deletes import read_position_deletes
from ledger.iceberg.puffin import read_vector
from projections.iceberg.commits.files.client_paths import TablePaths
from projections.iceberg.commits.given_json import shown
from projections.iceberg.errors import bad_request

BYTES_MAX: Final = 512 << 20
"""What all files of one commit may have together."""

ENTRIES_MAX: Final = 500_000
"""The most entries that all manifests of one commit have together."""


class ClientFiles:
    """The files of one commit in one table, below its location; it counts what it has read."""

    def __init__(self, paths: TablePaths) -> None:
        self.paths = paths
        self.storage: Storage = storage_at(paths.location)
        self._bytes, self._entries = BYTES_MAX, ENTRIES_MAX

    def manifest_list(self, path: str) -> list[ManifestFile]:
        """Return the manifests in a list; raises IcebergRefusal."""
        what = f"manifest list {shown(path)}"
        data = self._data(path, what, LIST_LIMITS.bytes)
        with refused(what):
            return read_manifest_list(data, LIST_LIMITS)

    def manifest(self, named: ManifestFile) -> tuple[ReadManifest, list[ManifestEntry]]:
        """Return a manifest, and its entries with what they have of its line in the list.

        Raises IcebergRefusal.
        """
        what = f"manifest {shown(named.path)}"
        if named.key_metadata is not None:
            raise bad_request(f"the {what} must not be encrypted")
        data = self._data(named.path, what, MANIFEST_LIMITS.bytes)
        limits = MANIFEST_LIMITS._replace(entries=min(MANIFEST_LIMITS.entries, self._entries))
        with refused(what):
            found = read_manifest(data, limits)
            self._entries -= len(found.entries)
            if found.content != named.content:
                raise IcebergFormatError(
                    f"it has {found.content}, and its list names {named.content}"
                )
            return found, inherited(found.entries, named)

    def position_deletes(self, path: str) -> dict[str, RowSet]:
        """Return the deleted rows in a file of them, by the path of their data file.

        Raises IcebergRefusal.
        """
        what = f"delete file {shown(path)}"
        data = self._data(path, what, DELETES_LIMITS.bytes)
        with refused(what):
            return dict(read_position_deletes(data, DELETES_LIMITS))

    def vector(self, path: str, offset: int, size: int) -> RowSet:
        """Return the deleted rows in a vector within a file; raises IcebergRefusal."""
        what = f"deletion vector in {shown(path)}"
        inner = self.paths.opened(path, what)
        if self.storage.found(inner) is None:
            raise bad_request(f"the {what} is not there, or no file")
        self._take(what, size, DELETES_LIMITS.bytes)
        with found_in(what), self.storage.open(inner) as stream:
            if offset + size > stream.size():
                raise bad_request(f"the {what} must lie within its file, got byte {offset}")
            stream.seek(offset)
            data = stream.read(size)
        with refused(what):
            return read_vector(bytes(data))

    def _data(self, path: str, what: str, most: int) -> bytes:
        """Return all bytes of a file."""
        inner = self.paths.opened(path, what)
        if self.storage.found(inner) is None:
            raise bad_request(f"the {what} is not there, or no file")
        with found_in(what), self.storage.open(inner) as stream:
            self._take(what, stream.size(), most)
            return bytes(stream.read())

    def _take(self, what: str, size: int, most: int) -> None:
        """Count bytes before they are read; raises IcebergRefusal for too many."""
        room = min(most, self._bytes)
        if size > room:
            raise bad_request(f"the {what} must have {room} bytes at most, got {size}")
        self._bytes -= size


@contextmanager
def refused(what: str) -> Iterator[None]:
    """Turn the error for odd bytes into a refusal that names their file."""
    try:
        yield
    except ValueError as error:
        raise bad_request(f"the {what} cannot be read: {error}") from error


@contextmanager
def found_in(what: str) -> Iterator[None]:
    """Turn the error for an absent file into a refusal that names it."""
    try:
        yield
    except UnreadableTableError as error:
        raise bad_request(f"the {what} is not there: {error}") from error
