"""The lists of reads without one: the newest list, or the list of a position."""

from collections.abc import Sequence
from random import sample

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.refusals import Reason
from ledger.errors import UnknownTableError
from ledger.reads.errors import no_list
from ledger.reads.metadata import Read, ReadAt
from ledger.reads.port import Identity, Reads, TableRow
from ledger.snapshot.as_of import known_row
from projections.cache.ports import Lists
from projections.cache.store import Reopened


class ReadLists(Lists):
    """The lists of the read model of this host; the caller closes it."""

    def __init__(self, reads: Reopened[Reads]) -> None:
        self._reads = reads

    def identity(self) -> Identity:
        with self._reads.use() as reads:
            return reads.identity()

    def position(self) -> int:
        with self._reads.use() as reads:
            return reads.position()

    def read_at(self, read: ReadAt) -> Read:
        with self._reads.use() as reads:
            return read_at(reads, read)

    def newest(self, tables: int) -> Sequence[Read]:
        with self._reads.use() as reads:
            rows = list(reads.tables())
            chosen = sample(rows, min(tables, len(rows)))
            return [Read(row.table, list_at(reads, row, None)) for row in chosen]


def read_at(reads: Reads, read: ReadAt) -> Read:
    """Return a read with the list of a position, or of now.

    A name without an id is that of the present table. Raises UnknownTableError, and as `list_at`.
    """
    row = row_of(reads, read)
    table = row.table if read.table is None else read.table
    write_ids = list_at(reads, row, read.position)
    return Read(table, write_ids, row.table, read.what, catalog=read.catalog)


def row_of(reads: Reads, read: ReadAt) -> TableRow:
    """Return the table of a read; raises UnknownTableError."""
    if read.table_id is not None:
        return known_row(reads, read.table_id)
    row = reads.table_named(read.catalog, read.table or "")
    if row is None:
        raise UnknownTableError(
            f"there is no table {read.catalog}.{read.table}; see lakeledger table list",
            reason=Reason.UNKNOWN_TABLE.value,
        )
    return row


def list_at(reads: Reads, row: TableRow, position: int | None) -> ValidWriteIdList | None:
    """Return the write ids valid at a position, or now; None for an external table.

    Raises LimitExceededError for a position whose exact list is not kept.
    """
    if row.definition.kind != "managed":
        if position is not None:
            raise no_list(f"{row.name} has no write ids: only its present state can be read")
        return None
    return reads.write_ids_at(row.table, position)
