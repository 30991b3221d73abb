"""Reads from a state in memory: folds a log when asked, keeps all of it, and forgets nothing.

For tests: there is no store, no follower and no delay. Memory and time grow with the log.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from threading import RLock

from ledger.core.commands import Domain, Protocol, TableDefinition
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.lists.visibility import hides, valid_write_ids
from ledger.core.state.watermark import bounds
from ledger.errors import ReaderBehindError
from ledger.log.port import Log
from ledger.reads.errors import (
    check_condition,
    check_list_left,
    check_lists,
    check_number,
    check_reads,
    dropped_table,
    list_too_old,
    plain_read,
    unknown_table,
    unknown_version,
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
from ledger.reads.turns import in_turn, wait_for
from tests.oracle import moments
from tests.oracle.fold import StateFold
from tests.oracle.metadata import metadata
from tests.oracle.rows import End, open_parts
from tests.oracle.whole_numbers import takes_whole_numbers


@takes_whole_numbers
class StateReads(Reads):
    """Answers from the fold of a log, caught up at every call; threads may share it."""

    def __init__(self, log: Log) -> None:
        self._fold = StateFold(log)
        self._turn = RLock()

    @in_turn
    def identity(self) -> Identity:
        created = self._now().state.genesis
        if created is None:
            raise ReaderBehindError(self._fold.state.position, self._fold.state.position + 1, 0)
        return Identity(created.ledger, created.name, created.domain)

    @in_turn
    def position(self) -> int:
        return self._now().state.position

    def wait(self, position: int, timeout_ms: int) -> int:
        return wait_for(self.position, position, timeout_ms)

    def reach(self, position: int, seen: Reached, timeout_ms: int) -> Reached:
        self.wait(max(position, seen.position), timeout_ms)
        with self._turn:
            return self._fold.reached(seen)

    @in_turn
    def valid_txns(self, position: int | None = None) -> ValidTxnList:
        return moments.txns_at(self._fold, self._applied(position))

    @in_turn
    def valid_write_ids(self, table: int, txns: ValidTxnList) -> ValidWriteIdList:
        row, low = self._table(table), self._fold.state.txns.watermark
        versions = self._fold.versions.versions.get(table, ())
        if any(
            version.write_id and version.txn < low and hides(txns, version.txn)
            for version in versions
        ):
            raise list_too_old(table, low)
        return self._write_ids(row, txns)

    @in_turn
    def write_ids_at(self, table: int, position: int | None = None) -> ValidWriteIdList:
        row = self._table(table)
        txns = moments.txns_at(self._fold, self._reached(position))
        if position is not None:
            check_list_left(txns, self._fold.state.txns.watermark, position)
        return self._write_ids(row, txns)

    @in_turn
    def mappings(self, table: int) -> Sequence[MappingRow]:
        return moments.mapped_in(self._fold, self._table(table).table)

    @in_turn
    def table(self, table: int) -> TableRow | None:
        return self._now().tables.get(table)

    @in_turn
    def table_named(self, catalog: str, name: str) -> TableRow | None:
        found = self._now().state.tables.named(catalog, name)
        return self._fold.tables[found.table] if found is not None else None

    @in_turn
    def tables(self, *, include_dropped: bool = False) -> Sequence[TableRow]:
        every = [row for _, row in sorted(self._now().tables.items())]
        return [row for row in every if include_dropped or not (row.creator or row.dropped)]

    @in_turn
    def namespaces(self, position: int | None = None) -> Sequence[NamespaceRow]:
        return moments.namespaces_after(self._fold.events_to(self._applied(position)))

    @in_turn
    def definition(self, table: int, position: int | None = None) -> TableDefinition | None:
        place = self._applied(position)
        known = self._fold.definitions.get(table, ())
        return next((each for since, each in reversed(known) if since <= place), None)

    @in_turn
    def definitions(
        self, table: int, position: int | None = None, *, after: int = 0, limit: int | None = None
    ) -> Sequence[DefinitionRow]:
        return moments.definitions_between(self._fold, table, after, self._applied(position))[
            :limit
        ]

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[MetadataAnswer]:
        check_reads(reads, bounds)
        self.wait(bounds.token, bounds.max_wait_ms)
        self._fold.check_token(bounds.token)
        return self._metadata_now([plain_read(read) for read in reads], bounds)

    @in_turn
    def txn(self, txn: int) -> TxnRow | None:
        self._now()
        return self._txn(txn)

    @in_turn
    def open_txns(self, limit: int) -> Sequence[TxnRow]:
        return self._rows_of(list(islice(self._now().state.txns.open, limit)))

    @in_turn
    def aborted_txns(self, limit: int) -> Sequence[TxnRow]:
        return self._rows_of(sorted(self._now().state.txns.aborted)[:limit])

    @in_turn
    def counts(self) -> Counts:
        state = self._now().state
        txns = state.txns
        return Counts(len(txns.open), len(txns.aborted), len(state.tables.names), txns.mapped)

    @in_turn
    def outcome(self, session: int, n: int) -> OutcomeRow | None:
        return self._now().outcomes.get((session, n))

    @in_turn
    def session(self, session: int) -> SessionRow | None:
        return self._now().sessions.get(session)

    @in_turn
    def session_of(self, nonce: bytes) -> int | None:
        return self._now().nonces.get(nonce)

    @in_turn
    def watermark(self) -> WatermarkRow:
        txns = self._now().state.txns
        marks = bounds(txns)
        oldest = txns.oldest_open() if marks.open_bound == marks.watermark else None
        pins = marks.aborted_bound == marks.watermark
        left = txns.aborted.get(marks.aborted_bound) if pins else None
        has_left = left is not None and bool(left.wrote)
        return WatermarkRow(
            *marks,
            open=self._txn(oldest.txn) if oldest is not None else None,
            aborted=self._txn(marks.aborted_bound) if has_left else None,
            tables=tuple(sorted(left.wrote)) if left is not None else (),
        )

    @in_turn
    def table_mark(self, table: int) -> TableMarkRow:
        mark = moments.mark_of(self._fold, self._table(table))
        then = self._fold.versions.find(table, version=None, position=mark.position, at=0)
        version = then.version if then is not None else -1
        return TableMarkRow(table, mark.position, mark.write_id, version, self._txn(mark.txn))

    @in_turn
    def released_files(
        self, table: int, limit: int, *, since: int = 0, path: str = ""
    ) -> Sequence[FileRow]:
        mark = moments.mark_of(self._fold, self._table(table))
        found = self._fold.files.released(table, mark.position)
        return [each for each in found if (each.removed, each.path) > (since, path)][:limit]

    @in_turn
    def aborted_write_ids(self, table: int, limit: int) -> Sequence[MappingRow]:
        return moments.aborted_in(self._fold, self._table(table))[:limit]

    @in_turn
    def history(self, after: int, limit: int) -> Sequence[HistoryRow]:
        return self._now().history[max(0, after) : max(0, after) + limit]

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
        row, place = self._as_of(table, position, version)
        check_condition(where)
        rows = self._fold.files.files(row, place, where)
        return [each for each in rows if (each.path, each.vector) > (path, vector)][:limit]

    @in_turn
    def file_changes(
        self, table: int, first: int, last: int, limit: int, *, place: int = 0
    ) -> Sequence[FileChange]:
        found = self._fold.files.changes(self._table(table).table)
        meant = (each for each in found if each.version <= last)
        return [each for each in meant if (each.version, each.place) > (first, place)][:limit]

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
        row, place = self._as_of(table, position, version)
        check_condition(where)
        rows = self._fold.files.partitions(row, place, where)
        return [each for each in rows if each.number > after][:limit]

    @in_turn
    def file_paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        return self._now().files.paths(table, path_hash)

    @in_turn
    def version_row(
        self, table: int, *, version: int | None = None, position: int | None = None, at: int = 0
    ) -> VersionRow | None:
        place = self._applied(position)
        return self._fold.versions.find(table, version=version, position=place, at=at)

    @in_turn
    def newest_versions(self, position: int | None = None) -> Sequence[VersionRow]:
        place = self._applied(position)
        rows = self.tables(include_dropped=position is not None)
        there = [row.table for row in rows if not 0 < row.dropped <= place]
        found = (
            self._fold.versions.find(table, version=None, position=place, at=0) for table in there
        )
        return [row for row in found if row is not None]

    @in_turn
    def versions(self, table: int, limit: int, *, below: int | None = None) -> Sequence[VersionRow]:
        number = self._table(table).table
        known = self._fold.versions.versions.get(number, [])
        return [each for each in known if below is None or each.version < below][::-1][:limit]

    @in_turn
    def table_reads(
        self, table: int, limit: int, *, below: int | None = None
    ) -> Sequence[TableReadRow]:
        found = self._fold.table_reads(self._table(table).table)
        return [row for row in found if below is None or row.position < below][:limit]

    @in_turn
    def app(self, table: int, app: str) -> AppRow | None:
        return self._now().versions.apps.get(table, {}).get(app)

    @in_turn
    def apps(self, table: int) -> Sequence[AppRow]:
        number = self._table(table).table
        return [row for _, row in sorted(self._fold.versions.apps.get(number, {}).items())]

    @in_turn
    def progress(self, app: str = "") -> Sequence[AppRow]:
        every = (row for found in self._fold.versions.apps.values() for row in found.values())
        return sorted(row for row in every if app in ("", row.app))

    @in_turn
    def protocol(self, table: int) -> Protocol | None:
        return self._now().versions.protocols.get(table)

    @in_turn
    def domains(self, table: int) -> Sequence[Domain]:
        number = self._table(table).table
        return [each for _, each in sorted(self._fold.versions.domains.get(number, {}).items())]

    @in_turn
    def conflict(self, txn: int) -> ConflictRow | None:
        row = self.txn(txn)
        return self._fold.conflicts.get(row.ended) if row is not None else None

    @in_turn
    def conflicts(self, after: int, limit: int) -> Sequence[ConflictRow]:
        return [row for where, row in self._now().conflicts.items() if where > after][:limit]

    @in_turn
    def anomalies(self, table: int | None, limit: int, *, after: int = 0) -> Sequence[AnomalyRow]:
        found = self._now().files.anomalies
        return [row for row in found if table in (None, row.table) and row.position > after][:limit]

    @in_turn
    def blocks(self, table: int | None = None) -> Sequence[BlocksRow]:
        return self._now().files.blocks(table)

    @in_turn
    def close(self) -> None:
        self._fold.close()

    @in_turn
    def _metadata_now(self, reads: Sequence[Read], bounds: Bounds) -> Sequence[MetadataAnswer]:
        fold = self._now()
        place = fold.state.position
        if not all(moments.is_settled_for(fold, read) for read in reads):
            raise ReaderBehindError(place, place + 1, bounds.max_wait_ms)
        found = [metadata(fold.events, fold.tables, read) for read in reads]
        check_lists(reads, found)
        return [MetadataAnswer(each, "store", place, "absent") for each in found]

    def _now(self) -> StateFold:
        self._fold.catch_up()
        return self._fold

    def _applied(self, position: int | None) -> int:
        self._now()
        return self._reached(position)

    def _reached(self, position: int | None) -> int:
        applied = self._fold.state.position
        if position is None:
            return applied
        check_number("position", position)
        if position > applied:
            raise ReaderBehindError(applied, position, 0)
        return position

    def _write_ids(self, row: TableRow, txns: ValidTxnList) -> ValidWriteIdList:
        name = f"{row.catalog}.{row.name}"
        return valid_write_ids(
            name, txns, moments.mapped_in(self._fold, row.table), row.last_write_id
        )

    def _as_of(self, table: int, position: int | None, version: int | None) -> tuple[TableRow, int]:
        place, row = self._applied(position), self._table(table)
        if version is not None:
            found = self._fold.versions.find(table, version=version, position=0, at=0)
            if found is None:
                raise unknown_version(table, version, self._fold.versions.newest(table))
            place = found.position
        if 0 < row.dropped <= place:
            raise dropped_table(table, row.dropped)
        return row, place

    def _table(self, table: int) -> TableRow:
        row = self.table(table)
        if row is None:
            raise unknown_table(table, self._fold.state.position)
        return row

    def _txn(self, txn: int) -> TxnRow | None:
        still_open = self._fold.state.txns.open.get(txn)
        if still_open is not None:
            return self._fold.txn_row(still_open, End("open", parts=open_parts(still_open)))
        return self._fold.ended_txns.get(txn)

    def _rows_of(self, txns: Iterable[int]) -> list[TxnRow]:
        return [row for row in map(self._txn, txns) if row is not None]
