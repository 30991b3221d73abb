"""How a client works with the rows of tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ledger.sdk.given import check_arrow
from ledger.sdk.names import TableLike
from ledger.sdk.parts import PartOfLedger
from ledger.sdk.reading import known_row
from ledger.sdk.receipt import Token
from ledger.sdk.time_zones import ZoneLike

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.sdk.expressions import Expression
    from ledger.tables.changes import ChangeFeed
    from ledger.tables.scan import Scan
    from ledger.tables.sql import SqlResult
    from ledger.tables.vacuum import VacuumReport


class LedgerRows(PartOfLedger):
    """The part of a client that deals with rows."""

    def scan(
        self,
        table: TableLike,
        where: "str | Expression | None" = None,
        columns: Sequence[str] | None = None,
        *,
        version: int | None = None,
        position: Token | int | None = None,
        at: "datetime | str | None" = None,
        time_zone: ZoneLike | None = None,
    ) -> "Scan":
        """Return the rows of a table that fulfil a condition, with all or some columns.

        The newest state is read, or the state of a `version`, a `position`, or a time `at`: a
        datetime or a text with a zone. `time_zone` says how the condition reads timestamps without
        a zone, and when days begin; by default it is the client's.

        Needs the extra `arrow`. Raises as `read`, UnreadableTableError for a column whose type
        Arrow lacks, and PredicateSyntaxError for a condition that is not supported on rows.
        """
        check_arrow()
        from ledger.tables.scanning import scan_table  # noqa: PLC0415 - loads Arrow

        number, _ = self._names.find(table)
        return scan_table(
            self._view,
            number,
            where,
            columns,
            version=version,
            position=position,
            at=at,
            time_zone=time_zone,
        )

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
        from ledger.tables.sql import SqlPlace  # noqa: PLC0415 - loads DuckDB

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
        from ledger.tables.changes import ChangeFeed, version_after  # noqa: PLC0415

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

    def vacuum(
        self, table: TableLike, *, dry_run: bool = False, older_than_h: float = 168.0
    ) -> "VacuumReport":
        """Delete data files of a table that no reader needs; a dry run only finds them.

        These are files that a commit removed more than `older_than_h` hours ago and that no open
        txn can see, and files as old that no commit named and no writer can still commit. So
        earlier versions of the table can be read as far back as that. A vacuum of more than two
        seconds shows its progress on a terminal and in a notebook.

        Raises FilesUnknownError for a table whose files the ledger does not list, and
        FileListError if a commit has a list that cannot be decoded.
        """
        check_arrow()
        from ledger.tables.progress import WorkBar  # noqa: PLC0415
        from ledger.tables.vacuum import Vacuum  # noqa: PLC0415 - loads Arrow

        number, _ = self._names.find(table)
        reads = self._view.reads()
        row = known_row(reads, number)
        with WorkBar(f"vacuum {row.name}") as bar:
            return Vacuum(reads, row, older_than_h).run(dry_run=dry_run, progress=bar)
