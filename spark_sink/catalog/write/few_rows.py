"""Few rows that Spark appends to a table with rows in the log: they become blocks of the commit.

Spark's tasks write files in any case. Once all of them are there, the driver knows how many rows
they have. It reads few rows back, as it reads any file of the table, and writes them as the SDK
does. So types, partitions and statistics of blocks have one maker.
"""

from collections.abc import Sequence

from ledger.files.data_files import BLOCK_ROWS
from ledger.files.storage import storage_at
from ledger.files.written_files import discard
from ledger.log.wire.file_list import AddFile
from ledger.snapshot.overlay import file_row
from ledger.snapshot.reading import TableFiles
from ledger.statements.deleting import rows_in
from ledger.statements.marking import READ_BYTES_MAX, ChangedFiles
from ledger.statements.target import StatementTable


def append(table: StatementTable, adds: Sequence[AddFile], operation: str) -> None:
    """Note new files in the txn of a statement, or their rows as blocks and delete the files."""
    changed = ChangedFiles(table)
    if not has_room(table, adds):
        changed.note_added((), operation, adds)
        return
    unread = TableFiles(table.row, table.snapshot.position, "", ())
    rows = (table.rows(file_row(add, unread), written=table.schema) for add in adds)
    made = table.write(rows, placing=changed.placing)
    # No commit names them, whatever becomes of the txn.
    discard(storage_at(table.definition.location), [add.path for add in adds])
    changed.note_added(made, operation)


def has_room(table: StatementTable, adds: Sequence[AddFile]) -> bool:
    """Return whether the rows of new files may lie in the log, as far as the files tell."""
    counts = [rows_in(add) for add in adds]
    known = sum(count for count in counts if count is not None)
    is_few = None not in counts and known <= BLOCK_ROWS
    is_small = sum(add.size for add in adds) <= READ_BYTES_MAX
    return is_few and is_small and table.work.names.client.log_room.has(table.row)
