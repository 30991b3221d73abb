"""Files of tables that were dropped or replaced: what waits for a vacuum, as this host sees it.

The log has no word of a vacuum. A table waits as long as the first of the files that it had at its
drop is there, since a vacuum deletes them together.
"""

from pathlib import Path
from typing import Final, NamedTuple

from ledger.definitions.locations import as_stored
from ledger.reads.amounts import amount, shown_size
from ledger.reads.port import Reads, TableRow

TABLES_MAX: Final = 200
FILES_MAX: Final = 10_000


class WaitingFiles(NamedTuple):
    """The tables whose files wait, and the sums of these files at the drops.

    `unseen` counts the tables that were not looked at: their files are in a cloud, or enough tables
    and files of later drops were counted.
    """

    tables: int = 0
    files: int = 0
    bytes: int = 0
    unseen: int = 0

    def text(self) -> str:
        """Return what waits in words, "" if nothing does."""
        said = []
        if self.tables:
            said.append(
                f"{amount(self.files, 'file')} of {shown_size(self.bytes)} of "
                f"{amount(self.tables, 'dropped table')}"
            )
        if self.unseen:
            said.append(f"{amount(self.unseen, 'dropped table')} not looked at")
        return ", and ".join(said)


def waiting_files(
    reads: Reads, tables_max: int = TABLES_MAX, files_max: int = FILES_MAX
) -> WaitingFiles:
    """Return what waits for a vacuum.

    At most `tables_max` tables are looked at, the last dropped first, and no further one once
    `files_max` files were counted.
    """
    gone = [table for table in reads.tables(include_dropped=True) if table.dropped]
    gone.sort(key=lambda each: -each.dropped)
    found = WaitingFiles(unseen=max(0, len(gone) - tables_max))
    for row in gone[:tables_max]:
        if not has_files(row):
            continue
        if found.files >= files_max or not as_stored(row.definition.location).startswith("/"):
            found = found._replace(unseen=found.unseen + 1)
            continue
        files = reads.files(row.table, position=row.dropped - 1, limit=files_max)
        if files and Path(as_stored(row.definition.location), files[0].path).exists():
            size = sum(file.size for file in files)
            sums = found.tables + 1, found.files + len(files), found.bytes + size
            found = WaitingFiles(*sums, found.unseen)
    return found


def has_files(row: TableRow) -> bool:
    """Return whether the ledger lists the files of a table that a reader may have seen."""
    return row.definition.layout == "listed" and bool(row.definition.location) and not row.creator
