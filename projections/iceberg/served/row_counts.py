"""Row counts of data files: from their statistics, else from the files themselves."""

from pyarrow import ArrowInvalid
from pyarrow.parquet import ParquetFile

from ledger.errors import UnreadableTableError
from ledger.files.storage import Storage
from ledger.reads.port import FileRow
from projections.rows.tables.partitions import rows_of


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
