"""Reads: what can be asked of a ledger's read model, wherever that is.

The SDK, the command line and Spark jobs read through this port and know nothing of rows and stores;
`projections.queries` answers it from a follower's store on this host. Every answer comes from one
prefix of the log, up to `position()` or, where a position is named, up to that. A reader is behind
the log by a little: whoever must see what happened at a position waits for it first.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from ledger.core.commands import Domain, TableDefinition, TableWrite
from ledger.core.commands import Protocol as TableProtocol
from ledger.core.events import Evidence
from ledger.core.ids import TxnType
from ledger.core.valid_lists import ValidTxnList, ValidWriteIdList

EndStatus = Literal["open", "committed", "aborted"]


class Identity(NamedTuple):
    """Who a ledger is: its id, its name, and which of its domains is read."""

    ledger: str
    name: str
    domain: int


class SessionRow(NamedTuple):
    """Who asked; `session` is the position of its open, `ended` that of its end or 0."""

    session: int
    user: str
    host: str
    application: str
    lease_ms: int
    ended: int


class TxnPart(NamedTuple):
    """One table of a txn: its write id there (0 = none) and how often it changed the metadata.

    `version` is the commit version of the table, None unless the txn committed; then `read_at` is
    the position its plan was made from. `wrote` says of a commit that rows changed, of an abort
    that it may have left data.
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
    parts: Sequence[TxnPart]
    evidence: Evidence | None


class TableRow(NamedTuple):
    """One incarnation of a table; positions, 0 = not yet.

    `creator` is the open txn that alone may see it, 0 once it exists for all. `version` counts its
    commits, -1 until its creation is committed. Of its write ids those below `mapped_from` are
    committed and have no mapping left. `changed` is when `operation` last changed its metadata.
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
    dropped: int
    creator: int


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
    tables: Sequence[int]


class HistoryRow(NamedTuple):
    """One event in brief, and the watermark and next txn id after it.

    (`session`, `n`) is the command it answers, (0, 0) if nobody asked. `outcome` and `message` say
    why, where the type does not: of a refusal, an abort, a repeat. `ended` are the txns that it
    ended, `forgotten` the aborted ones it let go.
    """

    position: int
    at: int
    type: str
    txn: int
    session: int
    n: int
    tables: Sequence[int]
    outcome: str
    message: str
    ended: Sequence[int]
    forgotten: Sequence[int]
    watermark: int
    next_txn: int


class OutcomeRow(NamedTuple):
    """The first answer to a command: where, what, and the ids from `first` on that it gave."""

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
    """

    table: int
    path: str
    vector: str
    partition: Sequence[str | None]
    size: int
    modified: int
    stats: str
    added: int
    version: int
    removed: int


