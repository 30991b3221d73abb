"""The rows in answers of `ledger.reads.port`: of txns, tables, files and commits.

They hold plain values in tuples, so that equal rows are equal wherever they come from. They hold no
reference to the read model. `ledger.reads.remote.http_form` is their form over HTTP.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from ledger.core.commands import TableDefinition, TableWrite, TxnType
from ledger.core.events.parts import Evidence
from ledger.log.wire.file_extras import DeletionVector, Tags
from ledger.reads.amounts import amount
from ledger.reads.html import SHOWN_MAX, table_of

FILE_HEADS: Final = ("path", "partition", "bytes", "version")

EndStatus = Literal["open", "committed", "aborted"]


class Identity(NamedTuple):
    """The identity of a ledger: its id, its name, and the domain that is read."""

    ledger: str
    name: str
    domain: int


class SessionRow(NamedTuple):
    """A session and its labels; `session` is the position of its open, `ended` of its end or 0."""

    session: int
    user: str
    host: str
    application: str
    lease_ms: int
    ended: int


class TxnPart(NamedTuple):
    """One table of a txn: its write id (0 = no write id) and the number of metadata changes.

    `version` is the commit version of the table, None unless the txn committed; then `read_at` is
    the position it was planned from. `wrote` of a commit: rows changed; of an abort: data may
    remain.
    """

    table: int
    write_id: int
    metadata_events: int
    version: int | None
    read_at: int
    wrote: bool


class TxnRow(NamedTuple):
    """A txn from open to end. `opened`, `ended` and `forgotten` are positions, 0 = not yet.

    Times are milliseconds since 1970 UTC; user, host and application are its session's. `min_open`
    is the least txn that was open when it opened, 0 for a commit without a txn, which opened and
    ended at one position. `reason` says why it was aborted, `evidence` what it lost against.
    `reads` are the tables that a commit read without a write to them.
    """

    txn: int
    type: TxnType
    session: int
    user: str
    host: str
    application: str
    status: EndStatus
    opened: int
    opened_at: int
    deadline: int
    min_open: int
    ended: int
    ended_at: int
    forgotten: int
    reason: str
    parts: tuple[TxnPart, ...]
    evidence: Evidence | None
    reads: tuple[int, ...] = ()


class Counts(NamedTuple):
    """Counts that are kept as numbers.

    Open txns include read-only ones, aborted txns exclude forgotten ones, and tables exist for
    every reader. Mappings are the rows of TXN_TO_WRITE_ID in all tables, dropped ones too, and
    include the ones below the watermark that are not cleaned yet.
    """

    open_txns: int
    aborted_txns: int
    tables: int
    mappings: int


class TableRow(NamedTuple):
    """One incarnation of a table; positions, 0 = not yet.

    `creator` is the open txn that alone may see it, 0 once it exists for all. `version` counts its
    commits, -1 until its creation is committed. Of its write ids those below `mapped_from` are
    committed and have no mapping left. `changed` is when `operation` last changed its metadata,
    `partitioned` when that last made its partition columns others, in names, order, types or ids:
    files added up to there may have the values of other columns.
    """

    table: int
    catalog: str
    name: str
    definition: TableDefinition
    version: int
    last_write_id: int
    mapped_from: int
    created: int
    changed: int
    operation: str
    partitioned: int
    dropped: int
    creator: int

    @property
    def location(self) -> str:
        """The folder or the URI below which its files lie."""
        return self.definition.location

    def __repr__(self) -> str:
        name = f"{self.catalog}.{self.name} ({self.table})"
        columns = amount(len(self.definition.columns), "column")
        return f"<Table {name}, version {self.version}, {columns}>"

    def _repr_html_(self) -> str:
        return of_table(self)


class DefinitionRow(NamedTuple):
    """What a table became at a position, for all readers."""

    position: int
    definition: TableDefinition


class MappingRow(NamedTuple):
    """One row of TXN_TO_WRITE_ID of a table."""

    write_id: int
    txn: int


class WatermarkRow(NamedTuple):
    """The cleanup watermark: every live snapshot sees all txns below it as ended (HIVE-18747).

    It is the least of `open_bound`, the least txn that any open txn saw open, of `aborted_bound`,
    the least aborted txn whose data may still be there, and of `next_txn`. `open` and `aborted` are
    the txns that hold it there, None for one that does not; `tables` are those that may hold data
    of the aborted one.
    """

    watermark: int
    open_bound: int
    aborted_bound: int
    next_txn: int
    open: TxnRow | None
    aborted: TxnRow | None
    tables: tuple[int, ...]


class TableMarkRow(NamedTuple):
    """The mark up to which a table may be cleaned, see `ledger.core.state.watermark.TableMark`.

    `version` is the table's version as of `position`, -1 = no version. `open` is the txn that holds
    the mark there, None if no txn does: then `position` is the newest one.
    """

    table: int
    position: int
    write_id: int
    version: int
    open: TxnRow | None


class Reached(NamedTuple):
    """The position of the last event of rows, and its chain in hex digits, "" = unknown.

    Two logs that differ anywhere up to a position have different chains there. `offset` is the
    offset after the event's record, 0 = unknown.
    """

    position: int = 0
    chain: str = ""
    offset: int = 0


class HistoryRow(NamedTuple):
    """One event in brief, and the watermark and next txn id after it.

    (`session`, `n`) is the command it answers, (0, 0) if it answers no command. `outcome` and
    `message` give the reason of a refusal, an abort or a repeat. `ended` are the txns that it
    ended, `forgotten` the aborted txns that it removed.
    """

    position: int
    at: int
    type: str
    txn: int
    session: int
    n: int
    tables: tuple[int, ...]
    outcome: str
    message: str
    ended: tuple[int, ...]
    forgotten: tuple[int, ...]
    watermark: int
    next_txn: int


class OutcomeRow(NamedTuple):
    """The first answer to a command: position, outcome, and `size` allocated ids from `first`."""

    session: int
    n: int
    position: int
    outcome: str
    first: int
    size: int


class FileRow(NamedTuple):
    """A file of a table: `added` and `removed` are positions, `removed` 0 = live.

    `version` is the commit version that added it; `size` is in bytes, `modified` in milliseconds.
    Path and deletion vector together are the file; `partition` has one value per partition column.
    The last fields are what Delta knows about the file, and its rows if the log has them
    (`ledger.AddFile`).
    """

    table: int
    path: str
    vector: str
    partition: tuple[str | None, ...]
    size: int
    modified: int
    stats: str
    added: int
    version: int
    removed: int
    deletion_vector: DeletionVector | None = None
    tags: Tags = Tags()
    base_row_id: int | None = None
    row_version: int | None = None
    rows: bytes = b""

    def __repr__(self) -> str:
        removed = f", removed at {self.removed}" if self.removed else ""
        return f"<File {self.path} of table {self.table}, {amount(self.size, 'byte')}{removed}>"

    def _repr_html_(self) -> str:
        return of_files(f"File of table {self.table}", [self])


class FileChange(NamedTuple):
    """A file that a version of a table added, or removed if `added` is False.

    `place` orders the changes of a version. The `data_change` of a file that was merely rewritten
    is False. The `file` is as the commit left it: the `removed` of an added file is 0.
    """

    version: int
    place: int
    added: bool
    data_change: bool
    file: FileRow


class PartitionRow(NamedTuple):
    """A partition of a table, with sums of its live files.

    `number` counts the partitions of the table from 1, in the order of the first adds. `partition`
    has the values as in the log, of the partition columns that the table had since position
    `partitioned`. `size` is in bytes. `rows` come from the statistics of the files, None if they
    are unknown for a file.
    """

    table: int
    number: int
    partition: tuple[str | None, ...]
    partitioned: int
    files: int
    size: int
    rows: int | None


class VersionRow(NamedTuple):
    """One version of a table, as DESCRIBE HISTORY shows it; `at`, in milliseconds, never falls.

    `txn` and `write_id` are 0 for a table that was created at once. `level` is "" if nothing was
    judged file by file. `adds` and `removes` count the files that the commit listed. `info` is the
    record of an imported version's writer, such as its own `timestamp`, `userName` and
    `userMetadata`: a JSON object, or "".

    `live_files`, `live_size` in bytes and `live_rows` sum up the files that are live with this
    version. `live_rows` is None if the statistics of a file do not count its rows.
    """

    table: int
    version: int
    position: int
    at: int
    txn: int
    write_id: int
    user: str
    operation: str
    level: str
    blind: bool
    read_at: int
    adds: int
    removes: int
    metadata_events: int
    info: str = ""
    live_files: int = 0
    live_size: int = 0
    live_rows: int | None = 0


class TableReadRow(NamedTuple):
    """A commit that read a table without a write to it, and the tables that it wrote."""

    table: int
    position: int
    txn: int
    wrote: tuple[int, ...]


class AppRow(NamedTuple):
    """The progress of an application in a table, and the position of the commit with it."""

    table: int
    app: str
    version: int
    position: int


class ConflictRow(NamedTuple):
    """A txn that lost (`txn` 0 = a one-shot commit), with what it attempted and the evidence.

    `attempted` is the commit's write without file lists; chunks staged before are counted.
    """

    position: int
    at: int
    txn: int
    session: int
    user: str
    evidence: Evidence
    attempted: tuple[TableWrite, ...]
    level: str


class AnomalyRow(NamedTuple):
    """A commit that contradicts the live files.

    `kind` is `removed_not_live` or `marked_not_live` (nothing changed), `marked_unreadable` (the
    vector of the file is not known here, so it keeps all its rows), `marked_beyond_rows` (the file
    has no such row), `added_live` (the new entry replaced the old one; a row tracking backfill may
    do so) or `unreadable_list`, without path: no file of that part is known.
    """

    position: int
    table: int
    kind: str
    path: str
    vector: str


def of_table(row: TableRow) -> str:
    """Return a table: its name, version and columns."""
    definition = row.definition
    by = ", ".join(definition.partition_columns)
    title = f"Table {row.name} ({row.table}), version {row.version}, {definition.layout}"
    title += f", at {definition.location}" if definition.location else ""
    title += f", partitioned by {by}" if by else ""
    columns = [
        (column.name, column.type, "" if column.nullable else "NOT NULL")
        for column in definition.columns
    ]
    return table_of(title, ("column", "type", ""), columns)


def of_files(title: str, files: Sequence[FileRow]) -> str:
    """Return the first files of a read."""
    rows = [
        (file.path, ", ".join(map(str, file.partition)), file.size, file.version)
        for file in files[:SHOWN_MAX]
    ]
    return table_of(title, FILE_HEADS, rows, len(files))
