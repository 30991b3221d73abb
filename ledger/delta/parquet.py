"""Parquet files of a Delta checkpoint: their rows, as a log in JSON would have them.

Typed statistics hold more than Python has room for, such as days beyond the year 9999: those count
as not known.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ledger.errors import DeltaLogError, SettingsError

# Statistics in typed form are wide: a few thousand rows at once are enough.
ROWS_PER_BATCH: Final = 4_096
ACTIONS: Final = frozenset(
    {"add", "metaData", "protocol", "txn", "domainMetadata", "sidecar", "checkpointMetadata"}
)
# An older form of timestamps, Spark's default; they are instants, though it does not say so.
INSTANT: Final = "INT96"
# What is raised for a value that Python has no room for, or for a key that a map has twice.
UNREADABLE: Final = (KeyError, OverflowError, ValueError)

Row = Mapping[str, Any]


def parquet_rows(path: Path) -> Iterator[Row]:
    """Yield the actions of a file; raises DeltaLogError, SettingsError."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, not always needed
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(
            f"the table begins with a checkpoint, {path.name}, and reading that needs pyarrow. "
            "Install it with: pip install 'lakeledger[delta]'"
        ) from error
    try:
        # In nanoseconds, which is how they are read otherwise, the year 9999 would be 1816.
        with parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            columns = [name for name in file.schema_arrow.names if name in ACTIONS]
            instants = instants_of(file.schema)
            for batch in file.iter_batches(ROWS_PER_BATCH, columns=columns):
                yield from (zoned(row, instants) for row in plain_rows(batch))
    except (pa.ArrowException, OSError) as error:
        raise DeltaLogError(str(path), f"it is no Parquet file ({error})") from error


def instants_of(schema: Any) -> list[list[str]]:
    """Return the paths of the columns that hold instants and do not say so."""
    columns = map(schema.column, range(len(schema)))
    return [column.path.split(".") for column in columns if column.physical_type == INSTANT]


def plain_rows(batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a batch as plain values, also of times that Python cannot hold."""
    try:
        found: list[dict[str, Any]] = batch.to_pylist(maps_as_pydicts="strict")
    except UNREADABLE:
        rows = (batch.slice(at, 1).to_struct_array()[0] for at in range(batch.num_rows))
        return [read_value(row) for row in rows]
    return found


def read_value(value: Any) -> Any:
    """Return a value, None for what Python has no room for.

    A map that has a key twice is the list of its pairs, which is refused where a map belongs.
    """
    is_struct, is_map = isinstance(value, Mapping), isinstance(value, Sequence)
    if is_struct and not is_map and value.is_valid:
        return {name: read_value(each) for name, each in value.items()}
    try:
        return value.as_py(maps_as_pydicts="strict")
    except UNREADABLE:
        return value.as_py() if is_map else None


def zoned(row: dict[str, Any], instants: list[list[str]]) -> Row:
    """Return a row, having said of its instants that they are."""
    for *path, name in instants:
        inner: Any = row
        for key in path:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get(name), datetime):
            inner[name] = inner[name].replace(tzinfo=UTC)
    return row
