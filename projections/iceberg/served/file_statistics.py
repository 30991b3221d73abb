"""Statistics of data files: their rows, counted if the log does not say them, and their metrics."""

from typing import Final

from pyarrow import ArrowInvalid
from pyarrow.parquet import ParquetFile

from ledger.arrow.type_fields import field_number
from ledger.core.commands import TableDefinition
from ledger.errors import LedgerError, UnreadableTableError
from ledger.files.foreign_bounds import is_foreign
from ledger.files.storage import Storage
from ledger.properties.column_mapping import is_mapped
from ledger.reads.port import FileRow
from projections.rows.tables.partitions import rows_of

TIGHT: Final = tuple(
    text
    for value in ("true", "false")
    for text in (f',"tightBounds":{value}', f'"tightBounds":{value},', f'"tightBounds":{value}')
)


def rows_in(file: FileRow, storage: Storage) -> int:
    """Return how many rows a data file has, deleted ones too.

    Raises UnreadableTableError for a file without statistics that cannot be read.
    """
    known = rows_of(file.stats)
    if known is not None:
        return known
    try:
        with storage.open(file.path) as stream:
            return int(ParquetFile(stream).metadata.num_rows)
    except (ArrowInvalid, OSError) as error:
        raise UnreadableTableError(
            f"the rows of {file.path} must be counted for Iceberg's readers, and its statistics do "
            f"not count them: {error}. Add it with statistics, or write the table anew with "
            "OPTIMIZE"
        ) from error


def is_other_metrics(before: FileRow, after: FileRow) -> bool:
    """Return whether a file that stays has other metrics to Iceberg's readers.

    Bounds of the ledger's own files are bounds, whether they are said to be loose or not.
    """
    if is_foreign(after.path):
        return before.stats != after.stats
    return rest_of(before.stats) != rest_of(after.stats)


def rest_of(stats: str) -> str:
    """Return statistics without the hint that bounds are tight or loose."""
    for said in TIGHT:
        stats = stats.replace(said, "")
    return stats


def problem_of_ids(file: FileRow, definition: TableDefinition, storage: Storage) -> str:
    """Return why a file of another program has ids that are not the table's, "" if it has none.

    Iceberg's readers take any id for the table's. A file that cannot be opened is not judged, nor
    one of a table whose columns have ids of Delta: there the ids count.
    """
    if is_mapped(definition):
        return ""
    try:
        with storage.open(file.path) as stream:
            fields = list(ParquetFile(stream).schema_arrow)
    except (ArrowInvalid, OSError, LedgerError):
        return ""
    known = {column.id: column.name.lower() for column in definition.columns}
    for field in fields:
        number = field_number(field)
        if number and known.get(number) != field.name.lower():
            return (
                f"the file {file.path} has {number} as the id of its column {field.name}, which is "
                "not the table's; write it anew, as OPTIMIZE does"
            )
    return ""
