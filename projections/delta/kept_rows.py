"""The rows of a publisher: one for each table, log, live file and version that waits.

All of them can be made from the log. So rows that are of another log, of another format or damaged
cost a restart time, and nothing else. The order of fields within a file is part of published
bytes, so no row sorts them.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ledger.backup.images.manifest import PUBLICATION
from ledger.backup.images.starting import StartImages
from ledger.log.port import Log, Topic
from projections.delta.actions.file_actions import FileKey, LiveFile
from projections.errors import StoreDamagedError, StoreVersionError
from projections.fold.fold import FoldMark
from projections.images.beginning import NO_HOLD, Hold, begun_rows, filled_memory
from projections.rows.keys import LOG, read_value
from projections.store.memory import MemoryStore
from projections.store.port import Row, RowReader, prefix_end
from projections.store.rocks_store import RocksStore

FORMAT: Final = 5
"""Increased whenever a form of the rows, or what is published of the same events, changes."""

TABLE: Final = b"t"
"""The state of a table."""
LOG_OF_TABLE: Final = b"l"
"""The log of a table that is or was published."""
FILE: Final = b"f"
"""A live file of a table."""
SHOWN_FILE: Final = b"h"
"""A file as readers see it, null if they do not, that is another one in the table."""
PAST: Final = b"p"
"""What a version of a table changed, while rows of the table are in the log."""
CURSOR: Final = b"w"
"""How far the log of a table is written."""
CHECKPOINTS: Final = b"c"
"""The checkpoints in the log of a table, with their times."""
WAITING: Final = b"o"
"""A version that is not written yet."""

_NUMBER: Final = struct.Struct(">Q")
_TABLE_END: Final = 1 + _NUMBER.size


def row_key(kind: bytes, *numbers: int) -> bytes:
    """Return the key of the row of a table, or of one of its versions that wait."""
    return kind + b"".join(map(_NUMBER.pack, numbers))


def table_in(key: bytes) -> int:
    """Return the table that a key names."""
    return int.from_bytes(key[1:_TABLE_END], "big")


def number_in(key: bytes) -> int:
    """Return the number of a version that waits."""
    return int.from_bytes(key[_TABLE_END:], "big")


def file_row_key(table: int, file: FileKey, kind: bytes = FILE) -> bytes:
    """Return the key of a live file; no path has the character between path and vector."""
    return row_key(kind, table) + "\0".join(file).encode()


def live_file(key: bytes, row: bytes) -> tuple[FileKey, LiveFile]:
    """Return path, vector and the rest of a live file, which its row holds in two places."""
    file, live = shown_file(key, row)
    assert live is not None, "a live file has fields"
    return file, live


def shown_file(key: bytes, row: bytes) -> tuple[FileKey, LiveFile | None]:
    """Return path, vector and the rest of a file as readers see it, None if they do not."""
    path, _, vector = key[_TABLE_END:].decode().partition("\0")
    fields = read_value(row)
    return (path, vector), None if fields is None else LiveFile(*fields)


def rows_below(rows: RowReader, kind: bytes, *numbers: int) -> Iterator[Row]:
    """Return the rows of a kind, or those of one table."""
    prefix = row_key(kind, *numbers)
    return rows.scan(prefix, prefix_end(prefix))


def open_rows(root: Path, log: Log, images: StartImages, hold: Hold = NO_HOLD) -> RocksStore:
    """Return the rows in a folder, or as `rows_anew` if they are of no use for the events of a log.

    `hold` is called before they are made anew. Raises StoreError if the folder cannot be used.
    """
    try:
        store = RocksStore.open(root, version=FORMAT)
    except (StoreVersionError, StoreDamagedError):
        return rows_anew(root, log, images, hold)
    mark = store.get(LOG)
    if mark is not None and FoldMark(*read_value(mark)).topic == log.topic_id(Topic.EVENTS):
        return store
    store.close()
    return rows_anew(root, log, images, hold)


def rows_anew(root: Path, log: Log, images: StartImages, hold: Hold = NO_HOLD) -> RocksStore:
    """Return a store in the place of the one in a folder, with the rows of an image or none.

    Raises as `open_rows` and `begun_rows`.
    """
    begun = begun_rows(log, root, images, section=PUBLICATION, version=FORMAT, hold=hold)
    store = begun or RocksStore.rebuild(root, version=FORMAT)
    store.publish()
    return store


def rows_in_memory(log: Log, images: StartImages) -> MemoryStore:
    """Return a store in memory with the rows of an image or none; raises as `StartImages.begin`."""
    begun = images.begin(
        log, lambda found: filled_memory(found, PUBLICATION, FORMAT), PUBLICATION, FORMAT
    )
    return begun or MemoryStore()
