"""Declared writes: what one txn read and wrote, table by table, until its commit says so.

A coarse write is of a whole unit, the files unknown: a partition, the rows of a table without
partitions, or a whole table. What is known file by file is gathered by `FootprintWriter`.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import index
from threading import Lock
from typing import Final, NamedTuple

from ledger.core.commands import AppVersion, CoarseWrite, Footprint, IsolationLevel, Operation
from ledger.core.partitions.names import folder_values
from ledger.core.refusals import Reason
from ledger.core.state.traits import LEVEL_OF, traits_of
from ledger.errors import CommandInvalidError
from ledger.log.file_list import AddFile
from ledger.reads.port import TableRow
from ledger.sdk.condition_columns import raise_unknown
from ledger.sdk.footprint_writer import FootprintWriter
from ledger.sdk.given_files import columns_of
from ledger.sdk.partition_texts import text_of
from ledger.sdk.reading import TableFiles
from ledger.sdk.refusals import ROWS
from ledger.sdk.texts import check_text

ROWS_ADDED: Final = CoarseWrite("table", "", "insert")
VERSIONS: Final = range(-(2**63), 2**63)
STRONGEST: Final[IsolationLevel] = "Serializable"


class DeclaredPart(NamedTuple):
    """One table of a commit to be: `head` is its footprint without files, None if it has none.

    `read_files` are the hashes of the files that its judgement needs; `writer` has the files added
    and removed.
    """

    table: int
    read_at: int
    writes: Sequence[CoarseWrite]
    head: Footprint | None
    read_files: bytes
    writer: FootprintWriter


class DeclaredWrites:
    """What one txn declares, table by table; each unit, file and operation once.

    Threads may share it: what one of them declares is there once it is frozen, or refused.
    `opened` is the position of the snapshot it holds, which is the base of whatever names no other.
    One that is `read_only` declares reads alone. `check_alive` raises what else ended the txn.

    Attributes:
        is_frozen: whether nothing may be added: what was declared is on its way.
        has_ended: whether nothing may be added: the txn is over.
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
        self.is_frozen = False
        self.has_ended = False
        self._turn = Lock()

    @property
    def has_written(self) -> bool:
        """Whether anything but reading was declared."""
        is_said = bool(self._coarse or self._apps)
        return is_said or any(each.is_written for each in self._writers.values())

    def add(self, table: int, write: CoarseWrite, read_at: int) -> None:
        """Declare a coarse write; one that only inserts depends on no position.

        Raises ValueError once frozen, or ended, CommandInvalidError in a txn that is read only.
        """
        with self._turn:
            self._check_writable()
            self._coarse.setdefault(table, {})[write] = None
            if write.operation != "insert":
                self.plan_from(table, read_at)

    def plan_from(self, table: int, read_at: int) -> None:
        """Note the position that a part was planned from, 0 = the snapshot; the oldest counts."""
        place = read_at or self._opened
        self._read_at[table] = min(place, self._read_at.get(table, place))

    def writer(self, table: int) -> FootprintWriter:
        """Return what gathers the files of a table; raises ValueError once frozen, or ended."""
        self._check_open()
        return self._writers.setdefault(table, FootprintWriter())

    def added(self, table: int) -> Sequence[AddFile]:
        """Return the files that were added to a table so far."""
        writer = self._writers.get(table)
        return () if writer is None else writer.added

    @contextmanager
    def growing(self, table: int, operation: str = "") -> Iterator[FootprintWriter]:
        """Lend what gathers the files of a table, and name the operation unless the block raises.

        If it raises, a table that was not known before stays unknown. Raises as `add`.
        """
        with self._turn:
            self._check_writable()
            writer = self._writers.get(table) or FootprintWriter()
            yield writer
            if operation:
                writer.name(operation)
            self._writers[table] = writer

    def read(self, read: TableFiles) -> None:
        """Declare a read of files."""
        table = read.table.table
        with self._turn:
            self.writer(table).read(read)
            self.plan_from(table, read.position)
            if traits_of(read.table.definition).level == STRONGEST:
                self._strict.add(table)

    def read_whole(self, table: int) -> None:
        """Declare that everything in a table was read, in the snapshot; raises as `writer`."""
        with self._turn:
            self.writer(table).read_whole()
            self.plan_from(table, 0)

    def record(self, app: AppVersion, tables: Iterable[int]) -> None:
        """Declare the progress of an application in all tables written, and in these.

        Raises TypeError or ValueError for a name or a version that no record takes, else as `add`.
        """
        name, version = plain_app(app)
        with self._turn:
            self._check_writable()
            self._apps[name] = version
            self._app_tables.update(tables)

    def progress(self) -> Sequence[AppVersion]:
        """Return the progress of applications that was declared."""
        return [AppVersion(*each) for each in sorted(self._apps.items())]

    def written(self) -> set[int]:
        """Return the tables of which anything but reading was declared."""
        writers = {table for table, writer in self._writers.items() if writer.is_written}
        return writers | self._coarse.keys() | self._app_tables

    def freeze(self) -> None:
        """Let nothing be added any more, once what is just being declared is there."""
        with self._turn:
            self.is_frozen = True

    def paths_of(self, table: int, hashed: bytes) -> Sequence[str]:
        """Return the declared paths of a table that a hash stands for."""
        writer = self._writers.get(table)
        return writer.paths_of(hashed) if writer is not None else ()

    def parts(
        self, taken: Iterable[int], level: str, changed: Container[int] = ()
    ) -> Sequence[DeclaredPart]:
        """Return the parts of a commit that asks for `level`, by table id.

        What was read in a table counts where the txn writes the table, or has `changed` the table
        itself. A txn that took a write id in a table meant to write there: tables in `taken`
        without a declared write count as inserted into, so that one that was dropped meanwhile is
        a conflict and not passed over. Raises ValueError if an application made progress in no
        table.
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
        apps = self.progress() if is_written else []
        head = writer.head(apps) if apps or table in self._writers else None
        # A table that was only read is judged at the strongest level alone, and one whose level
        # changed since it was read conflicts by that: other files need not be named.
        needs_reads = is_written or is_judged or table in self._strict
        read_files = writer.read_files if needs_reads else b""
        return DeclaredPart(table, self._read_at.get(table, 0), writes, head, read_files, writer)

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
                "this txn has ended, so what is declared in it now would be nowhere: begin another"
            )
        if self.is_frozen:
            raise ValueError(
                "what this txn wrote is on its way since its commit was asked for: commit again, "
                "or abort it and begin another"
            )


def coarse_write(
    operation: Operation,
    row: TableRow | None,
    *,
    partition: str | None = None,
    whole_table: bool = False,
) -> CoarseWrite:
    """Return the write of one unit: of `partition`, else of the table as far as `row` tells.

    Without a row, that is of a table known by its id alone, and of a table without columns the unit
    is the whole table, which errs to the side of conflict. Raises ValueError if a partitioned table
    is updated or deleted from and neither says where, for a partition of one that has none, and for
    a text that names no partition, UnknownColumnError for one of columns the table does not have.
    """
    if partition is not None:
        check_text("a partition", partition)
        if whole_table:
            raise ValueError("a write is of one partition or of the whole table, not of both")
        if row is not None and is_known_unpartitioned(row):
            raise ValueError(f"table {row.name} is not partitioned: name no partition of it")
        if row is not None and row.definition.partition_columns:
            check_partition(partition, row, operation)
        return CoarseWrite("partition", partition, operation)
    if row is not None and is_known_unpartitioned(row) and not whole_table:
        return CoarseWrite("unpartitioned", "", operation)
    columns = ", ".join(row.definition.partition_columns) if row is not None else ""
    if row is None or whole_table or not columns or operation == "insert":
        return CoarseWrite("table", "", operation)
    raise ValueError(
        f"table {row.name} is partitioned by {columns}: say partition='...' for each partition "
        f"whose rows the {operation} changed, or whole_table=True"
    )


def check_partition(partition: str, row: TableRow, operation: Operation) -> None:
    """Raise ValueError for a text that no partition of a partitioned table can have.

    A misspelled column would count as the whole table, without a word. Rows can be inserted only
    where a value is one of its column; what lies elsewhere already may be changed and deleted.
    """
    names, found = row.definition.partition_columns, folder_values(partition)
    if found is None:
        raise ValueError(
            f"{partition!r} names no partition of table {row.name}: write "
            f"{'/'.join(f'{name}=<value>' for name in names)}; only bytes of UTF-8 are escaped"
        )
    known = {name.lower() for name in names}
    for name in found:
        if name not in known:
            raise_unknown(row, name, names, "partition ")
    if operation == "insert":
        for column in columns_of(row) or ():
            text_of(found.get(column.name.lower()), column)


def is_known_unpartitioned(row: TableRow) -> bool:
    """Tell whether a table has columns and is partitioned by none of them."""
    return bool(row.definition.columns) and not row.definition.partition_columns


def plain_app(app: AppVersion) -> AppVersion:
    """Return the progress of an application with a plain number for its version.

    Raises TypeError or ValueError for what no record takes.
    """
    check_text("the name of an application", app.app)
    try:
        version = int(index(app.version))
        is_whole = not isinstance(app.version, bool)
    except TypeError:
        is_whole = False
    if not is_whole:
        raise TypeError(f"version {app.version!r} of application {app.app!r} is no whole number")
    if version not in VERSIONS:
        raise ValueError(f"version {app.version} of application {app.app!r} is no 64-bit number")
    return AppVersion(app.app, version)


def level_named(text: str | None) -> str:
    """Return the isolation level of a text, in any case and with dashes or not; "" for None.

    Raises ValueError for a text that is none, TypeError for what is no text.
    """
    if text is None:
        return ""
    check_text("an isolation level", text)
    found = LEVEL_OF.get(text.replace("-", "").replace("_", "").replace(" ", "").lower())
    if found is None:
        levels = ", ".join(LEVEL_OF.values())
        raise ValueError(f"{text!r} is no isolation level; there are {levels}")
    return found
