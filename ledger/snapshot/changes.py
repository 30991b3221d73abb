"""Changes: the commits of one table in order, with the files that each added and removed.

A feed is made from reads alone. It holds a page of versions and of changed files at a time, so its
memory does not grow with the table, and goes on where the last commit that it gave ended.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ledger.core.commands import TableDefinition
from ledger.definitions.given import check_arrow
from ledger.errors import FileListError, ReaderBehindError
from ledger.reads.errors import unknown_version
from ledger.reads.html import table_of
from ledger.reads.port import FileChange, FileRow, Reads, TableRow, VersionRow
from ledger.reads.whole_numbers import whole_number
from ledger.session.receipt import Token
from ledger.snapshot.as_of import known_row
from ledger.snapshot.reading import check_listed

if TYPE_CHECKING:
    import pyarrow as pa

VERSIONS: Final = 200
FILES: Final = 1_000
MANY: Final = 5_000
"""The changed files of one page: of several commits, and of a commit with more."""

ANOMALIES: Final = 1_000
FOLLOW_MS: Final = 2_000
MS: Final = 1000


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """One commit of a table, and the files that it changed; iterate over them.

    Attributes:
        row: the version as the history of the table has it.
        schema_changed: the columns or the partition columns are others than before.
        token: the place behind this commit, to go on from.
    """

    row: VersionRow
    schema_changed: bool
    token: Token
    _reads: Reads = field(repr=False)
    _known: Sequence[FileChange] | None = field(repr=False)

    @property
    def version(self) -> int:
        """The version of the table that the commit made."""
        return self.row.version

    @property
    def position(self) -> int:
        """The position of the commit."""
        return self.row.position

    @property
    def at(self) -> datetime:
        """The time of the commit, in UTC."""
        return datetime.fromtimestamp(self.row.at / MS, UTC)

    @property
    def operation(self) -> str:
        """The operation, such as WRITE or MERGE."""
        return self.row.operation

    @property
    def user(self) -> str:
        """The user of the session that committed."""
        return self.row.user

    @property
    def added(self) -> Sequence[FileRow]:
        """The files that the commit added."""
        return [each.file for each in self if each.added]

    @property
    def removed(self) -> Sequence[FileRow]:
        """The files that the commit removed."""
        return [each.file for each in self if not each.added]

    @property
    def data_change(self) -> bool:
        """Whether the commit changed rows; False for one that only rewrote files."""
        return any(each.data_change for each in self)

    def rows(self) -> "pa.Table":
        """Return the net change of rows, with the columns that the table has now.

        Rows that a rewrite copied are left out. The column `_change_type` is insert or delete, for
        an UPDATE update_preimage or update_postimage; `_commit_version`, `_position` and
        `_commit_timestamp` name the commit.

        Raises UnreadableTableError for a file that was deleted since.
        """
        check_arrow()
        import pyarrow as pa  # noqa: PLC0415 - loads Arrow

        from ledger.snapshot.changed_rows import CommitRows  # noqa: PLC0415

        found = CommitRows(self._reads, known_row(self._reads, self.row.table))
        return pa.Table.from_batches(found.batches(self.row, self), found.schema)

    def __repr__(self) -> str:
        return f"<CommitChanges: {self._said()}>"

    def _repr_html_(self) -> str:
        rows = [
            ("added" if each.added else "removed", each.file.path, each.file.size) for each in self
        ]
        return table_of(self._said(), ("what", "path", "bytes"), rows)

    def _said(self) -> str:
        row = self.row
        return f"version {row.version} of table {row.table}, {row.operation}, at {row.position}"

    def __iter__(self) -> Iterator[FileChange]:
        if self._known is not None:
            yield from self._known
            return
        place, version = 0, self.row.version
        while True:
            page = self._reads.file_changes(self.row.table, version, version, MANY, place=place)
            yield from page
            if len(page) < MANY:
                return
            place = page[-1].place


class ChangeFeed:
    """The commits of a table that follow a version, oldest first; iterate over them.

    It ends with the newest commit at the begin of the iteration. With `follow` it waits for further
    commits, until the table is dropped or `is_wanted` returns False.
    """

    def __init__(
        self,
        reads: Reads,
        table: TableRow,
        after: int,
        *,
        follow: bool = False,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        check_listed(table)
        self.table = table
        self.after = after
        self._reads = reads
        self._follow = follow
        self._is_wanted = is_wanted
        identity = reads.identity()
        self._origin = Token(identity.ledger, identity.domain, 0)

    def __iter__(self) -> Iterator[CommitChanges]:
        after, newest = self.after, self._newest()
        while True:
            while after < newest:
                last = min(newest, after + VERSIONS)
                yield from self._page(after, last)
                after = last
            if not self._follow:
                return
            newest = self._wait(after)
            if newest <= after:
                return

    def rows(self) -> "pa.RecordBatchReader":
        """Return the net changes of rows of all commits, as `CommitChanges.rows`, batch by batch.

        All rows have the columns that the table has at the call.
        """
        check_arrow()
        import pyarrow as pa  # noqa: PLC0415 - loads Arrow

        from ledger.snapshot.changed_rows import CommitRows  # noqa: PLC0415

        found = CommitRows(self._reads, known_row(self._reads, self.table.table))
        batches = (batch for commit in self for batch in found.batches(commit.row, commit))
        return pa.RecordBatchReader.from_batches(found.schema, batches)

    def _wait(self, after: int) -> int:
        """Return the newest version once there is one behind `after`, or the table is dropped."""
        while self._is_wanted():
            position = self._reads.position()
            newest = self._newest()
            if newest > after or known_row(self._reads, self.table.table).dropped:
                return newest
            try:
                self._reads.wait(position + 1, FOLLOW_MS)
            except ReaderBehindError:
                continue
        return after

    def _newest(self) -> int:
        found = self._reads.version_row(self.table.table)
        return -1 if found is None else found.version

    def _page(self, after: int, last: int) -> list[CommitChanges]:
        """Return the commits behind one version up to another, of which a cut leaves some out."""
        table = self.table.table
        newest_first = self._reads.versions(table, last - after, below=last + 1)
        versions = [each for each in newest_first[::-1] if each.version > after]
        check_readable(self._reads, table, versions)
        changes = self._reads.file_changes(table, after + 1, last, FILES)
        known = {version: list(found) for version, found in groupby(changes, attrgetter("version"))}
        # A full page may end within a version: its files are read again, page by page.
        whole_to = changes[-1].version if len(changes) == FILES else last + 1
        return [
            CommitChanges(
                each,
                bool(each.metadata_events) and self._is_reshaped(each),
                self._origin.at(each.position),
                self._reads,
                known.get(each.version, ()) if each.version < whole_to else None,
            )
            for each in versions
        ]

    def _is_reshaped(self, version: VersionRow) -> bool:
        table, position = self.table.table, version.position
        before = self._reads.definition(table, position - 1)
        return before is not None and shape(before) != shape(
            self._reads.definition(table, position)
        )

    def __repr__(self) -> str:
        return f"<ChangeFeed of {self.table.name} after version {self.after}>"


def shape(definition: TableDefinition | None) -> object:
    """Return the parts of a definition that say which columns there are."""
    return definition and (list(definition.columns), list(definition.partition_columns))


def check_readable(reads: Reads, table: int, versions: Sequence[VersionRow]) -> None:
    """Raise FileListError if the list of one of these commits cannot be decoded.

    The rows of such a commit are unknown, and a feed that left it out would be wrong.
    """
    if not versions:
        return
    position = unreadable(reads, table, versions[0].position - 1, versions[-1].position)
    if position:
        raise FileListError(
            f"the commit at position {position} has a file list that cannot be decoded, so its "
            f"changes are unknown. Go on behind it: --after {version_at(reads, table, position)}"
        )


def unreadable(reads: Reads, table: int, after: int, last: int) -> int:
    """Return the first commit up to a position whose list cannot be decoded, 0 without one."""
    while True:
        found = reads.anomalies(table, ANOMALIES, after=after)
        for each in found:
            if each.kind == "unreadable_list" and each.position <= last:
                return each.position
        if len(found) < ANOMALIES or found[-1].position > last:
            return 0
        after = found[-1].position


def version_at(reads: Reads, table: int, position: int) -> int:
    """Return the last version of a table up to a position, -1 if there is none."""
    found = reads.version_row(table, position=position)
    return -1 if found is None else found.version


def version_after(
    reads: Reads, table: TableRow, after: int | None, position: int | None = None
) -> int:
    """Return the version that a feed follows, from a version or a position; -1 = from the first.

    Raises UnknownVersionError for a version that the table does not have.
    """
    if position is not None:
        return version_at(reads, table.table, position)
    number = -1 if after is None else whole_number("after", after)
    if number >= 0 and reads.version_row(table.table, version=number) is None:
        raise unknown_version(table.table, number, table.version, table.name)
    return max(-1, number)
