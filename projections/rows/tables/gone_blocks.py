"""Gone blocks: rows of the log that no live file holds any more, until the log is trimmed.

Rows that a commit took out of the log are read at earlier positions, as removed files are. No
vacuum finds them, so a trim of the log ends that: once its events are gone, the bytes of the blocks
that were removed below it go too, from the removed files and from the lists of the commits that
added them. What else is said of these blocks stays. A trim that was only decided takes nothing.

The commits that removed blocks stand in a queue by their positions. So a trim costs as much as it
takes.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ledger.core.events.events import RecordsTrimmed
from ledger.log.wire.file_extras import TRIMMED, is_block
from ledger.log.wire.file_list import FileList, pack, unpack
from projections.rows.applied import Applied
from projections.rows.keys import (
    GONE_BLOCKS,
    LISTED,
    REMOVED_FILE,
    Fields,
    number_key,
    pair_key,
    reader_of,
    triple_key,
)
from projections.rows.projection import Rows
from projections.rows.tables.file_rows import file_name, read_file
from projections.store.batch import Batch, LateChange, StoredRows

QUEUE: Final = number_key(GONE_BLOCKS, 0)
TableVersion = tuple[int, int]
"""A version of a table, as (table, version)."""


class QueueFields(Fields):
    """The positions of the first and the last commit in the queue."""

    first: int
    last: int


class GoneFields(Fields):
    """The versions with which a commit removed blocks, and the position of the next such commit."""

    versions: tuple[TableVersion, ...]
    behind: int = 0


read_queue: Final = reader_of(QueueFields)
read_gone: Final = reader_of(GoneFields)


def gone_rows(applied: Applied, versions: Sequence[TableVersion]) -> Iterator[LateChange]:
    """Yield the rows that put a commit into the queue, given its versions that removed blocks."""
    if not versions:
        return
    position, queue = applied.control.position, queue_in(applied.stored)
    yield number_key(GONE_BLOCKS, position), GoneFields(tuple(versions)).value()
    if queue is None:
        yield QUEUE, QueueFields(position, position).value()
        return
    last = gone_in(applied.stored, queue.last)
    last.behind = position
    yield number_key(GONE_BLOCKS, queue.last), last.value()
    yield QUEUE, QueueFields(queue.first, position).value()


def trimmed(applied: Applied, body: RecordsTrimmed) -> Iterator[LateChange]:
    """Take the bytes of all blocks that were removed below the trim."""
    queue = queue_in(applied.stored)
    if queue is None or queue.first >= body.below:
        return
    batch, place = Batch(applied.stored), queue.first
    while 0 < place < body.below:
        gone = gone_in(applied.stored, place)
        for table, version in gone.versions:
            take(batch, table, version, place)
        batch.put(number_key(GONE_BLOCKS, place), None)
        place = gone.behind
    batch.put(QUEUE, QueueFields(place, queue.last).value() if place else None)
    yield from batch.changes.items()


def take(batch: Batch, table: int, version: int, position: int) -> None:
    """Take the bytes of the blocks that a version of a table removed at a position."""
    added: dict[int, set[bytes]] = {}
    for _, files in lists(batch, table, version):
        for name in (file_name(file) for file in files.removes if is_block(file.path)):
            key = pair_key(REMOVED_FILE, table, position) + name
            row = batch.get(key)
            if row is None:
                continue
            fields = read_file(row)
            added.setdefault(fields.version, set()).add(name)
            fields.rows = TRIMMED
            batch.put(key, fields.value())
    for other, names in added.items():
        for key, files in list(lists(batch, table, other)):
            batch.put(key, pack(without_rows(files, names)))


def lists(batch: Batch, table: int, version: int) -> Iterator[tuple[bytes, FileList]]:
    """Yield the chunks of the list of a version, and their keys."""
    number = 0
    while (data := batch.get(key := triple_key(LISTED, table, version, number))) is not None:
        yield key, unpack(data)
        number += 1


def without_rows(files: FileList, names: Collection[bytes]) -> FileList:
    """Return a list in which some blocks have no rows."""
    adds = [
        file._replace(rows=TRIMMED) if file.rows and file_name(file) in names else file
        for file in files.adds
    ]
    return files._replace(adds=adds)


def queue_in(stored: StoredRows) -> QueueFields | None:
    """Return the queue, None while it is empty."""
    row = stored.get(QUEUE)
    return None if row is None else read_queue(row)


def gone_in(stored: StoredRows, position: int) -> GoneFields:
    """Return what the commit at a position removed."""
    row = stored.get(number_key(GONE_BLOCKS, position))
    assert row is not None, f"the commit at {position} is in the queue and has no row"
    return read_gone(row)


ROWS: Final[dict[type, Rows]] = {RecordsTrimmed: trimmed}
