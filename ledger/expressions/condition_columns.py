"""Columns that a condition names: an unknown one is refused, with the nearest known name.

Files are left out by partition alone, so a misspelled column would silently leave out no file.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final, NoReturn

from ledger.core.commands import TableDefinition
from ledger.core.predicates.tree import Node
from ledger.errors import UnknownColumnError
from ledger.reads.port import Reads, TableRow

# Functions of Spark SQL without brackets, unless a column has such a name.
FUNCTIONS: Final = frozenset(
    {"current_time", "current_user", "grouping__id", "localtimestamp", "session_user", "user"}
)
SHOWN_MAX: Final = 20


def check_columns(
    where: Node, reads: Reads, row: TableRow, position: int, own: TableRow | None = None
) -> None:
    """Raise UnknownColumnError if a condition names a column that its table does not have.

    A column counts if the table has it now, had it at `position`, or has it in `own`, the row as a
    txn changed it. Nothing is checked for a table that names no columns.
    """
    if not row.definition.columns:
        return
    missing = without(where.columns(), row.definition)
    if own is not None:
        missing = without(missing, own.definition)
    then = reads.definition(row.table, position) if missing else None
    if then is not None:
        missing = without(missing, then) if then.columns else []
    if missing:
        raise_unknown(row, missing[0], [column.name for column in row.definition.columns])


def raise_unknown(row: TableRow, column: str, names: Iterable[str], what: str = "") -> NoReturn:
    """Raise the error for a column that is not among the `names` of a table."""
    raise unknown_column(row.name, row.table, column, names, what)


def unknown_column(
    name: str, table: int, column: str, names: Iterable[str], what: str = ""
) -> UnknownColumnError:
    """Return the error for a column that is not among the `names` of a table with this name."""
    known = list(names)
    lower = {each.lower(): each for each in known}
    alike = get_close_matches(column.lower(), lower, n=1)
    meant = f", did you mean {lower[alike[0]]}?" if alike else "; it has"
    listed = "" if alike else f" {', '.join(known[:SHOWN_MAX])}"
    more = ", ..." if listed and len(known) > SHOWN_MAX else ""
    return UnknownColumnError(
        f"table {name} has no {what}column {column}{meant}{listed}{more}",
        column=column,
        table=table,
    )


def without(names: Iterable[str], definition: TableDefinition) -> list[str]:
    """Return the names that are neither columns of a definition nor fields of them."""
    known = {column.name.lower() for column in definition.columns}
    known.update(map(str.lower, definition.partition_columns))
    return [name for name in names if is_unknown(name.lower(), known)]


def is_unknown(name: str, known: set[str]) -> bool:
    """Return whether a name is neither a column nor a field of a column."""
    return name not in known and name.partition(".")[0] not in known and name not in FUNCTIONS
