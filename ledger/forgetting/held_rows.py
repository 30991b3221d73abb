"""Which stored files of a table hold rows of a condition, and the values that only these rows have.

A row that was deleted is in the files of earlier versions, and among the marked rows of a file that
stays, until these files are gone.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ledger.core.predicates.tree import Node
from ledger.errors import RowsErasedError
from ledger.expressions.duckdb.conditions import row_condition
from ledger.files.data_reading import read_file
from ledger.files.places import FileKeys
from ledger.files.storage import Storage, storage_at
from ledger.forgetting.own_values import OwnValues
from ledger.forgetting.rewriting import may_hold, unmarked
from ledger.keys.sealed_rows import opened
from ledger.log.wire.file_extras import TRIMMED, is_sealed
from ledger.reads.port import FileRow, Reads, TableRow
from ledger.snapshot.reading import check_listed
from ledger.snapshot.table_snapshot import TableSnapshot
from ledger.statements.judge import RowJudge
from ledger.tables.cleaned_folder import is_data
from ledger.tables.iceberg_folder import is_served

PAGE: Final = 10_000

Progress = Callable[[int, int], None]


class HeldFile(NamedTuple):
    """A stored file with rows of the condition.

    `rows` counts all of them, `shown` the ones that readers of the newest version see.
    """

    file: FileRow
    rows: int
    shown: int

    @property
    def is_live(self) -> bool:
        """Whether the newest version of the table has the file."""
        return not self.file.removed


class HeldRows(NamedTuple):
    """What the files of a table hold of a condition.

    `unknown` are stored files that no commit names: they were not read.
    """

    files: list[HeldFile]
    values: OwnValues
    unknown: list[str]


def held_rows(
    reads: Reads,
    row: TableRow,
    where: Node,
    values: OwnValues | None = None,
    progress: Progress | None = None,
) -> HeldRows:
    """Look through all stored files of a table, also of earlier versions.

    `values` come from an earlier look, whose files may be gone by now.
    Raises UnreadableTableError for a file that cannot be read, FilesUnknownError for a table whose
    files the ledger does not list, and as every condition.
    """
    check_listed(row)
    snapshot = TableSnapshot(reads, row, reads.position())
    snapshot.condition(where)
    schema, location = snapshot.schema, row.definition.location
    condition, storage = row_condition(where, schema), storage_at(location)
    values = values or OwnValues(schema.partition_columns, location)
    held, keys = list[HeldFile](), FileKeys()
    stored = stored_keys(storage, keys)
    unknown = set(stored.values())
    files = list(every_file(reads, row))
    with RowJudge(row.name) as judge:
        for number, file in enumerate(files):
            if progress is not None:
                progress(number, len(files))
            found = {stored[key] for key in keys.of(location, file.path) if key in stored}
            unknown -= found
            if is_erased(file):
                continue
            # A vacuum may delete the files of a dropped table, although no commit removed them.
            is_needed = not file.removed and not row.dropped
            is_there = is_needed or found or file.rows or storage.exists(file.path)
            if not is_there or not may_hold(snapshot, file, where):
                continue
            if file.rows == TRIMMED:
                # An archive has the rows, and only the statistics of the block are here.
                held.append(HeldFile(file, 0, 0))
                continue
            then = snapshot.schema_of(file)
            rows = read_file(storage, unmarked(file), schema, written=then)
            hit = judge.fulfilled(rows, condition)
            if (count := pc.sum(hit).as_py() or 0) == 0:
                continue
            shown = 0 if file.removed else count
            if file.vector and not file.removed:
                left = read_file(storage, file, schema, written=then)
                shown = pc.sum(judge.fulfilled(left, condition)).as_py() or 0
            values.take(pa.table(rows), hit)
            held.append(HeldFile(file, count, shown))
    values.take_condition(where)
    return HeldRows(held, values, sorted(unknown))


def is_erased(file: FileRow) -> bool:
    """Return whether the key of a block that readers lost was dropped: no program can read it."""
    try:
        return bool(file.removed) and is_sealed(file.rows) and not opened(file.path, file.rows)
    except RowsErasedError:
        return True


def every_file(reads: Reads, row: TableRow) -> Iterator[FileRow]:
    """Yield each file that a version of a table added, once for a path; a removed one says so."""
    latest: dict[str, FileRow] = {}
    first, place = 0, 0
    while True:
        page = reads.file_changes(row.table, first, row.version, PAGE, place=place)
        for change in page:
            file = change.file
            if change.added:
                latest[file.path] = file
            elif file.path in latest and latest[file.path].vector == file.vector:
                latest[file.path] = latest[file.path]._replace(removed=max(file.removed, 1))
        if len(page) < PAGE:
            break
        first, place = page[-1].version, page[-1].place
    yield from latest.values()


def stored_keys(storage: Storage, keys: FileKeys) -> dict[int, str]:
    """Return the data files that are stored, each under all its keys."""
    return {
        key: file.path
        for file in storage.list(skip_unnamed=True)
        if is_data(file.path) and not is_served(file)
        for key in keys.at(f"{storage.location}/{file.path}")
    }
