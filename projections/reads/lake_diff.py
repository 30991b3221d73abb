"""What changed in a lake between two positions: tables, columns, files, rows, txns, and by whom.

All of it comes from the reads of any host. The cost follows the events between the positions and
the files that they changed, not the size of the lake.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ledger.core.commands import Column, TableDefinition
from ledger.core.refusals import Reason
from ledger.errors import LimitExceededError
from ledger.reads.port import FileRow, HistoryRow, Reads, TableRow, VersionRow
from projections.rows.tables.partitions import rows_of

PAGE: Final = 1_000
NO_VERSION: Final = -1
CHANGED: Final = "changed"

File = tuple[str, str]
"""A file by its path and its deletion vector."""


@dataclass(slots=True)
class FileSum:
    """Files with their bytes and rows; `rows` None if the statistics of a file do not say."""

    files: int = 0
    bytes: int = 0
    rows: int | None = 0

    def add(self, file: FileRow) -> None:
        """Count a file."""
        vector = file.deletion_vector
        rows = rows_of(file.stats, 0 if vector is None else vector.cardinality)
        self.files += 1
        self.bytes += file.size
        self.rows = None if self.rows is None or rows is None else self.rows + rows


@dataclass(slots=True)
class TableDiff:
    """What became of one table; `added` and `removed` are its files at one end alone.

    `named` counts the files that its commits named.
    """

    row: TableRow
    change: str
    first: int
    last: int
    schema: list[str] = field(default_factory=list)
    operations: Counter[str] = field(default_factory=Counter)
    users: Counter[str] = field(default_factory=Counter)
    added: FileSum = field(default_factory=FileSum)
    removed: FileSum = field(default_factory=FileSum)
    named: int = 0

    @property
    def is_seen(self) -> bool:
        """Whether a reader without a txn saw a change."""
        is_at_one_end = self.change in {"created", "dropped"}
        return is_at_one_end or self.first != self.last or bool(self.schema)


@dataclass(slots=True)
class LakeDiff:
    """What happened behind position `first` up to position `last`."""

    first: int
    last: int
    events: Counter[str] = field(default_factory=Counter)
    committed: int = 0
    aborted: int = 0
    users: Counter[str] = field(default_factory=Counter)
    tables: list[TableDiff] = field(default_factory=list)


def lake_diff(reads: Reads, first: int, last: int, *, files_max: int | None = None) -> LakeDiff:
    """Return what changed behind position `first` up to position `last`.

    Raises LimitExceededError if the commits in between name more than `files_max` files.
    """
    found, touched, renamed = LakeDiff(first, last), set[int](), set[int]()
    for event in events(reads, first, last):
        found.events[event.type] += 1
        found.committed += event.type == "TxnCommitted"
        found.aborted += 0 if event.type == "TxnCommitted" else len(event.ended)
        touched.update(event.tables)
        renamed.update(event.tables if event.type == "TableRenamed" else ())
    commits: dict[int, str] = {}
    named = 0
    for table in sorted(touched):
        row = reads.table(table)
        if row is None:
            continue
        left = None if files_max is None else files_max - named
        each = table_diff(reads, row, first, last, commits, files_max=left)
        named += each.named
        each.schema += ["renamed"] if table in renamed else []
        if each.is_seen:
            found.tables.append(each)
    found.users.update(commits.values())
    return found


def events(reads: Reads, first: int, last: int) -> Iterator[HistoryRow]:
    """Yield the events behind position `first` up to position `last`."""
    after = first
    while after < last:
        page = reads.history(after, min(PAGE, last - after))
        if not page:
            return
        yield from (each for each in page if each.position <= last)
        after = page[-1].position


def table_diff(
    reads: Reads,
    row: TableRow,
    first: int,
    last: int,
    commits: dict[int, str],
    *,
    files_max: int | None = None,
) -> TableDiff:
    """Return what became of a table; the user of each commit goes into `commits`, by position."""
    was, is_ = existed(reads, row, first), existed(reads, row, last)
    newest = newest_version(reads, row, last)
    before = newest_version(reads, row, first) if was else NO_VERSION
    found = TableDiff(row, change_of(was=was, is_=is_), before, newest)
    for version in versions(reads, row, before, newest):
        found.named += version.adds + version.removes
        if files_max is not None and found.named > files_max:
            raise too_many_files(row, files_max)
        commits[version.position] = version.user
        found.operations[version.operation] += 1
        found.users[version.user] += 1
    if was or is_:
        sum_files(reads, found)
    if was and is_:
        found.schema = schema_diff(
            reads.definition(row.table, first), reads.definition(row.table, last)
        )
    return found


def too_many_files(row: TableRow, most: int) -> LimitExceededError:
    """Return the error of a table with too many changed files."""
    return LimitExceededError(
        f"the commits to {row.catalog}.{row.name} must name at most {most} files more, and name "
        "others besides; choose nearer positions, or use lakeledger diff",
        reason=Reason.LIMIT_EXCEEDED.value,
    )


def existed(reads: Reads, row: TableRow, position: int) -> bool:
    """Return whether a table existed for every reader as of a position."""
    is_dropped = 0 < row.dropped <= position
    return not is_dropped and reads.definition(row.table, position) is not None


def change_of(*, was: bool, is_: bool) -> str:
    """Return what became of a table in a word."""
    if was:
        return CHANGED if is_ else "dropped"
    return "created" if is_ else "created and dropped"


def newest_version(reads: Reads, row: TableRow, position: int) -> int:
    """Return the version of a table as of a position, -1 before its first one."""
    found = reads.version_row(row.table, position=position)
    return NO_VERSION if found is None else found.version


def versions(reads: Reads, row: TableRow, before: int, newest: int) -> Iterator[VersionRow]:
    """Yield the versions of a table behind one up to another, newest first.

    A cut of the log leaves versions out, so a page may reach further down.
    """
    below = newest + 1
    while below > before + 1:
        page = reads.versions(row.table, min(PAGE, below - before - 1), below=below)
        if not page:
            return
        yield from (each for each in page if each.version > before)
        below = page[-1].version


def sum_files(reads: Reads, found: TableDiff) -> None:
    """Count the files that are live at one end alone: one that came and went does not count."""
    added: dict[File, FileRow] = {}
    removed: dict[File, FileRow] = {}
    version, place = found.first + 1, 0
    while version <= found.last:
        page = reads.file_changes(found.row.table, version, found.last, PAGE, place=place)
        for each in page:
            key = (each.file.path, each.file.vector)
            into, back = (added, removed) if each.added else (removed, added)
            if back.pop(key, None) is None:
                into[key] = each.file._replace(rows=b"")
        if len(page) < PAGE:
            break
        version, place = page[-1].version, page[-1].place
    count(found.added, added)
    count(found.removed, removed)


def count(into: FileSum, files: Mapping[File, FileRow]) -> None:
    """Add files to a sum of rows and bytes."""
    for file in files.values():
        into.add(file)


def schema_diff(old: TableDefinition | None, new: TableDefinition | None) -> list[str]:
    """Return how the columns, partition columns and properties of a table differ, in words."""
    if old is None or new is None or old == new:
        return []
    return [*column_diff(old.columns, new.columns), *other_diff(old, new)]


def column_diff(old: Iterable[Column], new: Iterable[Column]) -> Iterator[str]:
    """Yield how columns differ; a column with an id stays the same under another name."""
    before, after = (
        {column.id or column.name: column for column in columns} for columns in (old, new)
    )
    for key, each in after.items():
        was = before.get(key)
        if was is None:
            yield f"column {each.name} {each.type} added"
        elif was.name != each.name:
            yield f"column {was.name} renamed to {each.name}"
        if was is not None and was.type != each.type:
            yield f"column {each.name}: {was.type} became {each.type}"
        if was is not None and was.nullable != each.nullable:
            yield f"column {each.name}: now {'may' if each.nullable else 'must not'} be NULL"
    for key, was in before.items():
        if key not in after:
            yield f"column {was.name} {was.type} dropped"


def other_diff(old: TableDefinition, new: TableDefinition) -> Iterator[str]:
    """Yield how partition columns, location and properties differ."""
    if tuple(old.partition_columns) != tuple(new.partition_columns):
        before, after = (", ".join(each.partition_columns) or "nothing" for each in (old, new))
        yield f"partitioned by {after}, before by {before}"
    if old.location != new.location:
        yield f"location {old.location or 'none'} became {new.location or 'none'}"
    was, now = ({each.key: each.value for each in made.properties} for made in (old, new))
    for key in sorted(was.keys() | now.keys()):
        if was.get(key) != now.get(key):
            yield f"property {key}: {was.get(key, 'absent')} became {now.get(key, 'absent')}"
