"""Queries: the `Reads` of a row store, in the process that writes it or in any other of the host.

Every public call first catches up with the writer, so it answers from the newest whole batch.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import RLock
from time import monotonic, sleep
from typing import Final

from ledger.core.commands import Domain, Protocol, TableDefinition
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.errors import LogRewrittenError, ReaderBehindError
from ledger.reads.errors import (
    check_list_left,
    check_number,
    check_reads,
    dropped_table,
    list_lost,
    list_too_old,
    plain_read,
    unknown_table,
    unknown_version,
)
from ledger.reads.metadata import AT_HAND, Answer, Bounds, Read
from ledger.reads.port import (
    AnomalyRow,
    AppRow,
    ConflictRow,
    Counts,
    FileRow,
    HistoryRow,
    Identity,
    MappingRow,
    OutcomeRow,
    Reached,
    Reads,
    SessionRow,
    TableMarkRow,
    TableRow,
    TxnRow,
    VersionRow,
    WatermarkRow,
)
from ledger.reads.turns import PAUSE_MIN_S, in_turn, wait_for
from ledger.reads.whole_numbers import whole, whole_or_none
from projections.cache.reads import MetadataCache
from projections.reads import (
    conflict_lookups,
    listings,
    lookups,
    mark_lookups,
    snapshots,
    version_lookups,
)
from projections.store.port import RowReader
from projections.store.rocks_reader import RocksReader

# A server has several readers, each with entries of its own.
METADATA_BYTES_MAX: Final = 32 << 20


def open_reads(path: Path) -> "StoreReads":
    """Return the reads of the store that a follower writes at `path`; raises StoreMissingError."""
    return StoreReads(RocksReader.open(path))


class StoreReads(Reads):
    """Answers from the rows of one store, to any thread; closes its reader."""

    def __init__(self, rows: RowReader) -> None:
        self._rows = rows
        self._turn = RLock()
        self._metadata: MetadataCache | None = None

    @in_turn
    def identity(self) -> Identity:
        """Return who the ledger is."""
        return lookups.identity(self._fresh())

    @in_turn
    def position(self) -> int:
        """Return the position up to which rows are stored now."""
        return lookups.position(self._fresh())

    def wait(self, position: int, timeout_ms: int) -> int:
        """Return the applied position as soon as it is at least `position`."""
        asked = whole("position", position), whole("timeout_ms", timeout_ms)
        return wait_for(self.position, *asked)

    def reach(self, position: int, seen: Reached, timeout_ms: int) -> Reached:
        """Return how far the rows are as soon as they have come to `position` and to `seen`."""
        wanted, wait_ms = whole("position", position), whole("timeout_ms", timeout_ms)
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
        """Return the valid txn list as of a position, or as of now."""
        rows = self._fresh()
        return snapshots.valid_txns(rows, self._applied(position))

    @in_turn
    def valid_write_ids(self, table: int, txns: ValidTxnList) -> ValidWriteIdList:
        """Return the write ids of a table that a reader of `txns` may see."""
        rows = self._fresh()
        row = self._table(table)
        if (lost := snapshots.lost_in(rows, txns)) is not None:
            raise list_lost(*lost)
        if snapshots.hides_cleaned(rows, row.table, txns):
            raise list_too_old(row.table, snapshots.watermark(rows))
        return snapshots.valid_write_ids(rows, row, txns)

    @in_turn
    def write_ids_at(self, table: int, position: int | None = None) -> ValidWriteIdList:
        """Return the write ids of a table that are valid at a position, or now."""
        rows = self._fresh()
        row, place = self._table(table), self._applied(position)
        txns = snapshots.valid_txns(rows, place)
        if position is not None:
            check_list_left(txns, snapshots.watermark(rows), place)
        return snapshots.valid_write_ids(rows, row, txns)

    @in_turn
    def mappings(self, table: int) -> Sequence[MappingRow]:
        """Return TXN_TO_WRITE_ID of a table from the watermark on."""
        return list(snapshots.mappings(self._fresh(), self._table(table)))

    @in_turn
    def table(self, table: int) -> TableRow | None:
        """Return an incarnation of a table."""
        return lookups.table(self._fresh(), whole("table", table))

    @in_turn
    def table_named(self, catalog: str, name: str) -> TableRow | None:
        """Return the table that holds a name now."""
        return lookups.table_named(self._fresh(), catalog, name)

    @in_turn
    def tables(self, *, include_dropped: bool = False) -> Sequence[TableRow]:
        """Return the tables that exist for all, or every incarnation there ever was."""
        rows = self._fresh()
        return list(lookups.every_table(rows)) if include_dropped else lookups.tables(rows)

    @in_turn
    def definition(self, table: int, position: int | None = None) -> TableDefinition | None:
        """Return what a table was for all as of a position, or is now."""
        rows = self._fresh()
        return lookups.definition(rows, whole("table", table), self._applied(position))

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[Answer]:
        """Return what readers see, in their order, all as of one position.

        What was read before is answered from entries in memory that follow the rows.
        """
        check_reads(reads, bounds)
        plain = [plain_read(each) for each in reads]
        at_hand = bounds._replace(token=whole("token", bounds.token), max_wait_ms=0)
        until_s = monotonic() + bounds.max_wait_ms / 1000
        while True:
            try:
                return self._metadata_now(plain, at_hand)
            except ReaderBehindError as behind:
                if monotonic() >= until_s:
                    told = behind.applied, behind.wanted
                    raise ReaderBehindError(*told, bounds.max_wait_ms) from None
            sleep(PAUSE_MIN_S)

    @in_turn
    def txn(self, txn: int) -> TxnRow | None:
        """Return a txn."""
        return lookups.txn(self._fresh(), whole("txn", txn))

    @in_turn
    def open_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the open txns, oldest first."""
        sets = self._txns_now()
        return lookups.txns(self._rows, sorted(sets.open | sets.read_only)[: whole("limit", limit)])

    @in_turn
    def aborted_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the aborted txns that are not forgotten."""
        aborted = sorted(self._txns_now().aborted)
        return lookups.txns(self._rows, aborted[: whole("limit", limit)])

    @in_turn
    def counts(self) -> Counts:
        """Return how many txns, tables and mappings there are now."""
        return lookups.counts(self._fresh())

    @in_turn
    def outcome(self, session: int, n: int) -> OutcomeRow | None:
        """Return the first answer to a command."""
        return lookups.outcome(self._fresh(), whole("session", session), whole("n", n))

    @in_turn
    def session(self, session: int) -> SessionRow | None:
        """Return a session."""
        return lookups.session(self._fresh(), whole("session", session))

    @in_turn
    def session_of(self, nonce: bytes) -> int | None:
        """Return the session that was opened last with this nonce."""
        return lookups.session_of(self._fresh(), nonce)

    @in_turn
    def watermark(self) -> WatermarkRow:
        """Return the cleanup watermark and what holds it."""
        return lookups.watermark(self._fresh())

    @in_turn
    def table_mark(self, table: int) -> TableMarkRow:
        """Return how far a table may be cleaned."""
        return mark_lookups.mark_row(self._fresh(), self._table(table))

    @in_turn
    def released_files(
        self, table: int, limit: int, *, since: int = 0, path: str = ""
    ) -> Sequence[FileRow]:
        """Return the paths that no snapshot needs, by the position of their last removal."""
        rows, most, behind = self._fresh(), whole("limit", limit), whole("since", since)
        return mark_lookups.released_files(rows, self._table(table), most, behind, path)

    @in_turn
    def aborted_write_ids(self, table: int, limit: int) -> Sequence[MappingRow]:
        """Return the aborted write ids of a table below its mark."""
        rows, most = self._fresh(), whole("limit", limit)
        return mark_lookups.aborted_write_ids(rows, self._table(table), most)

    @in_turn
    def history(self, after: int, limit: int) -> Sequence[HistoryRow]:
        """Return the events that follow position `after`."""
        return list(lookups.history(self._fresh(), whole("after", after), whole("limit", limit)))

    @in_turn
    def files(
        self,
        table: int,
        *,
        position: int | None = None,
        version: int | None = None,
        limit: int | None = None,
        path: str = "",
        vector: str = "",
    ) -> Sequence[FileRow]:
        """Return the files live now, or as of a position or a version of the table."""
        rows, most = self._fresh(), whole_or_none("limit", limit)
        place, row = self._applied(position), self._table(table)
        if version is not None:
            place = self._version(row.table, whole("version", version)).position
        if 0 < row.dropped <= place:
            raise dropped_table(row.table, row.dropped)
        return listings.files(rows, row.table, place, most, behind=(path, vector))

    @in_turn
    def file_paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        """Return the paths known by a hash."""
        rows, number = self._fresh(), whole("table", table)
        return listings.paths(rows, number, path_hash) if lookups.is_row_number(number) else []

    @in_turn
    def version_row(
        self, table: int, *, version: int | None = None, position: int | None = None, at: int = 0
    ) -> VersionRow | None:
        """Return a version, or the last one up to a position or a time."""
        rows, number, time = self._fresh(), whole("table", table), whole("at", at)
        place = whole_or_none("position", position)
        if version is not None:
            return version_lookups.version(rows, number, whole("version", version))
        if time:
            return version_lookups.at_time(rows, number, time)
        return version_lookups.at_position(rows, number, self._applied(place))

    @in_turn
    def versions(self, table: int, limit: int, *, below: int | None = None) -> Sequence[VersionRow]:
        """Return the versions of a table, newest first."""
        rows, most, end = self._fresh(), whole("limit", limit), whole_or_none("below", below)
        return list(version_lookups.versions(rows, self._table(table).table, most, end))

    @in_turn
    def app(self, table: int, app: str) -> AppRow | None:
        """Return how far an application came in a table."""
        return version_lookups.app(self._fresh(), whole("table", table), app)

    @in_turn
    def apps(self, table: int) -> Sequence[AppRow]:
        """Return the applications that recorded progress in a table."""
        rows = self._fresh()
        return list(version_lookups.apps(rows, self._table(table).table))

    @in_turn
    def protocol(self, table: int) -> Protocol | None:
        """Return the protocol of a table."""
        return version_lookups.protocol(self._fresh(), whole("table", table))

    @in_turn
    def domains(self, table: int) -> Sequence[Domain]:
        """Return the domain metadata of a table."""
        rows = self._fresh()
        return list(version_lookups.domains(rows, self._table(table).table))

    @in_turn
    def conflict(self, txn: int) -> ConflictRow | None:
        """Return why a txn lost."""
        return conflict_lookups.conflict(self._fresh(), whole("txn", txn))

    @in_turn
    def conflicts(self, after: int, limit: int) -> Sequence[ConflictRow]:
        """Return the conflicts that follow position `after`."""
        rows, start, most = self._fresh(), whole("after", after), whole("limit", limit)
        return list(conflict_lookups.conflicts(rows, start, most))

    @in_turn
    def anomalies(self, table: int | None, limit: int, *, after: int = 0) -> Sequence[AnomalyRow]:
        """Return commits that say what cannot be."""
        rows, number = self._fresh(), whole_or_none("table", table)
        return listings.anomalies(rows, number, whole("limit", limit), whole("after", after))

    @in_turn
    def close(self) -> None:
        """Close the reader."""
        self._rows.close()

    @in_turn
    def _metadata_now(self, reads: Sequence[Read], bounds: Bounds) -> Sequence[Answer]:
        if self._metadata is None:
            self._metadata = MetadataCache.over(self._rows, bytes_max=METADATA_BYTES_MAX)
        try:
            return self._metadata.metadata(reads, bounds)
        except LogRewrittenError as lost:
            # A chain is what the entries had seen; without one it is the reader's token that is
            # lost. Entries made anew are of the log as it is.
            if lost.seen:
                self._metadata = None
            raise

    def _fresh(self) -> RowReader:
        self._rows.refresh()
        return self._rows

    def _txns_now(self) -> snapshots.TxnSets:
        rows = self._fresh()
        return snapshots.txns_at(rows, lookups.position(rows))

    def _applied(self, position: int | None) -> int:
        """Return a position that must be applied, without one the newest that is."""
        applied = lookups.position(self._rows)
        if position is None:
            return applied
        check_number("position", position)
        wanted = whole("position", position)
        if wanted > applied:
            raise ReaderBehindError(applied, wanted, 0)
        return wanted

    def _table(self, table: int) -> TableRow:
        number = whole("table", table)
        found = lookups.table(self._rows, number)
        if found is None:
            raise unknown_table(number, lookups.position(self._rows))
        return found

    def _version(self, table: int, version: int) -> VersionRow:
        found = version_lookups.version(self._rows, table, version)
        if found is None:
            raise unknown_version(table, version, version_lookups.newest(self._rows, table))
        return found
