"""The files of a table as one txn sees them: its snapshot, and its own changes over it."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ledger.core.partitions.file_paths import path_key
from ledger.core.predicates.predicates import compile_predicate
from ledger.core.state.traits import traits_of
from ledger.log.wire.file_extras import Tags
from ledger.log.wire.file_list import AddFile
from ledger.reads.rows import FileRow, TableRow
from ledger.snapshot.reading import TableFiles, may_concern


class OwnChanges(NamedTuple):
    """The files that a txn removed, by path and deletion vector, and those that it added."""

    removes: Collection[tuple[str, str]] = ()
    adds: Sequence[AddFile] = ()


def own_files(read: TableFiles, own: OwnChanges, row: TableRow | None = None) -> Sequence[FileRow]:
    """Return the files of a read as the txn sees them that made changes of its own.

    `row` is the table as the txn has changed it. Own files are left out by their partition, as the
    read does it with the files of the snapshot.
    """
    if not own.removes and not own.adds:
        return list(read.files)
    table = row or read.table
    location = table.definition.location
    gone = {(path_key(path, location), vector) for path, vector in own.removes}
    kept = [file for file in read.files if (path_key(file.path, location), file.vector) not in gone]
    schema = traits_of(table.definition).schema
    scan = compile_predicate(read.where, schema, derive=True)
    mine = (file_row(add, read) for add in own.adds)
    return [*kept, *(each for each in mine if may_concern(scan, each, read.table, len(schema)))]


def file_row(file: AddFile, read: TableFiles) -> FileRow:
    """Return a file that a txn added as a file that was read: it follows the whole snapshot."""
    return FileRow(
        table=read.table.table,
        path=file.path,
        vector=file.vector,
        partition=tuple(file.partition),
        size=file.size,
        modified=file.modified,
        stats=file.stats,
        added=max(read.position, read.table.partitioned) + 1,
        version=-1,
        removed=0,
        deletion_vector=file.deletion_vector,
        tags=Tags(file.tags),
        rows=file.rows,
    )
