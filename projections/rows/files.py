"""Files: the live files of a table with the position of their add, and the removed files.

A file is a path with its deletion vector. Its row stands among the live ones until a commit removes
it; then it moves to the removed ones, which are ordered by the position of their removal. So the
present files are one scan, and the files at an earlier position are the live ones and the ones
removed since. A dropped table keeps its rows: earlier positions can still be read. A path may come
back, or stay under another vector; the position of its last removal has a row of its own.

Within one commit removes come before adds. An impossible add or remove is recorded as an anomaly
and never stops the fold: the ledger records what writers report about files, and does not check it.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, count
from typing import Final, NamedTuple

from ledger.core.conflicts.footprints import path_hash
from ledger.core.events.events import TxnCommitted
from ledger.core.events.parts import CommittedPart
from ledger.core.partitions.names import Values
from ledger.log.file_extras import DeletionVector
from ledger.log.file_list import AddFile, FileList, RemoveFile, records_again
from projections.rows.applied import Applied
from projections.rows.keys import (
    ANOMALY,
    LIVE_FILE,
    PATH,
    REMOVED_FILE,
    TABLE_ANOMALY,
    Fields,
    number_key,
    pair_key,
    read_value,
    triple_key,
    value,
)
from projections.rows.listed import changed_rows, list_rows
from projections.rows.packing import text_part
from projections.rows.projection import Rows
from projections.store.batch import Batch, LateChange
from projections.store.port import RowChange

NOTHING = b""


class FileFields(Fields):
    """A live file: what its writer reports, and the version that added it."""

    added: int
    partition: Values = ()
    size: int = 0
    modified: int = 0
    stats: str = ""
    version: int = 0
    deletion_vector: DeletionVector | None = None
    tags: Mapping[str, str | None] | tuple[()] = ()
    base_row_id: int | None = None
    row_version: int | None = None


class Anomaly(NamedTuple):
    """An impossible add or remove of a file in a commit."""

    table: int
    kind: str
    path: str = ""
    vector: str = ""


def committed(applied: Applied, body: TxnCommitted) -> Iterator[LateChange]:
    """Return the rows of the files that a commit adds and removes, and of its anomalies."""
    numbers = count()
    for part in body.parts:
        if part.table in applied.files:
            batch = Batch(applied.stored)
            anomalies = list(changed(applied, part, batch))
            for anomaly in anomalies:
                yield from anomaly_rows(applied.control.position, next(numbers), anomaly)
            yield from batch.changes.items()
            yield from list_of(applied, part, batch, is_odd=bool(anomalies))


def changed(applied: Applied, part: CommittedPart, batch: Batch) -> Iterator[Anomaly]:
    """Change the files of one table in `batch`; return the anomalies."""
    files, position = applied.files[part.table], applied.control.position
    if files is None:
        yield Anomaly(part.table, "unreadable_list")
        return
    yield from removed(batch, part.table, files, position)
    yield from added(batch, part, files, position)


def list_of(
    applied: Applied, part: CommittedPart, batch: Batch, *, is_odd: bool
) -> Iterator[RowChange]:
    """Return the rows of what a part changed file by file, given all its changes of rows."""
    files = applied.files[part.table]
    if files is None:
        return
    if not is_odd and not records_again(part, files):
        yield from list_rows(applied, part)
        return
    changes = batch.changes
    adds = {
        named(each): each for each in files.adds if changes.get(live_key(part.table, named(each)))
    }
    gone = pair_key(REMOVED_FILE, part.table, applied.control.position)
    removes: dict[bytes, RemoveFile] = {}
    replaced = (RemoveFile(each.path, None, each.data_change, each.vector) for each in files.adds)
    for each in chain(files.removes, replaced):
        if gone + named(each) in changes:
            removes.setdefault(named(each), each)
    yield from changed_rows(part, list(adds.values()), list(removes.values()))


def removed(batch: Batch, table: int, files: FileList, position: int) -> Iterator[Anomaly]:
    """Remove files; return an anomaly for each file that was not live."""
    for file in files.removes:
        key = path_key(table, file.path)
        if take_out(batch, table, named(file), position):
            batch.put(key, value(position))
            continue
        if batch.get(key) is None:
            batch.put(key, NOTHING)
        yield Anomaly(table, "removed_not_live", file.path, file.vector)


def added(batch: Batch, part: CommittedPart, files: FileList, position: int) -> Iterator[Anomaly]:
    """Add files; return an anomaly for each file that was live already, and replace it.

    A backfill replaces live files and adds no others: a file that was removed since the backfill
    read it stays removed.
    """
    is_again = records_again(part, files)
    for file in files.adds:
        name = named(file)
        was_live = take_out(batch, part.table, name, position)
        if is_again and not was_live:
            continue
        if was_live and not is_again:
            yield Anomaly(part.table, "added_live", file.path, file.vector)
        batch.put(live_key(part.table, name), live(file, part, position))
        batch.put(path_key(part.table, file.path), NOTHING)


def take_out(batch: Batch, table: int, name: bytes, position: int) -> bool:
    """Move a file from the live ones to the removed ones; False if it is not live."""
    key = live_key(table, name)
    found = batch.get(key)
    if found is None:
        return False
    batch.put(key, None)
    # A file added by this same commit was never visible: no position shows it.
    if read_value(found)["added"] < position:
        batch.put(pair_key(REMOVED_FILE, table, position) + name, found)
    return True


def live(file: AddFile, part: CommittedPart, position: int) -> bytes:
    """Return the row of a file that is added."""
    fields = FileFields(
        added=position,
        partition=file.partition,
        size=file.size,
        modified=file.modified,
        stats=file.stats,
        version=part.version,
        deletion_vector=file.deletion_vector,
        tags=dict(file.tags) if file.tags else (),
        base_row_id=file.base_row_id,
        row_version=file.row_version,
    )
    return fields.value()


def named(file: AddFile | RemoveFile) -> bytes:
    """Return the part of a key that names a file; files of a table sort by path, then vector."""
    return text_part(file.path) + file.vector.encode()


def live_key(table: int, name: bytes) -> bytes:
    """Return the key of a live file."""
    return number_key(LIVE_FILE, table) + name


def path_key(table: int, path: str) -> bytes:
    """Return the key under which a path is found by its hash."""
    return number_key(PATH, table) + path_hash(path) + path.encode()


def anomaly_rows(position: int, number: int, anomaly: Anomaly) -> Iterator[RowChange]:
    """Return the rows of an anomaly, by position and by table."""
    yield pair_key(ANOMALY, position, number), value(anomaly)
    yield triple_key(TABLE_ANOMALY, anomaly.table, position, number), value(anomaly)


ROWS: Final[Mapping[type, Rows]] = {TxnCommitted: committed}
