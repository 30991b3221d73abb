"""Reads over HTTP: for clients of a follower or metadata cache on another host.

The counterpart of `projections.web`; `http_questions` sends the requests.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from ledger.core.commands import Domain, Protocol, TableDefinition
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.reads.cache import CacheReads, CacheStatus, VerifiedCache
from ledger.reads.errors import check_condition, check_reads
from ledger.reads.http_form import from_json, to_json
from ledger.reads.http_questions import ROWS_MAX, Given, HttpQuestions, in_parts
from ledger.reads.metadata import AT_HAND, Bounds, MetadataAnswer, Read, ReadAt, settled
from ledger.reads.port import (
    AnomalyRow,
    AppRow,
    ConflictRow,
    Counts,
    FileChange,
    FileRow,
    HistoryRow,
    Identity,
    MappingRow,
    OutcomeRow,
    PartitionRow,
    Reached,
    Reads,
    SessionRow,
    TableMarkRow,
    TableRow,
    TxnRow,
    VersionRow,
    WatermarkRow,
)
from ledger.reads.whole_numbers import numbers, numbers_given, whole

# A longer condition might not fit the head of a request.
QUERY_CHARS_MAX: Final = 2_000

Listed = TypeVar("Listed")


class HttpReads(HttpQuestions, Reads):
    """The read model behind a URL such as `http://host:8181`; threads may share it.

    `headers` go with every request, for a proxy that wants a login. In addition to the errors of
    `Reads`, every call raises ReadsUnavailableError if there is no answer within `timeout_s`, and
    LimitExceededError for more rows at once than the server gives. Files are requested in pages of
    `page_rows`, so the server never holds a long listing in memory.
    """

    page_rows = ROWS_MAX

    def identity(self) -> Identity:
        """Return the identity of the ledger."""
        return self._get(Identity, "/identity")

    def reach(self, position: int, seen: Reached, timeout_ms: int) -> Reached:
        """Return how far the rows are as soon as they have come to `position` and to `seen`."""
        wanted = whole("position", position)

        def ask(part_ms: int) -> Reached:
            asked = {"at_least": wanted, "seen": seen.position, "chain": seen.chain or None}
            given = {**asked, "max_wait_ms": part_ms}
            return from_json(Reached, self._asked("GET", "/reached", given, wait_ms=part_ms))

        return in_parts(ask, whole("timeout_ms", timeout_ms))

    def valid_txns(self, position: int | None = None) -> ValidTxnList:
        """Return the valid txn list as of a position, or as of now."""
        return self._get(ValidTxnList, "/snapshot", **numbers_given(position=position))

    def valid_write_ids(self, table: int, txns: ValidTxnList) -> ValidWriteIdList:
        """Return the write ids of a table that a reader of `txns` may see."""
        path = of_table(table, "/valid-write-ids")
        return from_json(ValidWriteIdList, self._asked("POST", path, {}, to_json(txns)))

    def write_ids_at(self, table: int, position: int | None = None) -> ValidWriteIdList:
        """Return the write ids of a table that are valid at a position, or now."""
        return self._get(
            ValidWriteIdList,
            of_table(table, "/valid-write-ids"),
            **numbers_given(position=position),
        )

    def mappings(self, table: int) -> Sequence[MappingRow]:
        """Return TXN_TO_WRITE_ID of a table from the watermark on."""
        return self._get(list[MappingRow], of_table(table, "/mappings"))

    def table(self, table: int) -> TableRow | None:
        """Return an incarnation of a table."""
        return self._find(TableRow, of_table(table))

    def table_named(self, catalog: str, name: str) -> TableRow | None:
        """Return the table that holds a name now."""
        return self._find(TableRow, "/tables/named", catalog=catalog, name=name)

    def tables(self, *, include_dropped: bool = False) -> Sequence[TableRow]:
        """Return the tables that exist for all, or every incarnation there ever was."""
        dropped = "true" if include_dropped else None
        return self._get(list[TableRow], "/tables", include_dropped=dropped)

    def definition(self, table: int, position: int | None = None) -> TableDefinition | None:
        """Return what a table was for all as of a position, or is now."""
        path = of_table(table, "/definition")
        return self._find(TableDefinition, path, **numbers_given(position=position))

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[MetadataAnswer]:
        """Return what readers see, in their order, all as of one position."""
        check_reads(reads, bounds)

        def ask(part_ms: int) -> Sequence[MetadataAnswer]:
            return HttpQuestions.metadata(self, reads, bounds._replace(max_wait_ms=part_ms))

        return in_parts(ask, bounds.max_wait_ms)

    def txn(self, txn: int) -> TxnRow | None:
        """Return a txn."""
        return self._find(TxnRow, f"/txns/{whole('txn', txn)}")

    def open_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the open txns, oldest first."""
        return self._get(list[TxnRow], "/txns/open", **numbers(limit=limit))

    def aborted_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the aborted txns that are not forgotten."""
        return self._get(list[TxnRow], "/txns/aborted", **numbers(limit=limit))

    def counts(self) -> Counts:
        """Return how many txns, tables and mappings there are now."""
        return self._get(Counts, "/counts")

    def outcome(self, session: int, n: int) -> OutcomeRow | None:
        """Return the first answer to a command."""
        return self._find(
            OutcomeRow, f"/sessions/{whole('session', session)}/outcomes/{whole('n', n)}"
        )

    def session(self, session: int) -> SessionRow | None:
        """Return a session."""
        return self._find(SessionRow, f"/sessions/{whole('session', session)}")

    def session_of(self, nonce: bytes) -> int | None:
        """Return the session that was opened last with this nonce."""
        return self._find(int, "/sessions/opened-with", nonce=nonce)

    def watermark(self) -> WatermarkRow:
        """Return the cleanup watermark and what holds it."""
        return self._get(WatermarkRow, "/watermark")

    def table_mark(self, table: int) -> TableMarkRow:
        """Return how far a table may be cleaned."""
        return self._get(TableMarkRow, of_table(table, "/mark"))

    def released_files(
        self, table: int, limit: int, *, since: int = 0, path: str = ""
    ) -> Sequence[FileRow]:
        """Return the paths that no snapshot needs, by the position of their last removal."""
        asked = of_table(table, "/released-files")
        return self._get(
            list[FileRow], asked, **numbers(limit=limit, since=since), path=path or None
        )

    def aborted_write_ids(self, table: int, limit: int) -> Sequence[MappingRow]:
        """Return the aborted write ids of a table below its mark."""
        return self._get(
            list[MappingRow], of_table(table, "/aborted-write-ids"), **numbers(limit=limit)
        )

    def history(self, after: int, limit: int) -> Sequence[HistoryRow]:
        """Return the events that follow position `after`."""
        return self._get(list[HistoryRow], "/history", **numbers(after=after, limit=limit))

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
        """Return the files live now, or as of a position or a version of the table."""
        if limit is not None:
            place = numbers_given(position=position, version=version, limit=limit)
            given = {**place, "path": path or None, "vector": vector or None}
            return self._listed(list[FileRow], of_table(table, "/files"), where, given)
        position = self._one_position(position, version)
        page_of = partial(self.files, table, where=where, position=position, version=version)
        found: list[FileRow] = []
        while True:
            page = page_of(limit=self.page_rows, path=path, vector=vector)
            found += page
            if len(page) < self.page_rows:
                return found
            path, vector = page[-1].path, page[-1].vector

    def file_changes(
        self, table: int, first: int, last: int, limit: int, *, place: int = 0
    ) -> Sequence[FileChange]:
        """Return the files that versions `first` to `last` of a table added and removed."""
        return self._get(
            list[FileChange],
            of_table(table, "/changes"),
            **numbers(first=first, last=last, limit=limit, place=place),
        )

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
        """Return the partitions with live files, now or as of a position or a version."""
        if limit is not None:
            given = numbers_given(position=position, version=version, limit=limit, after=after)
            path = of_table(table, "/partitions")
            return self._listed(list[PartitionRow], path, where, given)
        position = self._one_position(position, version)
        page_of = partial(self.partitions, table, where=where, position=position, version=version)
        found: list[PartitionRow] = []
        while True:
            page = page_of(limit=self.page_rows, after=after)
            found += page
            if len(page) < self.page_rows:
                return found
            after = page[-1].number

    def _one_position(self, position: int | None, version: int | None) -> int | None:
        """Return a position for all pages of a listing: pages of several moments are no listing."""
        return self.position() if position is None and version is None else position

    def _listed(
        self, kind: type[Listed], path: str, where: str, given: Mapping[str, Given]
    ) -> Listed:
        """Return a page of a listing; a long condition travels in the body."""
        check_condition(where)
        if len(where) <= QUERY_CHARS_MAX:
            return from_json(kind, self._asked("GET", path, {**given, "where": where or None}))
        return from_json(kind, self._asked("POST", path, given, where.encode()))

    def file_paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        """Return the paths known by a hash."""
        return self._get(list[str], of_table(table, "/paths"), hash=path_hash)

    def version_row(
        self, table: int, *, version: int | None = None, position: int | None = None, at: int = 0
    ) -> VersionRow | None:
        """Return a version, or the last one up to a position or a time."""
        path = of_table(table, "/version")
        return self._find(
            VersionRow,
            path,
            **numbers_given(version=version, position=position, at=whole("at", at) or None),
        )

    def versions(self, table: int, limit: int, *, below: int | None = None) -> Sequence[VersionRow]:
        """Return the versions of a table, newest first."""
        path = of_table(table, "/versions")
        return self._get(
            list[VersionRow], path, **numbers(limit=limit), **numbers_given(below=below)
        )

    def app(self, table: int, app: str) -> AppRow | None:
        """Return how far an application came in a table."""
        return self._find(AppRow, of_table(table, "/apps/named"), name=app)

    def apps(self, table: int) -> Sequence[AppRow]:
        """Return the applications that recorded progress in a table."""
        return self._get(list[AppRow], of_table(table, "/apps"))

    def progress(self, app: str = "") -> Sequence[AppRow]:
        """Return the progress of applications in all tables."""
        return self._get(list[AppRow], "/progress", **({"app": app} if app else {}))

    def protocol(self, table: int) -> Protocol | None:
        """Return the protocol of a table."""
        return self._find(Protocol, of_table(table, "/protocol"))

    def domains(self, table: int) -> Sequence[Domain]:
        """Return the domain metadata of a table."""
        return self._get(list[Domain], of_table(table, "/domains"))

    def conflict(self, txn: int) -> ConflictRow | None:
        """Return why a txn lost."""
        return self._find(ConflictRow, f"/txns/{whole('txn', txn)}/conflict")

    def conflicts(self, after: int, limit: int) -> Sequence[ConflictRow]:
        """Return the conflicts that follow position `after`."""
        return self._get(list[ConflictRow], "/conflicts", **numbers(after=after, limit=limit))

    def anomalies(self, table: int | None, limit: int, *, after: int = 0) -> Sequence[AnomalyRow]:
        """Return commits that say what cannot be."""
        asked = numbers_given(table=table) | numbers(after=after, limit=limit)
        return self._get(list[AnomalyRow], "/anomalies", **asked)


class HttpCache(HttpQuestions, CacheReads):
    """The cache behind a URL such as `http://host:8182`; threads may share it."""

    def metadata_at(self, read: ReadAt, bounds: Bounds = AT_HAND) -> MetadataAnswer:
        """Return what a reader with the list of a position, or of now, sees."""
        catalog = read.catalog or None
        given = {**read._asdict(), "catalog": catalog, **bounds._asdict()}
        answer = self._asked("GET", "/metadata", given, wait_ms=bounds.max_wait_ms)
        return settled(from_json(MetadataAnswer, answer))

    def status(self) -> CacheStatus:
        """Return how it is."""
        return self._get(CacheStatus, "/cache")

    def verify(self, tables: int) -> VerifiedCache:
        """Let the cache compare some of its tables with its store."""
        return from_json(VerifiedCache, self._asked("POST", "/cache/verify", {"tables": tables}))


def of_table(table: int, path: str = "") -> str:
    """Return a path below a table's path."""
    return f"/tables/{whole('table', table)}{path}"
