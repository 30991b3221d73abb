"""Reads: what can be asked of a ledger's read model, wherever that is.

The SDK, the command line and Spark jobs read through this port and know nothing of rows and stores;
`projections.queries` answers it from a follower's store on this host. Every answer comes from one
prefix of the log, up to `position()` or, where a position is named, up to that. A reader is behind
the log by a little: whoever must see what happened at a position waits for it first.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from ledger.core.commands import TableDefinition
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

    def close(self) -> None:
        """Let go of what the reads are made from; closing twice is allowed."""
        ...
