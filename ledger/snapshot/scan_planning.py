"""Plans scans: which state of a table, which files, which schema."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ledger.arrow.schema import TableSchema
from ledger.clock import is_now, is_wrong
from ledger.core.commands import TableDefinition
from ledger.errors import UnknownVersionError
from ledger.expressions.condition_columns import unknown_column
from ledger.reads.port import FileRow, Reads, TableRow, VersionRow

MS: Final = 1000
VERSIONS: Final = 200


class TableState(NamedTuple):
    """A table as a reader sees it at a position.

    `own_definition` returns the definition for which a txn wrote a file, None for another file.
    """

    row: TableRow
    position: int
    definition: TableDefinition
    reads: Reads
    own_definition: Callable[[FileRow], TableDefinition | None] | None = None

    @property
    def schema(self) -> TableSchema:
        """The schema of the reader."""
        return TableSchema.of(self.definition, self.row.name, self.row.table)


def state_of(reads: Reads, row: TableRow, position: int) -> TableState:
    """Return a table as it was for all at a position."""
    then = None if row.changed <= position else reads.definition(row.table, position)
    return TableState(row, position, row.definition if then is None else then, reads)


class SchemasThen:
    """The schemas that a table had when its files were added; each is read once."""

    def __init__(self, state: TableState, schema: TableSchema) -> None:
        self._state, self._schema = state, schema
        self._known: dict[int, TableSchema] = {}

    def of(self, file: FileRow) -> TableSchema:
        """Return the schema of the table when a file was added."""
        state = self._state
        own = None if state.own_definition is None else state.own_definition(file)
        if own is not None:
            return self._made(own)
        is_now = state.definition is state.row.definition and file.added >= state.row.changed
        if is_now or not file.added or file.added > state.position:
            return self._schema
        found = self._known.get(file.added)
        if found is None:
            then = state.reads.definition(state.row.table, file.added)
            found = self._known[file.added] = self._schema if then is None else self._made(then)
        return found

    def _made(self, definition: TableDefinition) -> TableSchema:
        if definition == self._state.definition:
            return self._schema
        return TableSchema.of(definition, self._state.row.name, self._state.row.table)


def chosen(schema: TableSchema, columns: Sequence[str] | None) -> Sequence[str]:
    """Return the columns of a scan as the table spells them, by default all of them.

    Raises UnknownColumnError, UnreadableTableError for a column whose type Arrow lacks, TypeError
    for anything but a list of names, and ValueError for a column that is named twice.
    """
    if columns is None:
        for each in schema.columns:
            each.check_readable()
        return [each.name for each in schema.columns]
    if isinstance(columns, str) or not all(isinstance(each, str) for each in columns):
        raise TypeError(f"columns must be a list of names, such as ['id'], got {columns!r}")
    found: list[str] = []
    for name in columns:
        column = schema.find(name)
        if column is None:
            names = [each.name for each in schema.columns]
            raise unknown_column(schema.name, schema.table, name, names)
        if column.name in found:
            raise ValueError(f"columns must be different, got {name} twice")
        column.check_readable()
        found.append(column.name)
    return found


def position_at(reads: Reads, row: TableRow, at: datetime | str) -> int:
    """Return the position of the newest version of a table that was committed by a time.

    Raises UnknownVersionError if the table has none that old, ValueError for a time without a zone,
    and TypeError for anything but a time.
    """
    moment = moment_of(at)
    wanted = moment.timestamp() * MS
    below: int | None = None
    following: VersionRow | None = None
    while True:
        page = reads.versions(row.table, VERSIONS, below=below)
        if below is None and page and is_now(wanted, page[0].at):
            return page[0].position
        for each in page:
            if each.at <= wanted:
                check_known(row, moment, following)
                return each.position
            following = each
        if not page or page[-1].version == 0:
            oldest = page[-1].at if page else 0
            raise UnknownVersionError(
                f"table {row.name} has no version of {moment.isoformat(' ')}: its first is of "
                f"{datetime.fromtimestamp(oldest / MS, UTC).isoformat(' ')}. Give a later time",
                reason="UnknownVersion",
                subject=row.table,
            )
        below = page[-1].version


def check_known(row: TableRow, moment: datetime, following: VersionRow | None) -> None:
    """Raise UnknownVersionError if the version after a time has a time that cannot be right."""
    if following is not None and is_wrong(following.at):
        raise UnknownVersionError(
            f"the version of table {row.name} at {moment.isoformat(' ')} is not known: version "
            f"{following.version} and later ones have times that are yet to come, by a clock that "
            "was ahead. Give a version or a position",
            reason="UnknownVersion",
            subject=row.table,
        )


def moment_of(at: datetime | str) -> datetime:
    """Return a time with its zone; raises ValueError without one, TypeError for no time."""
    if not isinstance(at, datetime | str):
        raise TypeError(
            f"at must be a datetime or a text, such as '2026-01-31 12:00:00+01:00', got {at!r}"
        )
    try:
        moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    except ValueError:
        raise ValueError(
            f"at must be a time with a zone, such as '2026-01-31 12:00:00+01:00', got {at!r}"
        ) from None
    if moment.tzinfo is None:
        raise ValueError(
            f"at must have a zone, such as '2026-01-31 12:00:00+01:00', got {str(at)!r}; without "
            "one it may mean several times"
        )
    return moment
