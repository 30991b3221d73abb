"""Rows of tables for the pages: a few first rows, and the answers to queries, within bounds.

DuckDB and Arrow are loaded with the first question. A query names tables of the ledger alone.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ledger.config.settings import CATALOG_DEFAULT
from ledger.core.refusals import Reason
from ledger.errors import LimitExceededError
from ledger.reads.amounts import amount, shown_size
from ledger.reads.port import Reads, TableRow

FIRST_ROWS: Final = 10
ANSWERED_MAX: Final = 1_000
SECONDS_MAX: Final = 10.0
MEMORY_MAX: Final = 256 << 20
BYTES_MAX: Final = 512 << 20
"""The bounds of one query: rows of its answer, time, memory of DuckDB, and bytes of files."""

QUERY_CHARS_MAX: Final = 10_000
COLUMNS_MAX: Final = 100


class RowTable(NamedTuple):
    """Rows as they are shown: the names of columns, their values, and whether there are more."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]
    has_more: bool = False
    columns_left: int = 0


def first_rows(reads: Reads, row: TableRow, position: int) -> RowTable:
    """Return the first rows of a table at a position.

    Raises UnreadableTableError, LimitExceededError for files that are too large to open for them,
    and ImportError without Arrow.
    """
    from ledger.snapshot.scan import Scan  # noqa: PLC0415 - loads Arrow
    from ledger.snapshot.table_snapshot import TableSnapshot, in_write_folders  # noqa: PLC0415

    if in_write_folders(row):
        raise LimitExceededError(
            "the first rows of a table of layout directories are not shown: the ledger does not "
            "know its files",
            reason=Reason.LIMIT_EXCEEDED.value,
        )
    scan = Scan.of(TableSnapshot(reads, row, position), None, None, record=False)
    check_bytes(max((file.size for file in scan.files), default=0))
    found = scan.head(FIRST_ROWS)
    return shown(found.column_names, found.to_batches(), rows_max=FIRST_ROWS)


def answer_of(reads: Reads, query: str, position: int) -> RowTable:
    """Return the answer to a query over the tables at a position.

    Raises QuerySyntaxError for a text that is not one query of tables, LimitExceededError beyond
    the bounds, UnknownTableError, UnreadableTableError, and ImportError without DuckDB.
    """
    from ledger.snapshot.duckdb_query import SqlLimits  # noqa: PLC0415
    from ledger.snapshot.sql import SqlPlace  # noqa: PLC0415

    if len(query) > QUERY_CHARS_MAX:
        raise LimitExceededError(
            f"a query must have at most {amount(QUERY_CHARS_MAX, 'letter')}, got {len(query):,}",
            reason=Reason.LIMIT_EXCEEDED.value,
        )
    limits = SqlLimits(SECONDS_MAX, MEMORY_MAX, BYTES_MAX)
    place = SqlPlace(reads, CATALOG_DEFAULT, limits=limits)
    batches, rows = [], 0
    with place.batches(query, position=position) as (_, reader):
        while rows <= ANSWERED_MAX and (batch := next(reader, None)) is not None:
            batches.append(batch)
            rows += batch.num_rows
        return shown(reader.schema.names, batches, rows_max=ANSWERED_MAX)


def check_bytes(size: int) -> None:
    """Raise LimitExceededError for files that are too large to be read for a page."""
    if size > BYTES_MAX:
        raise LimitExceededError(
            f"a page reads files of at most {shown_size(BYTES_MAX)}, these have {shown_size(size)}",
            reason=Reason.LIMIT_EXCEEDED.value,
        )


def shown(names: Sequence[str], batches: Sequence[Any], *, rows_max: int) -> RowTable:
    """Return the first rows of Arrow's batches as values, of wide ones the first columns."""
    rows: list[Sequence[Any]] = []
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns[:COLUMNS_MAX]]
        rows += zip(*columns, strict=True)
    left = max(0, len(names) - COLUMNS_MAX)
    return RowTable(names[:COLUMNS_MAX], rows[:rows_max], len(rows) > rows_max, left)