class VersionRow(NamedTuple):
    """One version of a table, as DESCRIBE HISTORY shows it; `at`, in milliseconds, never falls.

    `txn` and `write_id` are 0 for a table that was created at once. `level` is "" where nothing was
    judged file by file. `adds` and `removes` count the files that the commit listed.
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


class AppRow(NamedTuple):
    """How far an application came in a table, and the position of the commit that said so."""

    table: int
    app: str
    version: int
    position: int


class ConflictRow(NamedTuple):
    """A txn that lost (`txn` 0 = a one-shot commit), with what it attempted and the evidence.

    `attempted` is as the commit brought it, without file lists; chunks staged before are counted.
    """

    position: int
    at: int
    txn: int
    session: int
    user: str
    evidence: Evidence
    attempted: Sequence[TableWrite]
    level: str


class AnomalyRow(NamedTuple):
    """A commit that says what cannot be.

    `kind` is `removed_not_live` (nothing changed), `added_live` (the new entry took the place of
    the old one) or `unreadable_list`, without path: none of the files of that part is known.
    """

    position: int
    table: int
    kind: str
    path: str
    vector: str


class Reads(Protocol):
    """The read model of one domain. Threads may share it."""

    def identity(self) -> Identity:
        """Return who the ledger is.

        Raises ReaderBehindError while its creation is not applied.
        """
        ...

    def position(self) -> int:
        """Return the position up to which events are applied now."""
        ...

    def wait(self, position: int, timeout_ms: int) -> int:
        """Return the applied position as soon as it is at least `position`.

        Raises ReaderBehindError after `timeout_ms`.
        """
        ...

    def valid_txns(self, position: int | None = None) -> ValidTxnList:
        """Return the valid txn list as of a position, or as of now.

        Its high watermark is the largest txn id given out by then, as for a reader without a txn.
        Raises ReaderBehindError for a position not applied yet.
        """
        ...

    def valid_write_ids(self, table: int, txns: ValidTxnList) -> ValidWriteIdList:
        """Return the write ids of a table that a reader of `txns` may see (rule b3).

        The list carries `catalog.name`, the name as of now. Raises UnknownTableError.
        """
        ...

    def mappings(self, table: int) -> Sequence[MappingRow]:
        """Return TXN_TO_WRITE_ID of a table from the watermark on, write ids ascending."""
        ...

    def table(self, table: int) -> TableRow | None:
        """Return an incarnation of a table, dropped ones too, or None."""
        ...

    def table_named(self, catalog: str, name: str) -> TableRow | None:
        """Return the table that holds a name now, in any case of letters, or None."""
        ...

    def tables(self, *, include_dropped: bool = False) -> Sequence[TableRow]:
        """Return the tables that exist for all, or every incarnation there ever was."""
        ...

    def definition(self, table: int, position: int | None = None) -> TableDefinition | None:
        """Return what a table was for all as of a position, or is now or was when it was dropped.

        Files of that position are partitioned by its partition columns. None before it existed for
        all. Raises ReaderBehindError for a position not applied yet.
        """
        ...

    def txn(self, txn: int) -> TxnRow | None:
        """Return a txn, however long ago it ended, or None."""
        ...

    def open_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the open txns, read-only ones too, oldest first."""
        ...

    def aborted_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the aborted txns that are not forgotten, least id first."""
        ...

    def outcome(self, session: int, n: int) -> OutcomeRow | None:
        """Return the first answer to a command, None if it has none up to `position()`."""
        ...

    def session(self, session: int) -> SessionRow | None:
        """Return a session, however long ago it ended, or None."""
        ...

    def session_of(self, nonce: bytes) -> int | None:
        """Return the session that was opened last with this nonce, or None."""
        ...

    def watermark(self) -> WatermarkRow:
        """Return the cleanup watermark as of now and what holds it."""
        ...

    def history(self, after: int, limit: int) -> Sequence[HistoryRow]:
        """Return the events that follow position `after`, oldest first."""
        ...

    def files(
        self, table: int, *, position: int | None = None, version: int | None = None
    ) -> Sequence[FileRow]:
        """Return the files live now, or as of a position or a version of the table, by path.

        Raises UnknownTableError, also for a position at or after its drop, ReaderBehindError for a
        position not applied yet, and UnknownVersionError for a version the table does not have.
        """
        ...

    def file_paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        """Return the paths that commits named and that go by a hash, live or not."""
        ...

    def version_row(
        self, table: int, *, version: int | None = None, position: int | None = None, at: int = 0
    ) -> VersionRow | None:
        """Return a version, or the last one up to a time or a position, without any the newest.

        None if there is none. Raises ReaderBehindError for a position not applied yet.
        """
        ...

    def versions(self, table: int, limit: int, *, below: int | None = None) -> Sequence[VersionRow]:
        """Return the versions of a table, newest first, those below `below` if given."""
        ...

    def app(self, table: int, app: str) -> AppRow | None:
        """Return how far an application came in a table."""
        ...

    def apps(self, table: int) -> Sequence[AppRow]:
        """Return the applications that recorded progress in a table, by name."""
        ...

    def protocol(self, table: int) -> TableProtocol | None:
        """Return the protocol of a table as its last protocol action left it, None without one."""
        ...

    def domains(self, table: int) -> Sequence[Domain]:
        """Return the domain metadata of a table that was not removed, by name."""
        ...

    def conflict(self, txn: int) -> ConflictRow | None:
        """Return why a txn lost, None if it did not."""
        ...

    def conflicts(self, after: int, limit: int) -> Sequence[ConflictRow]:
        """Return the conflicts that follow position `after`."""
        ...

    def anomalies(self, table: int | None, limit: int) -> Sequence[AnomalyRow]:
        """Return commits that say what cannot be, of one table or of all, oldest first."""
        ...

    def close(self) -> None:
        """Let go of what the reads are made from; closing twice is allowed."""
        ...
