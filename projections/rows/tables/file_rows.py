"""File rows: what the store keeps of a live or removed file, and of a path, and their keys."""

from collections.abc import Mapping
from copy import copy
from typing import Final

from ledger.core.conflicts.footprints import path_hash
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile, RemoveFile
from projections.rows.keys import LIVE_FILE, PATH, Fields, number_key, pair_key, reader_of, value
from projections.rows.packing import text_part

BEHIND: Final = b"\n"
"""What stands between the fields of a file and its rows; JSON escapes it."""


class FileFields(Fields):
    """A file: the number of its partition, what its writer reports, and the version that added it.

    The values of its partition are in the row of the partition. `rows` are its rows, if the log has
    them: these bytes stand as they are behind the other fields.
    """

    added: int
    partition: int = 0
    size: int = 0
    modified: int = 0
    stats: str = ""
    version: int = 0
    deletion_vector: DeletionVector | None = None
    tags: Mapping[str, str | None] | tuple[()] = ()
    base_row_id: int | None = None
    row_version: int | None = None
    rows: bytes = b""

    def value(self) -> bytes:
        """Return the bytes of the value; its fields stand in the order of their names."""
        if not self.rows:
            return super().value()
        fields = copy(self)
        fields.rows = b""
        return fields.value() + BEHIND + self.rows


class PathFields(Fields):
    """A path: the position of its last removal, and the partition of each live file by vector.

    Most paths have one live file without a vector and were never removed. Their row is the number
    of its partition alone.
    """

    removed: int = 0
    live: dict[str, int] | None = None

    def take(self, vector: str) -> int | None:
        """Take out a live file and return its partition, None if it is not live."""
        partition = None if self.live is None else self.live.pop(vector, None)
        self.live = self.live or None
        return partition

    def put(self, vector: str, partition: int) -> None:
        """Put in a live file."""
        self.live = {**(self.live or {}), vector: partition}

    def row(self) -> bytes:
        """Return the row of the path."""
        partition = 0 if self.live is None else self.live.get("", 0)
        is_alone = partition and not self.removed and self.live == {"": partition}
        return value(partition) if is_alone else self.value()


_read_fields: Final = reader_of(FileFields)
_read_path: Final = reader_of(PathFields)


def read_file(data: bytes) -> FileFields:
    """Return what the row of a file says."""
    fields, behind, rows = data.partition(BEHIND)
    read = _read_fields(fields)
    if behind:
        read.rows = rows
    return read


def read_path(data: bytes) -> PathFields:
    """Return what the row of a path says."""
    return PathFields(live={"": int(data)}) if data.isdigit() else _read_path(data)


def file_name(file: AddFile | RemoveFile) -> bytes:
    """Return the part of a key that names a file; files of a table sort by path, then vector."""
    return name_of(file.path, file.vector)


def name_of(path: str, vector: str) -> bytes:
    """Return the part of a key that names the file of a path under a vector."""
    return text_part(path) + vector.encode()


def live_key(table: int, partition: int, name: bytes) -> bytes:
    """Return the key of a live file."""
    return pair_key(LIVE_FILE, table, partition) + name


def path_key(table: int, path: str) -> bytes:
    """Return the key under which a path is found by its hash."""
    return number_key(PATH, table) + path_hash(path) + path.encode()
