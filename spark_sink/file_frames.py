"""The rows of files that the ledger lists, with their partition values from the ledger."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from ledger.core.commands import TableDefinition
from ledger.core.partitions.file_paths import spellings
from ledger.errors import UnreadableTableError
from ledger.reads.port import FileRow
from spark_sink.file_index import Placed, scan_of, unfit
from spark_sink.folders import location_of
from spark_sink.partition_values import refusal
from spark_sink.unions import TEXT, empty, in_pairs, quoted, schema_of, type_of, union

# Spark skips files with such a name, even if a caller names them.
HIDDEN: Final = re.compile(r"(?:^|/)[_.][^/]*$|\._COPYING_$")
# A path from a root, or a URI; Hadoop writes file:/a as well as file:///a.
ABSOLUTE: Final = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")


def files_frame(
    spark: SparkSession,
    table: TableDefinition,
    files: Sequence[FileRow],
    partitioned: Mapping[int, Sequence[str]],
) -> DataFrame:
    """Return the rows of files, with partition values from the ledger.

    The values are of the columns that `partitioned` holds for the position of a file's add, else of
    the table's partition columns.
    """
    for file in files:
        check_plain(file)
    if not files:
        return empty(spark, table)
    by_columns: dict[tuple[str, ...], list[FileRow]] = {}
    for file in files:
        columns = partitioned.get(file.added, table.partition_columns)
        by_columns.setdefault(tuple(columns), []).append(file)
    parts = [
        part
        for columns, some in by_columns.items()
        for part in partition_frames(spark, table, columns, some)
    ]
    return in_pairs(parts, union)


def check_plain(file: FileRow) -> None:
    """Raise UnreadableTableError for a file that Spark would read with other rows than it has."""
    if file.vector:
        what = "has a deletion vector"
    elif HIDDEN.search(file.path):
        what = "has a name that Spark treats as hidden"
    else:
        return
    raise UnreadableTableError(
        f"the file {file.path} {what}, so a plain scan would not show its rows as they are; read "
        "the table with a Delta reader"
    )


def partition_frames(
    spark: SparkSession,
    table: TableDefinition,
    names: Sequence[str],
    files: Sequence[FileRow],
) -> Iterator[DataFrame]:
    """Yield the rows of files with values of these columns, some of which may be dropped.

    Rows of a partition that cannot be read are a frame of their own: they fail only the queries
    that read them.
    """
    known = {each.name: type_of(each) for each in table.columns}
    known = known or dict.fromkeys(table.partition_columns, TEXT)
    types = {name: known[name] for name in names if name in known}
    at = [number for number, name in enumerate(names) if name in types]
    own = [each for each in table.columns if each.name not in types]
    columns = schema_of(table._replace(columns=own)) if own or table.columns else None
    placed = [
        Placed(paths_of(table, each), tuple(each.partition[number] or None for number in at))
        for each in files
    ]
    wrong = unfit(spark, list(dict.fromkeys(each.values for each in placed)), types)
    by_fault: dict[tuple[str, ...], list[Placed]] = {}
    for each in placed:
        by_fault.setdefault(tuple(wrong.get(each.values, ())), []).append(each)
    for faults, some in by_fault.items():
        if not faults:
            yield scan_of(spark, some, types, columns)
            continue
        warn_of(faults, some)
        found = scan_of(spark, some, dict.fromkeys(types, TEXT), columns)
        yield with_faults(found, types, faults)


def with_faults(found: DataFrame, types: Mapping[str, str], faults: Sequence[str]) -> DataFrame:
    """Return rows whose partitions have values that their columns cannot hold, as NULL.

    So no condition on such a column holds for them; a query that still reads them fails.
    """
    for name in faults:
        # It names the file: Spark would evaluate an error of the partition alone for all partitions
        # first.
        said = refusal(sf.col(quoted(name)), types[name], name)
        error = sf.concat(said, sf.lit("; it is the value of "), sf.col("_metadata.file_path"))
        found = found.where(sf.raise_error(error).cast("boolean"))
    values = {
        name: sf.lit(None).cast(kind) if name in faults else sf.col(quoted(name)).try_cast(kind)
        for name, kind in types.items()
    }
    return found.withColumns(values)


def warn_of(faults: Sequence[str], files: Sequence[Placed]) -> None:
    """Warn of files that conditions on a column skip."""
    warnings.warn(
        f"{len(files)} files, such as {files[0].paths[0]}, lie in partitions whose value of "
        f"{', '.join(faults)} does not fit the type of that column: no condition on it holds "
        "for them, and a query that reads them fails. Correct the values, or alter the type",
        stacklevel=6,
    )


def paths_of(table: TableDefinition, file: FileRow) -> Sequence[str]:
    """Return the paths at which a file of a table may be; a path may be absolute."""
    is_own = ABSOLUTE.match(file.path)
    return spellings("" if is_own else location_of(table), file.path)
