"""How a client works with the rows of tables."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from warnings import warn

from ledger.clock import time_text
from ledger.definitions.given import check_arrow
from ledger.definitions.names import TableLike
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.errors import ReaderBehindError
from ledger.expressions.build import Expression, condition_in
from ledger.reads.html import ShownList
from ledger.reads.row_counts import rows_in
from ledger.reads.whole_numbers import whole_number
from ledger.session.receipt import Token
from ledger.snapshot.as_of import AsOf, known_row
from ledger.snapshot.table_snapshot import TableSnapshot
from ledger.transaction.client_txns import LedgerTxns

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.reads.port import VersionRow
    from ledger.snapshot.changes import ChangeFeed
    from ledger.snapshot.scan import Scan
    from ledger.snapshot.sql import SqlResult
    from ledger.tables.vacuum_report import VacuumReport


class LedgerRows(LedgerTxns):
    """The part of a client that deals with rows."""

    def scan(
        self,
        table: TableLike,
        where: str | Expression | None = None,
        columns: Sequence[str] | None = None,
        *,
        version: int | None = None,
        position: Token | int | None = None,
        at: "datetime | str | None" = None,
        limit: int | None = None,
        time_zone: ZoneLike | None = None,
    ) -> "Scan":
        """Return the rows of a table that fulfil a condition, with all or some columns.

        The newest state is read, or the state of a `version`, a `position`, or a time `at`: a
        datetime or a text with a zone. There are at most `limit` rows. `time_zone` says how the
        condition reads timestamps without a zone, and when days begin; by default it is the
        client's.

        Needs the extra `arrow`. Raises as `read`, UnreadableTableError for a column whose type
        Arrow lacks, and PredicateSyntaxError for a condition that is not supported on rows.
        """
        check_arrow()
        from ledger.snapshot.scan import Scan  # noqa: PLC0415 - loads Arrow

        number, _ = self._names.find(table)
        zone = self._view.zone if time_zone is None else zone_named(time_zone)
        as_of = AsOf(version, position, at)
        snapshot = TableSnapshot.of(self._view, number, as_of, zone)
        return Scan.of(snapshot, condition_in(where), columns, limit=limit)

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        version: int | None = None,
        position: Token | int | None = None,
        at: "datetime | str | None" = None,
    ) -> "SqlResult":
        """Return the rows of a query in DuckDB's SQL, with all tables as of one position.

        The query names tables as this client does, or with their catalog first. `parameters` are
        values for `?` or `$1` in order, or for `$name` by name. The position is the newest one, or
        `position`, or the one of a time `at`, or of a `version` of the only table.

        Needs the extra `sql`. Raises QuerySyntaxError for anything but one query,
        UnknownTableError, FilesUnknownError for a table whose files the ledger does not list, and
        as `scan`.
        """
        check_arrow()
        from ledger.snapshot.sql import SqlPlace  # noqa: PLC0415 - loads DuckDB

        reads = self._view.reads(0 if position is None else position)
        place = None if position is None else self._view.position_of(position)
        found = SqlPlace(reads, self._names.catalog, self._view.zone)
        return found.query(query, parameters, version=version, position=place, at=at)

    def changes(
        self,
        table: TableLike,
        after: int | Token | str | None = None,
        *,
        position: int | None = None,
        follow: bool = False,
    ) -> "ChangeFeed":
        """Return the commits of a table that follow `after`, oldest first.

        `after` is a version, or the token of a commit that was got before, also as text; None is
        from the first version on. `position` names a position of the log in its place. With
        `follow` the feed waits for further commits, until the table is dropped.

        Raises UnknownVersionError, FilesUnknownError for a table whose files the ledger does not
        list, and ValueError for both a place and a position.
        """
        from ledger.snapshot.changes import ChangeFeed, version_after  # noqa: PLC0415

        if after is not None and position is not None:
            raise ValueError("give after or position, not both")
        number, _ = self._names.find(table)
        place = Token.parse(after) if isinstance(after, str) else after
        version = None if isinstance(place, Token) else place
        seen = place if isinstance(place, Token) else position
        reads = self._view.reads(0 if seen is None else seen)
        row = known_row(reads, number)
        behind = None if seen is None else self._view.position_of(seen)
        return ChangeFeed(reads, row, version_after(reads, row, version, behind), follow=follow)

    def history(self, table: TableLike, limit: int = 100) -> "Sequence[VersionRow]":
        """Return the newest versions of a table, newest first.

        Each has its user, time and operation, and the number of files that it added and
        removed. Raises UnknownTableError, and ValueError for a limit below 1.
        """
        if whole_number("limit", limit) < 1:
            raise ValueError(f"limit must be 1 or more, got {limit}")
        versions = self._view.reads().versions(self._names.number(table), limit)
        heads = ("version", "time (UTC)", "operation", "user", "added", "removed", "rows")
        return ShownList("version", versions, heads, version_cells)

    def vacuum(
        self,
        table: TableLike,
        *,
        dry_run: bool = False,
        older_than_h: float = 168.0,
        only: Collection[str] | None = None,
    ) -> "VacuumReport":
        """Delete data files of a table that no reader needs; a dry run only finds them.

        These are files that a commit removed more than `older_than_h` hours ago and that no open
        txn can see, and files as old that no commit named and no writer can still commit. So
        earlier versions of the table can be read as far back as that. The files of dropped tables
        that had the name of the table go too; a dropped table can be given itself. With `only`, the
        paths of files as the log has them, no other file goes. A vacuum of more than two seconds
        shows its progress on a terminal and in a notebook.

        Where the rows do not reach the end of the log in time, the vacuum stops: it deletes nothing
        more, warns, and its report has the error as `stopped_by`.

        Raises FilesUnknownError for a table whose files the ledger does not list, and FileListError
        if a commit has a list that cannot be decoded.
        """
        check_arrow()
        from ledger.files.progress import WorkBar  # noqa: PLC0415
        from ledger.tables.vacuum import Vacuum, cleaned_tables  # noqa: PLC0415 - loads Arrow

        reads = self._view.reads()
        rows = cleaned_tables(reads, self.catalog, table)
        if not rows:
            rows = [known_row(reads, self._names.number(table))]
        with WorkBar(f"vacuum {rows[0].name}") as bar:
            work = Vacuum(reads, rows, older_than_h, look=self._look_at_end, only=only)
            report = work.run(dry_run=dry_run, progress=bar)
        warn_of_stop(report.stopped_by)
        return report

    def vacuum_all(
        self, *, dry_run: bool = False, older_than_h: float = 168.0
    ) -> "Sequence[VacuumReport]":
        """Do as `vacuum` for all tables of the client's catalog, those that were dropped too.

        There is a report for each location with files that go, and for each that cannot be cleaned:
        its `note` says why.
        """
        check_arrow()
        from ledger.files.progress import WorkBar  # noqa: PLC0415
        from ledger.tables.vacuum import Vacuum, cleaned_tables  # noqa: PLC0415 - loads Arrow

        reads = self._view.reads()
        rows = cleaned_tables(reads, self.catalog)
        with WorkBar(f"vacuum catalog {self.catalog}") as bar:
            work = Vacuum(reads, rows, older_than_h, look=self._look_at_end, is_lenient=True)
            reports = work.run_all(dry_run=dry_run, progress=bar)
        warn_of_stop(reports[0].stopped_by if reports else None)
        return reports

    def _look_at_end(self) -> int:
        """Wait until the rows have reached the end of the log; return the ledger's time there."""
        with self.begin("read_only") as txn:
            at = txn.opened_at
        self._view.reads()
        return at


def version_cells(row: "VersionRow") -> Sequence[object]:
    """Return what a history shows of a version."""
    rows = rows_in(row.info)
    counts = (row.adds, row.removes, "" if rows is None else rows)
    return row.version, time_text(row.at), row.operation, row.user, *counts


def warn_of_stop(problem: ReaderBehindError | None) -> None:
    """Warn that a vacuum did not come to its end, if an error stopped it."""
    if problem is not None:
        warn(f"the vacuum stopped, and deletes nothing more: {problem}", stacklevel=3)
