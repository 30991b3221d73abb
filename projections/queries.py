"""Queries: the `Reads` of a row store, for any process of the host.

Every public call first catches up with the writer, so it answers from the newest whole batch.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ledger.clock import is_now
from ledger.core.commands import Domain, Protocol, TableDefinition
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.errors import LogRewrittenError
from ledger.reads.errors import (
    check_condition,
    check_list_left,
    check_reads,
    list_lost,
    list_too_old,
    plain_read,
)
from ledger.reads.metadata import AT_HAND, Bounds, MetadataAnswer, Read
from ledger.reads.port import (
    AnomalyRow,
    AppRow,
    BlocksRow,
    ConflictRow,
    Counts,
    DefinitionRow,
    FileChange,
    FileRow,
    HistoryRow,
    Identity,
    MappingRow,
    NamespaceRow,
    OutcomeRow,
    PartitionRow,
    Reached,
    Reads,
    SessionRow,
    TableMarkRow,
    TableReadRow,
    TableRow,
    TxnRow,
    VersionRow,
    WatermarkRow,
)
from ledger.reads.turns import in_time, in_turn, wait_for
from ledger.reads.whole_numbers import whole_number, whole_or_none
from projections.reads import (
    conflict_lookups,
    file_changes,
    listings,
    lookups,
    mark_lookups,
    namespace_lookups,
    snapshots,
    version_lookups,
)
from projections.reads.rows_in_turn import RowsInTurn
from projections.store.port import RowReader
from projections.store.rocks_reader import RocksReader

if TYPE_CHECKING:
    from projections.cache.reads import MetadataCache

# A server has several readers, each with entries of its own.
METADATA_BYTES_MAX: Final = 32 << 20


def open_reads(path: Path) -> "StoreReads":
    """Return the reads of the store that a follower writes at `path`; raises StoreMissingError."""
    return StoreReads(RocksReader.open(path))


class StoreReads(RowsInTurn, Reads):
    """Answers any thread from the rows of one store; closes its reader."""

    def __init__(self, rows: RowReader) -> None:
        super().__init__(rows)
        self._metadata: MetadataCache | None = None

    @in_turn
    def identity(self) -> Identity:
        return lookups.identity(self._fresh())

    @in_turn
    def position(self) -> int:
        return lookups.position(self._fresh())

    def wait(self, position: int, timeout_ms: int) -> int:
        asked = whole_number("position", position), whole_number("timeout_ms", timeout_ms)
        return wait_for(self.position, *asked)

    def reach(self, position: int, seen: Reached, timeout_ms: int) -> Reached:
        wanted, wait_ms = whole_number("position", position), whole_number("timeout_ms", timeout_ms)
        wanted = max(wanted, seen.position)
        found = self._reached(seen)
        if found.position >= wanted:
            return found
        self.wait(wanted, wait_ms)
        return self._reached(seen)

    @in_turn
    def _reached(self, seen: Reached) -> Reached:
        return lookups.reached(self._fresh(), seen)

    @in_turn
    def valid_txns(self, position: int | None = None) -> ValidTxnList:
        rows = self._fresh()
        return snapshots.valid_txns(rows, self._applied(position))

    @in_turn
    def valid_write_ids(self, table: int, txns: ValidTxnList) -> ValidWriteIdList:
        rows = self._fresh()
        row = self._table(table)
        if (lost := snapshots.lost_in(rows, txns)) is not None:
            raise list_lost(*lost)
        if snapshots.hides_cleaned(rows, row.table, txns):
            raise list_too_old(row.table, snapshots.watermark(rows))
        return snapshots.valid_write_ids(rows, row, txns)

    @in_turn
    def write_ids_at(self, table: int, position: int | None = None) -> ValidWriteIdList:
        rows = self._fresh()
        row, place = self._table(table), self._applied(position)
        txns = snapshots.valid_txns(rows, place)
        if position is not None:
            check_list_left(txns, snapshots.watermark(rows), place)
        return snapshots.valid_write_ids(rows, row, txns)

    @in_turn
    def mappings(self, table: int) -> Sequence[MappingRow]:
        return list(snapshots.mappings(self._fresh(), self._table(table)))

    @in_turn
    def table(self, table: int) -> TableRow | None:
        return lookups.table(self._fresh(), whole_number("table", table))

    @in_turn
    def table_named(self, catalog: str, name: str) -> TableRow | None:
        return lookups.table_named(self._fresh(), catalog, name)

    @in_turn
    def tables(self, *, include_dropped: bool = False) -> Sequence[TableRow]:
        rows = self._fresh()
        return list(lookups.every_table(rows)) if include_dropped else lookups.tables(rows)

    @in_turn
    def definition(self, table: int, position: int | None = None) -> TableDefinition | None:
        rows = self._fresh()
        return lookups.definition(rows, whole_number("table", table), self._applied(position))

    @in_turn
    def definitions(
        self, table: int, position: int | None = None, *, after: int = 0, limit: int | None = None
    ) -> Sequence[DefinitionRow]:
        rows, number, place = self._fresh(), whole_number("table", table), self._applied(position)
        behind, most = whole_number("after", after), whole_or_none("limit", limit)
        return list(lookups.definitions_behind(rows, number, place, behind, most))

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[MetadataAnswer]:
        check_reads(reads, bounds)
        plain = [plain_read(read) for read in reads]
        at_hand = bounds._replace(token=whole_number("token", bounds.token), max_wait_ms=0)
        return in_time(lambda _left_s: self._metadata_now(plain, at_hand), bounds.max_wait_ms)

    @in_turn
    def txn(self, txn: int) -> TxnRow | None:
        return lookups.txn(self._fresh(), whole_number("txn", txn))

    @in_turn
    def open_txns(self, limit: int) -> Sequence[TxnRow]:
        sets = self._txns_now()
        return lookups.txns(
            self._rows, sorted(sets.open | sets.read_only)[: whole_number("limit", limit)]
        )

    @in_turn
    def aborted_txns(self, limit: int) -> Sequence[TxnRow]:
        aborted = sorted(self._txns_now().aborted)
        return lookups.txns(self._rows, aborted[: whole_number("limit", limit)])

    @in_turn
    def counts(self) -> Counts:
        return lookups.counts(self._fresh())

    @in_turn
    def outcome(self, session: int, n: int) -> OutcomeRow | None:
        numbers = whole_number("session", session), whole_number("n", n)
        return lookups.outcome(self._fresh(), *numbers)

    @in_turn
    def session(self, session: int) -> SessionRow | None:
        return lookups.session(self._fresh(), whole_number("session", session))

    @in_turn
    def session_of(self, nonce: bytes) -> int | None:
        return lookups.session_of(self._fresh(), nonce)

    @in_turn
    def watermark(self) -> WatermarkRow:
        return lookups.watermark(self._fresh())

    @in_turn
    def table_mark(self, table: int) -> TableMarkRow:
        return mark_lookups.mark_row(self._fresh(), self._table(table))

    @in_turn
    def released_files(
        self, table: int, limit: int, *, since: int = 0, path: str = ""
    ) -> Sequence[FileRow]:
        rows, most = self._fresh(), whole_number("limit", limit)
        behind = whole_number("since", since)
        return mark_lookups.released_files(rows, self._table(table), most, behind, path)

    @in_turn
    def aborted_write_ids(self, table: int, limit: int) -> Sequence[MappingRow]:
        rows, most = self._fresh(), whole_number("limit", limit)
        return mark_lookups.aborted_write_ids(rows, self._table(table), most)

    @in_turn
    def history(self, after: int, limit: int) -> Sequence[HistoryRow]:
        rows, start = self._fresh(), whole_number("after", after)
        return list(lookups.history(rows, start, whole_number("limit", limit)))

    @in_turn
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
        rows, most = self._fresh(), whole_or_none("limit", limit)
        row, place = self._as_of(table, position, version)
        check_condition(where)
        return listings.files(rows, row, place, most, behind=(path, vector), where=where)

    @in_turn
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
        rows, most = self._fresh(), whole_or_none("limit", limit)
        row, place = self._as_of(table, position, version)
        behind = whole_number("after", after)
        check_condition(where)
        if version_lookups.is_newest_at(rows, row.table, place):
            return listings.partitions_now(rows, row, most, where=where, after=behind)
        return listings.partitions_at(rows, row, place, most, where=where, after=behind)

    @in_turn
    def file_changes(
        self, table: int, first: int, last: int, limit: int, *, place: int = 0
    ) -> Sequence[FileChange]:
        rows, most = self._fresh(), whole_number("limit", limit)
        behind = whole_number("place", place)
        between = whole_number("first", first), whole_number("last", last)
        row = self._table(table)
        return list(file_changes.file_changes(rows, row.table, between, most, behind))

    @in_turn
    def file_paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        rows, number = self._fresh(), whole_number("table", table)
        return listings.paths(rows, number, path_hash) if lookups.is_row_number(number) else []

    @in_turn
    def version_row(
        self, table: int, *, version: int | None = None, position: int | None = None, at: int = 0
    ) -> VersionRow | None:
        rows, number, time = self._fresh(), whole_number("table", table), whole_number("at", at)
        place = whole_or_none("position", position)
        if version is not None:
            return version_lookups.version(rows, number, whole_number("version", version))
        if time:
            newest = version_lookups.at_position(rows, number, self._applied(None))
            if newest is not None and is_now(time, newest.at):
                return newest
            return version_lookups.at_time(rows, number, time)
        return version_lookups.at_position(rows, number, self._applied(place))

    @in_turn
    def newest_versions(self, position: int | None = None) -> Sequence[VersionRow]:
        rows, at = self._fresh(), None if position is None else self._applied(position)
        return list(version_lookups.newest_rows(rows, at))

    @in_turn
    def versions(self, table: int, limit: int, *, below: int | None = None) -> Sequence[VersionRow]:
        rows, most, end = self._fresh(), whole_number("limit", limit), whole_or_none("below", below)
        return list(version_lookups.versions(rows, self._table(table).table, most, end))

    @in_turn
    def table_reads(
        self, table: int, limit: int, *, below: int | None = None
    ) -> Sequence[TableReadRow]:
        rows, most, end = self._fresh(), whole_number("limit", limit), whole_or_none("below", below)
        return list(version_lookups.table_reads(rows, self._table(table).table, most, end))

    @in_turn
    def app(self, table: int, app: str) -> AppRow | None:
        return version_lookups.app(self._fresh(), whole_number("table", table), app)

    @in_turn
    def apps(self, table: int) -> Sequence[AppRow]:
        rows = self._fresh()
        return list(version_lookups.apps(rows, self._table(table).table))

    @in_turn
    def namespaces(self, position: int | None = None) -> Sequence[NamespaceRow]:
        rows = self._fresh()
        return list(namespace_lookups.namespaces(rows, self._applied(position)))

    @in_turn
    def progress(self, app: str = "") -> Sequence[AppRow]:
        return list(version_lookups.progress(self._fresh(), app))

    @in_turn
    def protocol(self, table: int) -> Protocol | None:
        return version_lookups.protocol(self._fresh(), whole_number("table", table))

    @in_turn
    def domains(self, table: int) -> Sequence[Domain]:
        rows = self._fresh()
        return list(version_lookups.domains(rows, self._table(table).table))

    @in_turn
    def conflict(self, txn: int) -> ConflictRow | None:
        return conflict_lookups.conflict(self._fresh(), whole_number("txn", txn))

    @in_turn
    def conflicts(self, after: int, limit: int) -> Sequence[ConflictRow]:
        rows, start = self._fresh(), whole_number("after", after)
        return list(conflict_lookups.conflicts(rows, start, whole_number("limit", limit)))

    @in_turn
    def anomalies(self, table: int | None, limit: int, *, after: int = 0) -> Sequence[AnomalyRow]:
        rows, number = self._fresh(), whole_or_none("table", table)
        return listings.anomalies(
            rows, number, whole_number("limit", limit), whole_number("after", after)
        )

    @in_turn
    def blocks(self, table: int | None = None) -> Sequence[BlocksRow]:
        return listings.blocks(self._fresh(), whole_or_none("table", table))

    @in_turn
    def close(self) -> None:
        self._rows.close()

    @in_turn
    def _metadata_now(self, reads: Sequence[Read], bounds: Bounds) -> Sequence[MetadataAnswer]:
        if self._metadata is None:
            from projections.cache.reads import MetadataCache  # noqa: PLC0415 - for metadata only

            self._metadata = MetadataCache.over(self._rows, bytes_max=METADATA_BYTES_MAX)
        try:
            return self._metadata.metadata(reads, bounds)
        except LogRewrittenError as lost:
            # With a chain, the entries have seen lost events, and new entries follow the present
            # log. Without one, only the reader's token is lost.
            if lost.seen:
                self._metadata = None
            raise

    def _txns_now(self) -> snapshots.TxnSets:
        rows = self._fresh()
        return snapshots.txns_at(rows, lookups.position(rows))
