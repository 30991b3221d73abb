"""Reads: the port to a ledger's read model, wherever it is.

The SDK, the command line and Spark jobs read through this port and do not know rows or stores;
`projections.queries` answers it from a follower's store on this host. Every answer comes from one
prefix of the log: up to `position()`, or up to the named position. The read model lags behind the
log a little: a caller that must see a position waits for it first.
"""

from collections.abc import Sequence
from typing import Protocol

from ledger.core.commands import Domain, TableDefinition
from ledger.core.commands import Protocol as TableProtocol
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.reads.metadata import MetadataReads
from ledger.reads.namespaces import NamespaceRow
from ledger.reads.row_counts import BlocksRow
from ledger.reads.rows import (
    AnomalyRow,
    AppRow,
    ConflictRow,
    Counts,
    DefinitionRow,
    EndStatus,
    FileChange,
    FileRow,
    HistoryRow,
    Identity,
    MappingRow,
    OutcomeRow,
    PartitionRow,
    Reached,
    SessionRow,
    TableMarkRow,
    TableReadRow,
    TableRow,
    TxnPart,
    TxnRow,
    VersionRow,
    WatermarkRow,
)

__all__ = [
    "AnomalyRow",
    "AppRow",
    "BlocksRow",
    "ConflictRow",
    "Counts",
    "DefinitionRow",
    "EndStatus",
    "FileChange",
    "FileRow",
    "HistoryRow",
    "Identity",
    "MappingRow",
    "NamespaceRow",
    "OutcomeRow",
    "PartitionRow",
    "Reached",
    "Reads",
    "SessionRow",
    "TableMarkRow",
    "TableReadRow",
    "TableRow",
    "TxnPart",
    "TxnRow",
    "VersionRow",
    "WatermarkRow",
]


