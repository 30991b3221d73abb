"""How a txn reads, adds, removes and rewrites the files of tables.

A read shows the commits up to the txn's open, or up to the requested position. It does not show
what the txn itself adds and removes. Every read is remembered: a later commit that changed what was
read wins.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ledger.core.commands import AppVersion, Domain, Protocol
from ledger.core.rows.bitmaps import RowSet
from ledger.definitions.definitions import names_of
from ledger.definitions.names import TableLike
from ledger.definitions.time_zones import ZoneLike
from ledger.expressions.build import Expression, condition_in
from ledger.reads.port import FileRow
from ledger.session.receipt import Token
from ledger.snapshot.as_of import AsOf
from ledger.snapshot.reading import TableFiles, check_none_added, found_at, is_in_folders
from ledger.transaction.txn_verbs import TxnVerbs
from ledger.work.given_files import (
    AddLike,
    RemoveLike,
    added_files,
    are_given,
    checked_rows,
    columns_of,
    removed_files,
)
from ledger.work.noted_rows import StatementRows, with_marks


class TxnFiles(TxnVerbs):
    """The part of a txn that deals with files.

    After commit() was called, or the txn has ended, every method raises ValueError. If another
    program ended the txn, they raise TxnNotOpenError or SessionExpiredError, which name it. In a
    read-only txn every method but the reads raises CommandInvalidError.
    """

    def read(
        self,
        table: TableLike,
        where: str | Expression | None = None,
        *,
        version: int | None = None,
        position: Token | int | None = None,
        whole: bool = False,
        record: bool = True,
        time_zone: ZoneLike | None = None,
    ) -> TableFiles:
        """Return the files that a condition may concern, and remember that they were read.

        The files are live in the txn's snapshot, or at a named `version` or `position`. Commits to
        the table after its oldest read count as winners. `where` is a condition of Spark SQL or an
        expression. Files are left out by their partition only, so a condition on another column
        returns all files. With `whole` the txn depends on all files of the table. With
        `record=False` the txn's writes do not depend on the files, and the read is not remembered.
        `time_zone` says how the condition reads timestamps without a zone; by default it is the
        client's.

        Raises UnknownTableError, UnknownVersionError, ReaderBehindError, PredicateSyntaxError,
        UnknownColumnError for a column that the table does not have, and FilesUnknownError for a
        table in folders (see `depends_on`), and where only files that the txn added itself fit.
        """
        self._work.ending.check()
        number = self._work.names.number(table)
        snapshot = self._work.snapshot(number, AsOf(version, position), time_zone)
        found = snapshot.read(condition_in(where), whole=whole)
        self._work.check()
        self.check_shown(found)
        if record:
            self._work.writes.read(found)
        return found

    def depends_on(
        self,
        table: TableLike,
        where: str | Expression | None = None,
        *,
        time_zone: ZoneLike | None = None,
    ) -> None:
        """Declare that the txn's writes depend on the rows of a condition, read by other means.

        The rows are in the txn's snapshot. A later commit that changed such rows wins. `time_zone`
        is as for `read`. Raises as `read`, but accepts a table in folders.
        """
        number, row = self._work.names.find(table)
        if row is not None and not is_in_folders(row):
            self.read(table, where, time_zone=time_zone)
            return
        snapshot = self._work.snapshot(number, time_zone=time_zone)
        self._work.writes.read(snapshot.read_unlisted(condition_in(where)))

    def read_whole(self, table: TableLike) -> None:
        """Declare that the txn depends on all rows of a table, without a list of its files."""
        number = self._work.names.number(table)
        self._work.writes.read_whole(number)

    def check_shown(self, read: TableFiles) -> None:
        """Raise FilesUnknownError if a read found no file but leaves out files this txn added."""
        if not read.files:
            check_none_added(read, self._work.writes.added(read.table.table), self._work.id)

    def use(self, read: TableFiles) -> None:
        """Build on a read that was made before: by `ledger.read`, or by a txn that has ended.

        Commits that came after that read win, also those from before this txn opened.
        """
        self._work.writes.read(read)

    def add_files(
        self,
        table: TableLike,
        files: Iterable[AddLike],
        *,
        operation: str = "",
        data_change: bool = True,
    ) -> None:
        """Add files to a table. A txn that reads nothing and only adds is a blind append.

        `operation` is Delta's name of the statement, by default WRITE. `data_change=False` says
        that the rows were in the table before. Raises ValueError for a file that was named before,
        or that does not have a value for every partition column. A call that raises changes
        nothing.
        """
        number, row = self._work.names.find(table)
        given = self._work.once.lasting(files, "add files to", table)
        made = added_files(given, columns_of(row), data_change=data_change)
        kept = list(checked_rows(row, made))
        with self._work.writes.growing(number, operation) as writer:
            writer.add(kept)

    def remove_files(
        self,
        table: TableLike,
        files: Iterable[RemoveLike],
        *,
        operation: str = "",
        read_at: Token | int = 0,
    ) -> None:
        """Remove files from a table: a DELETE, or with files added a WRITE, unless it is named.

        Files of a read are removed as of that read. Files found in another way need `read_at`, the
        position at which they were found; by default it is the txn's snapshot. Raises as
        `add_files`.
        """
        number = self._work.names.number(table)
        files = self._work.once.lasting(files, "remove files of", table)
        place = self._work.view.position_of(read_at) or found_at(files, number)
        # Looking up the columns costs a round trip if rows come from another machine.
        is_spelled = not isinstance(files, TableFiles) and are_given(files)
        row = self._work.names.find(table)[1] if is_spelled else None
        kept = removed_files(files, columns_of(row))
        with self._work.writes.growing(number, operation) as writer:
            writer.remove(kept, self._partitioned(number, files, kept))
            self._work.writes.plan_from(number, place)

    def rewrite_files(
        self,
        table: TableLike,
        removes: Iterable[RemoveLike],
        adds: Iterable[AddLike],
        *,
        operation: str = "",
        read_at: Token | int = 0,
    ) -> None:
        """Put the same rows into other files: an OPTIMIZE, which loses only to removals.

        `read_at` is as for `remove_files`. Raises as `add_files`.
        """
        number, row = self._work.names.find(table)
        columns, verb = columns_of(row), "rewrite files of"
        removes = self._work.once.lasting(removes, verb, table)
        adds = self._work.once.lasting(adds, verb, table)
        place = self._work.view.position_of(read_at) or found_at(removes, number)
        gone = removed_files(removes, columns)
        made = list(checked_rows(row, added_files(adds, columns, data_change=False)))
        with self._work.writes.growing(number, operation) as writer:
            writer.rewrite(gone, made, self._partitioned(number, removes, gone))
            self._work.writes.plan_from(number, place)

    def _partitioned(
        self, table: int, given: Iterable[RemoveLike], files: Sequence[RemoveLike]
    ) -> int:
        """Return the position from which on files have the table's present partition columns.

        If it is not known, no file counts as added after it.
        """
        if isinstance(given, TableFiles):
            return given.table.partitioned
        added = [file.added for file in files if isinstance(file, FileRow)]
        if not added:
            return 0
        row = self._work.view.reads().table(table)
        return row.partitioned if row is not None else max(added)

    @property
    def has_written(self) -> bool:
        """Whether the txn has declared anything but reads."""
        return self._work.writes.has_written

    def operation(self, table: TableLike, name: str) -> None:
        """Name the operation on a table in Delta's words: MERGE, UPDATE, STREAMING UPDATE."""
        with self._work.writes.growing(self._work.names.number(table)) as writer:
            writer.name(name)

    def mark_rows(
        self,
        table: TableLike,
        rows: Iterable[tuple[FileRow, RowSet]],
        *,
        operation: str = "",
        read_at: Token | int = 0,
    ) -> None:
        """Delete rows of files that stay, each file once, by the numbers of rows in the file.

        A later commit that changed the same rows wins, wherever they are by then. It is for a table
        whose property `lakeledger.rows` is `marks`. A file with a deletion vector that another
        program stored cannot be marked: remove it, and add it again with a vector of more rows.

        `read_at` is as for `remove_files`. Raises ValueError for a file without such rows, and for
        a vector of another form.
        """
        number = self._work.names.number(table)
        marked = StatementRows()
        for file, numbers in self._work.once.lasting(rows, "mark rows of", table):
            if not numbers or file.path in marked.marks:
                raise ValueError(
                    f"a marked file must be named once, with one row or more, got {file.path} with "
                    f"{len(numbers)} rows"
                )
            marked.marks[file.path] = numbers
            marked.pairs.append((file, with_marks(file, numbers)))
        with self._work.writes.growing(number, operation or "DELETE") as writer:
            writer.note_rows(marked)
            self._work.writes.plan_from(number, self._work.view.position_of(read_at))

    def note(self, table: TableLike, key: str, info: Mapping[str, Any]) -> None:
        """Note something of this commit in a table that it writes: `VersionRow.info` has it.

        It stands there under `key`, as `info`: a dict that JSON can hold.
        """
        self._work.writes.say(self._work.names.number(table), key, info)

    def set_protocol(
        self, table: TableLike, min_reader: int, min_writer: int, features: Iterable[str] = ()
    ) -> None:
        """Set the protocol that readers and writers of a Delta table need from now on.

        Raises TypeError for one text in place of the list of features.
        """
        number = self._work.names.number(table)
        given = self._work.once.lasting(features, "set protocol of", table)
        protocol = Protocol(min_reader, min_writer, sorted(set(names_of("features", given))))
        with self._work.writes.growing(number) as writer:
            writer.set_protocol(protocol)

    def set_domain(
        self, table: TableLike, name: str, configuration: str = "", *, removed: bool = False
    ) -> None:
        """Write a domain metadata entry; two txns that write one domain conflict."""
        with self._work.writes.growing(self._work.names.number(table)) as writer:
            writer.set_domain(Domain(name, configuration, removed))

    def app(
        self,
        app: str,
        version: int,
        *,
        tables: Iterable[TableLike] = (),
        info: Mapping[str, Any] | None = None,
        read_at: Token | int = 0,
        alone: bool = False,
    ) -> None:
        """Record the progress of an application in every table the txn writes, and in `tables`.

        If all of them have this version or a later one, the commit changes nothing and returns a
        `skipped` receipt. So a repeated batch is applied once. If another txn records progress of
        the application first, the commit loses to it. `read_at` is the position at which the
        progress in `tables` was looked up, by default the txn's snapshot. With `alone` the progress
        is recorded in `tables` only.

        `info` goes into the same record, and `Ledger.progress` returns it: for example the offsets
        at which the application goes on. It must be a dict that JSON can hold.
        """
        given = self._work.once.lasting(tables, "app", app)
        numbers = self._work.names.numbers(given)
        if alone and not numbers:
            raise ValueError(f"application {app!r} needs a table in `tables` to be recorded alone")
        place = self._work.view.position_of(read_at)
        self._work.writes.record(
            AppVersion(app, version), numbers, info, read_at=place, alone=alone
        )
