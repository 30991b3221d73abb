"""UNDROP: a dropped table comes back as a new table with its last columns and rows.

The files stay where they are. A dropped table keeps them until a vacuum may delete them, and then
the new table needs them. A file whose columns had other names is written anew, as by a RESTORE.
"""

from typing import Final
from warnings import warn

from ledger.core.commands import TableDefinition
from ledger.core.refusals import Reason
from ledger.core.state.traits import known_key
from ledger.definitions.definitions import properties_of
from ledger.definitions.names import TableLike
from ledger.errors import FilesUnknownError, UnknownTableError
from ledger.properties.column_mapping import PUBLISH
from ledger.reads.port import TableRow
from ledger.snapshot.reading import is_in_folders
from ledger.snapshot.table_snapshot import TableSnapshot
from ledger.statements.altering import create
from ledger.statements.restoring import check_there, is_of_schema, rows_of
from ledger.statements.target import StatementTable
from ledger.work.noted_rows import added_again
from ledger.work.unit_of_work import Work

UNDROP: Final = "UNDROP TABLE"


def dropped_table(work: Work, table: TableLike) -> TableRow:
    """Return a dropped table, by its name the one that was dropped last.

    Raises UnknownTableError.
    """
    rows = work.view.reads().tables(include_dropped=True)
    gone = [row for row in rows if row.dropped and row.catalog == work.names.client.catalog]
    wanted = table.table if isinstance(table, TableRow) else table
    fits = [row for row in gone if wanted in (row.table, row.name)]
    fits = fits or [row for row in gone if row.name.lower() == str(wanted).lower()]
    if not fits:
        raise UnknownTableError(
            f"no table {wanted} was dropped; lakeledger table list --dropped shows all that were",
            reason=Reason.UNKNOWN_TABLE.value,
        )
    return max(fits, key=lambda row: row.dropped)


def undrop(work: Work, former: TableRow, name: str) -> TableRow:
    """Create a table with the last columns and rows of a dropped one; raises as `undrop_table`."""
    if former.definition.kind == "managed" and is_in_folders(former):
        raise FilesUnknownError(
            f"table {former.name} has layout directories: its rows lie under write ids of the "
            "dropped table. Read them by `Ledger.scan` of an earlier position, and insert them",
            table=former.table,
        )
    row = create(work, name, unpublished(former))
    if former.definition.kind != "managed":
        return row
    then = TableSnapshot(work.view.reads(), former, former.dropped - 1, work.view.zone)
    files = list(then.read().files)
    check_there(former.definition.location, files)
    table = StatementTable(work, row, "undrop")
    fit = [file for file in files if is_of_schema(table, then, file)]
    unfit = [file for file in files if file not in fit]
    adds = [added_again(file) for file in fit] + list(table.write(rows_of(table, then, unfit)))
    table.replace([], adds, UNDROP)
    return row


def unpublished(former: TableRow) -> TableDefinition:
    """Return the last definition of a table, without its publication, and warn of that."""
    definition = former.definition
    kept = {key: text for key, text in definition.properties if known_key(key) != PUBLISH}
    if len(kept) == len(definition.properties):
        return definition
    warn(
        f"table {former.name} is not published any more: the Delta log in its folder belongs to "
        "the dropped table. To publish it again, set lakeledger.publish and give it another "
        "folder by lakeledger.publish.folder",
        stacklevel=2,
    )
    return definition._replace(properties=properties_of(kept))
