"""Declared writes: the reads and writes of one txn, table by table, until its commit.

A coarse write covers a whole unit without naming files: a partition, the rows of a table without
partitions, or a whole table. `FootprintWriter` gathers reads and writes file by file.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import index
from threading import Lock
from typing import Any, Final, NamedTuple, get_args

from ledger.core.commands import AppVersion, CoarseWrite, Footprint, IsolationLevel, Operation
from ledger.core.partitions.names import folder_values
from ledger.core.refusals import Reason
from ledger.core.rows.changes import RowChanges
from ledger.core.state.traits import LEVEL_OF, traits_of
from ledger.definitions.given import check_text
from ledger.definitions.partition_texts import text_of
from ledger.errors import CommandInvalidError
from ledger.expressions.condition_columns import raise_unknown
from ledger.log.wire.file_list import AddFile
from ledger.reads.port import TableRow
from ledger.reads.row_counts import ChangedRows
from ledger.session.refusals import ROWS
from ledger.snapshot.overlay import OwnChanges
from ledger.snapshot.reading import TableFiles
from ledger.work.app_notes import commit_note, info_text, note_text
from ledger.work.footprint_writer import FootprintWriter
from ledger.work.given_files import columns_of

ROWS_ADDED: Final = CoarseWrite("table", "", "insert")
VERSIONS: Final = range(-(2**63), 2**63)
STRONGEST: Final[IsolationLevel] = "Serializable"


class DeclaredPart(NamedTuple):
    """One table of a future commit: `head` is its footprint without files, None if absent.

    `read_files` are the hashes of the files that the judgement needs; `writer` has the files added
    and removed. `info` is what the commit notes of the table, as JSON. `rows` is what it did row by
    row.
    """

    table: int
    read_at: int
    writes: Sequence[CoarseWrite]
    head: Footprint | None
    read_files: bytes
    writer: FootprintWriter
    info: str = ""
    rows: RowChanges | None = None


class DeclaredWrites:
    """The declared writes of one txn, table by table; each unit, file and operation once.

    Threads may share it: a declaration is complete before the freeze, or it is refused. `opened` is
    the position of the txn's snapshot, the default base of a write. A `read_only` txn declares
    reads only. `check_alive` raises if something else ended the txn.

    Attributes:
        rows: how many rows the statements changed, by table.
        is_frozen: whether commit() was called; then nothing can be added.
        has_ended: whether the txn has ended; then nothing can be added.
    """

    def __init__(
        self,
        opened: int,
        *,
        read_only: bool = False,
        check_alive: Callable[[], None] = lambda: None,
    ) -> None:
        self._opened = opened
        self._check_alive = check_alive
        self._is_read_only = read_only
        self._coarse: dict[int, dict[CoarseWrite, None]] = {}
        self._writers: dict[int, FootprintWriter] = {}
        self._read_at: dict[int, int] = {}
        self._strict: set[int] = set()
        self._apps: dict[str, int] = {}
        self._app_tables: set[int] = set()
        self._alone: dict[str, frozenset[int]] = {}
        self._app_notes: dict[str, str] = {}
        self._said: dict[int, dict[str, str]] = {}
        self.rows: dict[int, ChangedRows] = {}
        self.is_frozen = False
        self.has_ended = False
        self._turn = Lock()

    @property
    def has_written(self) -> bool:
        """Whether anything but reading was declared."""
        is_said = bool(self._coarse or self._apps)
        return is_said or any(writer.is_written for writer in self._writers.values())

    def add(self, table: int, write: CoarseWrite, read_at: int) -> None:
        """Declare a coarse write; an insert depends on no position.

        Raises ValueError once frozen or ended, CommandInvalidError in a read-only txn.
        """
        with self._turn:
            self._check_writable()
            self._coarse.setdefault(table, {})[write] = None
            if write.operation != "insert":
                self.plan_from(table, read_at)

    def plan_from(self, table: int, read_at: int) -> None:
        """Note the position a part was planned from, 0 = the snapshot; the oldest one counts."""
        place = read_at or self._opened
        self._read_at[table] = min(place, self._read_at.get(table, place))

    def writer(self, table: int) -> FootprintWriter:
        """Return the footprint writer of a table; raises ValueError once frozen or ended."""
        self._check_open()
        return self._writers.setdefault(table, FootprintWriter())

    def noted(self, table: int) -> FootprintWriter | None:
        """Return what was noted of the files of a table so far, None if nothing was."""
        return self._writers.get(table)

    def own_changes(self, table: int) -> OwnChanges:
        """Return the files of a table that were removed and added so far."""
        writer = self._writers.get(table)
        return OwnChanges() if writer is None else OwnChanges(writer.removed, writer.added)

    def added(self, table: int) -> Sequence[AddFile]:
        """Return the files added to a table so far."""
        writer = self._writers.get(table)
        return () if writer is None else writer.added

    @contextmanager
    def growing(self, table: int, operation: str = "") -> Iterator[FootprintWriter]:
        """Lend the footprint writer of a table, and name the operation unless the block raises.

        If the block raises, a new writer is dropped. Raises as `add`.
        """
        with self._turn:
            self._check_writable()
            writer = self._writers.get(table) or FootprintWriter()
            yield writer
            if operation:
                writer.name(operation)
            self._writers[table] = writer

    def read(self, read: TableFiles, *, by_row: bool = False) -> None:
        """Declare a read of files; `by_row` as for `FootprintWriter.read`."""
        table = read.table.table
        with self._turn:
            self.writer(table).read(read, by_row=by_row)
            self.plan_from(table, read.position)
            if traits_of(read.table.definition).level == STRONGEST:
                self._strict.add(table)

    def read_whole(self, table: int) -> None:
        """Declare that the snapshot of a whole table was read; raises as `writer`."""
        with self._turn:
            self.writer(table).read_whole()
            self.plan_from(table, 0)

    def record(
        self,
        app: AppVersion,
        tables: Iterable[int],
        info: Mapping[str, Any] | None = None,
        *,
        read_at: int = 0,
        alone: bool = False,
    ) -> None:
        """Declare the progress of an application in all written tables, and in `tables`.

        `alone`: in `tables` only. `read_at` is the position of its look-up there, 0 = the
        snapshot. Raises TypeError or ValueError for what no record takes, else as `add`.
        """
        name, version = plain_app(app)
        note = None if info is None else note_text(name, info)
        named = frozenset(tables)
        with self._turn:
            self._check_writable()
            self._apps[name] = version
            self._app_tables.update(named)
            if alone:
                self._alone[name] = named
            for table in named if read_at else ():
                self.plan_from(table, read_at)
            if note is not None:
                self._app_notes[name] = note

    def say(self, table: int, key: str, info: Mapping[str, Any]) -> None:
        """Note something of the commit in a table, under a key; raises as `commit_note` and `add`.

        A table without a declared write keeps no note.
        """
        text = commit_note(key, info)
        with self._turn:
            self._check_writable()
            self._said.setdefault(table, {})[key] = text

    def count(self, table: int, rows: ChangedRows) -> None:
        """Note the rows that a statement changed in a table."""
        with self._turn:
            self.rows[table] = self.rows.get(table, ChangedRows()).plus(rows)

    def progress(self, table: int = 0) -> Sequence[AppVersion]:
        """Return the declared progress of applications; in one table if it is named."""
        return [
            AppVersion(app, version)
            for app, version in sorted(self._apps.items())
            if not table or app not in self._alone or table in self._alone[app]
        ]

    def written(self) -> set[int]:
        """Return the tables with declared writes."""
        writers = {table for table, writer in self._writers.items() if writer.is_written}
        return writers | self._coarse.keys() | self._app_tables

    def freeze(self) -> None:
        """Refuse further declarations; a running one finishes first."""
        with self._turn:
            self.is_frozen = True

    def paths_of(self, table: int, hashed: bytes) -> Sequence[str]:
        """Return the declared paths of a table that have a hash."""
        writer = self._writers.get(table)
        return writer.paths_of(hashed) if writer is not None else ()

    def parts(
        self, taken: Iterable[int], level: str, changed: Container[int] = ()
    ) -> Sequence[DeclaredPart]:
        """Return the parts of a commit that requests `level`, by table id.

        Reads in a table count if the txn writes or has `changed` that table. A txn with a write id
        in a table meant to write there: a table in `taken` without a declared write counts as
        inserted into, so that a concurrent drop is a conflict. Raises ValueError if an application
        made progress in no table.
        """
        written = self.written()
        implied = set(taken) - written
        if self._apps and not written | implied:
            raise ValueError(
                f"the txn records the progress of {', '.join(self._apps)}, but writes no table: "
                "name the tables with txn.app(..., tables=[...])"
            )
        return [
            self._part(
                table,
                is_implied=table in implied,
                is_written=table in written,
                is_judged=level == STRONGEST or table in changed,
            )
            for table in sorted({*written, *implied, *self._writers})
        ]

    def _part(
        self, table: int, *, is_implied: bool, is_written: bool, is_judged: bool
    ) -> DeclaredPart:
        writer = self._writers.get(table) or FootprintWriter()
        writes = (ROWS_ADDED,) if is_implied else tuple(self._coarse.get(table, ()))
        is_written = is_written or is_implied
        apps = self.progress(table) if is_written else []
        head = writer.head(apps) if apps or table in self._writers else None
        notes = {app: self._app_notes[app] for app, _ in apps if app in self._app_notes}
        rows = self.rows.get(table)
        said = self._said.get(table) if is_written else None
        is_noted = head is not None and (notes or rows or said)
        info = info_text(notes, rows, said) if is_noted else ""
        # A table that was only read is judged at the strongest level alone. A change of a table's
        # level conflicts by itself. So the files of other reads need not be named.
        needs_reads = is_written or is_judged or table in self._strict
        read_files = writer.read_files if needs_reads else b""
        by_row = writer.row_changes() if needs_reads else None
        return DeclaredPart(
            table, self._read_at.get(table, 0), writes, head, read_files, writer, info, by_row
        )

    def _check_writable(self) -> None:
        self._check_open()
        if self._is_read_only:
            raise CommandInvalidError(
                f"this txn is read only. {ROWS[Reason.TXN_READ_ONLY].advice}",
                reason=Reason.TXN_READ_ONLY,
            )

    def _check_open(self) -> None:
        self._check_alive()
        if self.has_ended:
            raise ValueError(
                "this txn has ended, and takes no further reads or writes: begin another txn"
            )
        if self.is_frozen:
            raise ValueError(
                "commit() was already called on this txn: commit again, or abort it and begin "
                "another txn"
            )


OPERATIONS: Final[Sequence[Operation]] = get_args(Operation)


def coarse_write(
    operation: Operation,
    row: TableRow | None,
    *,
    partition: str | None = None,
    whole_table: bool = False,
) -> CoarseWrite:
    """Return the write of one unit: `partition`, else the smallest unit that `row` allows.

    For a table known by its id alone (no row), or a table without columns, the unit is the whole
    table: rather a conflict too many. Raises ValueError for an update or delete of a partitioned
    table without a unit, for a partition of an unpartitioned table, and for a text that names no
    partition; UnknownColumnError for a partition of columns that the table does not have.
    """
    if operation not in OPERATIONS:
        raise ValueError(f"operation must be one of {', '.join(OPERATIONS)}, got {operation!r}")
    if partition is not None:
        check_text("a partition", partition)
        if whole_table:
            raise ValueError("give partition or whole_table, not both")
        if row is not None and is_known_unpartitioned(row):
            raise ValueError(
                f"table {row.name} is not partitioned: leave out partition, got {partition!r}"
            )
        if row is not None and row.definition.partition_columns:
            check_partition(partition, row, operation)
        return CoarseWrite("partition", partition, operation)
    if row is not None and is_known_unpartitioned(row) and not whole_table:
        return CoarseWrite("unpartitioned", "", operation)
    columns = ", ".join(row.definition.partition_columns) if row is not None else ""
    if row is None or whole_table or not columns or operation == "insert":
        return CoarseWrite("table", "", operation)
    raise ValueError(
        f"table {row.name} is partitioned by {columns}: give partition='...' for each partition "
        f"whose rows the {operation} changed, or whole_table=True"
    )


def check_partition(partition: str, row: TableRow, operation: Operation) -> None:
    """Raise ValueError for a text that names no partition of a partitioned table.

    A misspelled column would silently count as the whole table. An insert needs values of the
    columns' types. Existing rows under other values may still be changed and deleted.
    """
    names, found = row.definition.partition_columns, folder_values(partition)
    if found is None:
        raise ValueError(
            f"a partition of table {row.name} must look like "
            f"{'/'.join(f'{name}=<value>' for name in names)}, with escapes of UTF-8 bytes only, "
            f"got {partition!r}"
        )
    known = {name.lower() for name in names}
    for name in found:
        if name not in known:
            raise_unknown(row, name, names, "partition ")
    if operation == "insert":
        for column in columns_of(row) or ():
            text_of(found.get(column.name.lower()), column)


def is_known_unpartitioned(row: TableRow) -> bool:
    """Return whether a table has columns and no partition columns."""
    return bool(row.definition.columns) and not row.definition.partition_columns


def plain_app(app: AppVersion) -> AppVersion:
    """Return the progress of an application with an int for its version.

    Raises TypeError or ValueError for a name or version that no record takes.
    """
    check_text("the name of an application", app.app)
    try:
        version = int(index(app.version))
        is_whole = not isinstance(app.version, bool)
    except TypeError:
        is_whole = False
    if not is_whole:
        raise TypeError(
            f"the version of application {app.app!r} must be a whole number, got {app.version!r}"
        )
    if version not in VERSIONS:
        raise ValueError(
            f"the version of application {app.app!r} must fit 64 bits, got {app.version}"
        )
    return AppVersion(app.app, version)


def level_named(text: str | None) -> str:
    """Return the isolation level of a text, in any case, with or without dashes; "" for None.

    Raises ValueError for an unknown level, TypeError for anything but a text.
    """
    if text is None:
        return ""
    check_text("an isolation level", text)
    found = LEVEL_OF.get(text.replace("-", "").replace("_", "").replace(" ", "").lower())
    if found is None:
        levels = ", ".join(LEVEL_OF.values())
        raise ValueError(f"an isolation level must be one of {levels}, got {text!r}")
    return found
