"""Which list a read means that names none: that of now, or of a position."""

from ledger.core.outcomes import Reason
from ledger.core.valid_lists import ValidWriteIdList
from ledger.errors import LimitExceededError, UnknownTableError
from ledger.metadata import Read
from ledger.reading import known_row
from ledger.reads import Reads, TableRow


def read_at(
    reads: Reads,
    table: str | int,
    *,
    catalog: str,
    table_id: int | None = None,
    write_ids: ValidWriteIdList | None = None,
    position: int | None = None,
) -> Read:
    """Return a read of a table by the given list, else by the list of a position, else of now.

    A name without an id means the table that has it now. Raises UnknownTableError, and as
    `list_at`.
    """
    if write_ids is not None:
        return Read(table, write_ids, table_id, catalog=catalog)
    row = row_of(reads, table, catalog, table_id)
    return Read(table, list_at(reads, row, position), row.table, catalog=catalog)


def row_of(reads: Reads, table: str | int, catalog: str, table_id: int | None) -> TableRow:
    """Return the table that is meant; raises UnknownTableError."""
    number = table if isinstance(table, int) else table_id
    if number is not None:
        return known_row(reads, number)
    row = reads.table_named(catalog, str(table))
    if row is None:
        raise UnknownTableError(
            f"there is no table {catalog}.{table}; see lakeledger table list",
            reason=Reason.UNKNOWN_TABLE.value,
        )
    return row


def list_at(reads: Reads, row: TableRow, position: int | None) -> ValidWriteIdList | None:
    """Return the write ids valid at a position, or now; None for an external table.

    Raises LimitExceededError for a position of which no exact list is left.
    """
    if row.definition.kind == "external":
        if position is not None:
            raise no_list(f"table {row.name} is external: only what it is now is known to readers")
        return None
    txns = reads.valid_txns(position)
    low = reads.watermark().watermark
    if position is not None and min((*txns.exceptions(), txns.hwm + 1)) < low:
        raise no_list(
            f"the list as of position {position} is gone: mappings of txns below {low} were "
            "cleaned since. Name the list itself, or a later position"
        )
    return reads.valid_write_ids(row.table, txns)


def no_list(what: str) -> LimitExceededError:
    """Return the error for a list that cannot be told."""
    return LimitExceededError(what, reason=Reason.LIMIT_EXCEEDED.value)