class Reads(MetadataReads, Protocol):
    """The read model of one domain. Threads may share it.

    A position or a limit below 0 raises ValueError. Over HTTP any impossible number does.
    """

    def identity(self) -> Identity:
        """Return the identity of the ledger.

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

    def reach(self, position: int, seen: Reached, timeout_ms: int) -> Reached:
        """Return how far the rows are, as soon as they have come to `position` and to `seen`.

        Raises LogRewrittenError if the log has another chain at the position that was `seen`,
        ReaderBehindError after `timeout_ms`.
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

        The list carries `catalog.name`, the name as of now. Raises UnknownTableError, and
        SnapshotTooOldError if a mapping of a commit that `txns` hides was cleaned: never for the
        list of an open txn.
        """
        ...

    def write_ids_at(self, table: int, position: int | None = None) -> ValidWriteIdList:
        """Return the write ids of a table that are valid at a position, or now, from one state.

        Raises UnknownTableError, ReaderBehindError for a position not applied yet, and
        LimitExceededError for a position without an exact list.
        """
        ...

    def mappings(self, table: int) -> Sequence[MappingRow]:
        """Return TXN_TO_WRITE_ID of a table from the watermark on, write ids ascending.

        Raises UnknownTableError.
        """
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

    def namespaces(self, position: int | None = None) -> Sequence[NamespaceRow]:
        """Return the namespaces that were created, as of a position or of now.

        A namespace without a row is there while the name of a table begins with it. Raises
        ReaderBehindError for a position not applied yet.
        """
        ...

    def definition(self, table: int, position: int | None = None) -> TableDefinition | None:
        """Return what a table was for all as of a position, or is now or was when it was dropped.

        None before it existed for all. Raises ReaderBehindError for a position not applied yet.
        """
        ...

    def definitions(
        self, table: int, position: int | None = None, *, after: int = 0, limit: int | None = None
    ) -> Sequence[DefinitionRow]:
        """Return what a table was for all up to a position, or up to now, oldest first.

        A row begins at the commit that changed it; a name is no part of it. Only rows behind
        position `after` are returned. Raises ReaderBehindError for a position not applied yet.
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

    def counts(self) -> Counts:
        """Return how many txns, tables and mappings there are now, at a cost that none changes."""
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

    def table_mark(self, table: int) -> TableMarkRow:
        """Return how far a table may be cleaned as of now; raises UnknownTableError."""
        ...

    def released_files(
        self, table: int, limit: int, *, since: int = 0, path: str = ""
    ) -> Sequence[FileRow]:
        """Return the paths that no snapshot needs, by the position of their last removal.

        They were removed at position `since` or later and up to the table's mark; at `since` itself
        only paths behind `path` are returned. So a program can go on from the last path that it
        got. A path that came back, or stays under another deletion vector, is left out. Raises
        UnknownTableError.
        """
        ...

    def aborted_write_ids(self, table: int, limit: int) -> Sequence[MappingRow]:
        """Return the aborted write ids of a table below its mark, under which data may lie.

        Each of them can be forgotten. Left out are ids that are forgotten, in this table or
        altogether, ids of txns that wrote nothing there, and all ids of a dropped table. Raises
        UnknownTableError.
        """
        ...

    def history(self, after: int, limit: int) -> Sequence[HistoryRow]:
        """Return the events that follow position `after`, oldest first."""
        ...

    def files(
        self,
        table: int,
        *,
        where: str = "",
        position: int | None = None,
        version: int | None = None,
        limit: int | None = None,
        path: str = "",
        vector: str = "",
    ) -> Sequence[FileRow]:
        """Return the files live now, or as of a position or a version.

        `where` is a condition in the form of `ledger.core.predicates`, "" = no condition. Files are
        left out by their partition alone: a file that cannot be judged is returned. The cost
        follows the partitions of the table and the files of those that the condition may concern.

        The files are ordered by path and vector, and begin behind `path` and `vector`. So a program
        that got some files of a position or a version can go on from the last one, whatever became
        of the table meanwhile. Raises UnknownTableError, also for a position at or after its drop,
        ReaderBehindError for a position not applied yet, and UnknownVersionError for a version the
        table does not have.
        """
        ...

    def file_changes(
        self, table: int, first: int, last: int, limit: int, *, place: int = 0
    ) -> Sequence[FileChange]:
        """Return the files that versions `first` to `last` added and removed, in order.

        Only changes behind `place` of version `first` are returned. So a program can go on from the
        last change that it got. Raises UnknownTableError.
        """
        ...

    def partitions(
        self,
        table: int,
        *,
        where: str = "",
        position: int | None = None,
        version: int | None = None,
        limit: int | None = None,
        after: int = 0,
    ) -> Sequence[PartitionRow]:
        """Return the partitions that have live files, now or in the past.

        As of a position or a version of the table, as for `files`, and only partitions that the
        condition `where` may concern. They are ordered by number, and begin behind the number
        `after`. For an earlier position the files of these partitions are read and summed up.
        Raises as `files`.
        """
        ...

    def file_paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        """Return the paths that commits named and that go by a hash, live or not."""
        ...

    def version_row(
        self, table: int, *, version: int | None = None, position: int | None = None, at: int = 0
    ) -> VersionRow | None:
        """Return a version, or the last one up to a time or a position, by default the newest.

        None if absent. Raises ReaderBehindError for a position not applied yet.
        """
        ...

    def newest_versions(self, position: int | None = None) -> Sequence[VersionRow]:
        """Return the last version of each table that exists for all, with its sums, by table.

        As of a position: of each table that existed then. Raises ReaderBehindError for a position
        not applied yet.
        """
        ...

    def versions(self, table: int, limit: int, *, below: int | None = None) -> Sequence[VersionRow]:
        """Return the versions of a table, newest first, only versions below `below` if given.

        Raises UnknownTableError.
        """
        ...

    def table_reads(
        self, table: int, limit: int, *, below: int | None = None
    ) -> Sequence[TableReadRow]:
        """Return the commits that read a table without a write to it, newest first.

        Only those below a position, if given. Raises UnknownTableError.
        """
        ...

    def app(self, table: int, app: str) -> AppRow | None:
        """Return how far an application came in a table."""
        ...

    def apps(self, table: int) -> Sequence[AppRow]:
        """Return the applications that recorded progress in a table, by name.

        Raises UnknownTableError.
        """
        ...

    def progress(self, app: str = "") -> Sequence[AppRow]:
        """Return the progress of applications in all tables, or of one, by table and name."""
        ...

    def protocol(self, table: int) -> TableProtocol | None:
        """Return the protocol of a table as its last protocol action left it, None without one."""
        ...

    def domains(self, table: int) -> Sequence[Domain]:
        """Return the domain metadata of a table that was not removed, by name.

        Raises UnknownTableError.
        """
        ...

    def conflict(self, txn: int) -> ConflictRow | None:
        """Return why a txn lost, None if it did not."""
        ...

    def conflicts(self, after: int, limit: int) -> Sequence[ConflictRow]:
        """Return the conflicts that follow position `after`."""
        ...

    def anomalies(self, table: int | None, limit: int, *, after: int = 0) -> Sequence[AnomalyRow]:
        """Return commits that say what cannot be, of one table or of all, oldest first.

        Only those that follow position `after`.
        """
        ...

    def blocks(self, table: int | None = None) -> Sequence[BlocksRow]:
        """Return the tables with rows in the log, or one of them, by id; [] without such rows."""
        ...

    def close(self) -> None:
        """Let go of what the reads are made from; closing twice is allowed."""
        ...
