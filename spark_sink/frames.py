"""A table of the ledger as a DataFrame: exactly the data of one snapshot, native Parquet scans.

What the table is comes from the cache of this host; which of its data are read, from the snapshot:
the folders `delta_<write id>` that its list says are valid, or the files that were live. Of an
external table everything at its location is read, as nobody commits there.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, TypeVar

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from ledger.core.commands import Column, TableDefinition
from ledger.core.valid_lists import ValidWriteIdList
from ledger.reads import FileRow
from spark_sink.errors import UnreadableTableError
from spark_sink.folders import (
    check_none_divides,
    delta_folders,
    folders,
    in_any_spelling,
    is_there,
    lies_at,
    literal,
    location_of,
)
from spark_sink.host_tables import (
    HostTable,
    HostTables,
    Level,
    Snapshot,
    host_tables,
    partition_columns,
)
from spark_sink.partition_values import is_told, read_as

if TYPE_CHECKING:
    from ledger.sdk.expressions import Expression

DELTA_LOG: Final = "_delta_log"
COLUMN_MAPPING: Final = "delta.columnMapping.mode"
NOT_MAPPED: Final = ("", "none")
# Files of such a name Spark passes over, whoever names them.
HIDDEN: Final = re.compile(r"(?:^|/)[_.][^/]*$|\._COPYING_$")
NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
# A path from a root, or a URI; Hadoop writes file:/a as well as file:///a.
ABSOLUTE: Final = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")
# The names of fields may hold anything: what stands between backticks is found to be left alone.
BOUNDED_TEXT: Final = re.compile(
    r"(`[^`]*`)|\b(?:var)?char(?:acter)?\s*\(\s*\d+\s*\)", re.IGNORECASE
)
TEXT: Final = "STRING"
Part = TypeVar("Part")

Partition = tuple[tuple[str, str | None], ...]
"""The values of a partition, each with its column."""


def cached_table(
    spark: SparkSession,
    name: str,
    snapshot: Snapshot,
    tables: HostTables | None = None,
    *,
    where: "str | Expression | None" = None,
    record: bool = True,
) -> DataFrame:
    """Return the data of a table as a snapshot sees it, with the columns that it sees.

    `snapshot` is an open `Transaction`, `tables` those of this host by default. The txn remembers
    that it read all rows, as by `Transaction.read`: a commit that came after it and changed them
    wins. `where`, a condition of Spark SQL or an expression, keeps the rows that it holds for, and
    only they count as read; what filters the DataFrame later is not known here. `record=False`
    says that nothing the txn writes depends on the rows.

    Of its own txn a reader gets folders, but not files that are only declared. Files are read by
    the names of columns: one that was renamed is NULL in those from before, unless a partition
    says what it is.

    A query fails at the value of a partition that is none of its column's type.

    Raises UnknownTableError, ReaderBehindError, SettingsError, StoreError, PredicateSyntaxError,
    ValueError if a txn that has ended is to remember the read, and UnreadableTableError
    for deletion vectors, encoded and hidden paths, column mapping, folders of other makers, in
    other places or with a colon, an external table with a Delta log, and one without a location.
    """

    def resolved(tables: HostTables) -> HostTable:
        return tables.resolve(name, snapshot, where=where, record=record)

    found = host_tables().ask(resolved) if tables is None else resolved(tables)
    table = found.metadata.definition
    table = table._replace(partition_columns=partition_columns(table))
    properties = {each.key.lower(): each.value for each in table.properties}
    if properties.get(COLUMN_MAPPING.lower(), "").lower() not in NOT_MAPPED:
        raise UnreadableTableError(
            f"the files of table {name} hold columns under other names (property {COLUMN_MAPPING});"
            " read it with a Delta reader"
        )
    if found.files is not None:
        frame = files_frame(spark, table, found.files, found.partitioned)
    elif found.write_ids is not None:
        frame = folders_frame(spark, table, found.write_ids, found.levels)
    else:
        frame = external_frame(spark, table)
    frame = frame.select([quoted(each.name) for each in table.columns] or ["*"])
    return frame if where is None else frame.where(where if isinstance(where, str) else where.sql())


def folders_frame(
    spark: SparkSession,
    table: TableDefinition,
    write_ids: ValidWriteIdList,
    levels: Sequence[Level],
) -> DataFrame:
    """Return the rows of the folders that a list shows, in whichever way they are laid out."""
    check_none_lies_above(spark, table, write_ids, levels)
    parts: list[DataFrame] = []
    read: set[str] = set()
    for names, own_ids in levels:
        then, taken = {now: name for name, now in names.items()}, set(map(str.lower, names))
        # What is called now as a level was then is another column, and those folders have none.
        held = [
            each for each in table.columns if each.name in then or each.name.lower() not in taken
        ]
        columns = [each._replace(name=then.get(each.name, each.name)) for each in held]
        laid_out = table._replace(columns=columns, partition_columns=[*names])
        folders = [
            path
            for path, number in delta_folders(spark, laid_out)
            if write_ids.is_valid(number)
            and path not in read
            and (own_ids is None or number in own_ids)
        ]
        read.update(folders)
        if folders:
            pairs = zip(columns, held, strict=True)
            own = [sf.col(quoted(old.name)).alias(new.name) for old, new in pairs]
            missing = {
                each.name: sf.lit(None).cast(each.type)
                for each in table.columns
                if each not in held
            }
            found = scan(spark, laid_out, folders, is_deep=not names)
            check_none_divides(found)
            parts.append(found.select(own or [sf.col("*")]).withColumns(missing))
    return in_pairs(parts, union) if parts else empty(spark, table)


def check_none_lies_above(
    spark: SparkSession,
    table: TableDefinition,
    write_ids: ValidWriteIdList,
    levels: Sequence[Level],
) -> None:
    """Raise UnreadableTableError for a folder that lies above the partitions of its table.

    Nobody looks for it there, unless the table was partitioned by fewer columns before.
    """
    known = {tuple(map(str.lower, names)) for names, _ in levels}
    for count, column in enumerate(table.partition_columns):
        above = table.partition_columns[:count]
        if tuple(map(str.lower, above)) in known:
            continue
        for path, number in delta_folders(spark, table._replace(partition_columns=above)):
            if write_ids.is_valid(number):
                raise UnreadableTableError(
                    f"the folder {path} lies in no partition of column {column}, so its rows would "
                    f"be left out; a folder of a write id lies in those of its partition, as "
                    f"{column}=<value>/delta_{number}"
                )


def files_frame(
    spark: SparkSession,
    table: TableDefinition,
    files: Sequence[FileRow],
    partitioned: Mapping[int, Sequence[str]],
) -> DataFrame:
    """Return the rows of files; partition values are what the ledger says they are.

    They are of the columns that `partitioned` names by where a file was added, else of the table's.
    """
    for file in files:
        check_plain(file)
    if not files:
        return empty(spark, table)
    in_folders: list[str] = []
    by_partition: dict[Partition, list[FileRow]] = {}
    for file in files:
        columns = partitioned.get(file.added)
        if columns is None and lies_in_partition(table, file):
            in_folders.append(path_of(table, file))
        else:
            names = table.partition_columns if columns is None else columns
            values = tuple(zip(names, file.partition, strict=True))
            by_partition.setdefault(values, []).append(file)
    parts = [scan(spark, table, in_folders)] if in_folders else []
    parts += [partition_frame(spark, table, each, dict(of)) for of, each in by_partition.items()]
    return in_pairs(parts, union)


def check_plain(file: FileRow) -> None:
    """Raise UnreadableTableError for a file of which Spark would read other rows than it has."""
    if file.vector:
        what = "has a deletion vector"
    elif "%" in file.path:
        what = "has an encoded path"
    elif HIDDEN.search(file.path):
        what = "has a name that Spark takes for hidden"
    else:
        return
    raise UnreadableTableError(
        f"the file {file.path} {what}, so a plain scan would not show its rows as they are; read "
        "the table with a Delta reader"
    )


def lies_in_partition(table: TableDefinition, file: FileRow) -> bool:
    """Tell whether the folders of a file say its partition, so that one scan reads all.

    Of an unpartitioned table none may say anything: Spark would take what they say for a column,
    and leave out the files that lie in none. It takes a column's name to end at the first `=`.
    """
    pairs = zip(table.partition_columns, file.partition, strict=True)
    expected = [f"{name}={value or NULL_FOLDER}" for name, value in pairs]
    is_told = bool(expected) and all("=" not in name for name in table.partition_columns)
    return is_told and file.path.split("/")[:-1] == expected


def partition_frame(
    spark: SparkSession,
    table: TableDefinition,
    files: Sequence[FileRow],
    values: Mapping[str, str | None],
) -> DataFrame:
    """Return the rows of files of one partition, wherever they lie; its columns may be gone.

    An empty value is NULL, as everywhere in the ledger.
    """
    reader = spark.read.option("mergeSchema", not table.columns)
    if table.columns:
        own = [each for each in table.columns if each.name not in values]
        reader = reader.schema(schema_of(table._replace(columns=own)) if own else StructType([]))
    types = {each.name: type_of(each) for each in table.columns}
    types = types or dict.fromkeys(table.partition_columns, TEXT)
    literals = {
        name: read_as(sf.lit(value or None), types[name], name)
        for name, value in values.items()
        if name in types
    }
    return parquet(reader, [path_of(table, each) for each in files]).withColumns(literals)


def external_frame(spark: SparkSession, table: TableDefinition) -> DataFrame:
    """Return all rows that lie at a location; where no folder says a partition, the files do."""
    location, columns = location_of(table), table.partition_columns
    if is_there(spark, f"{location}/{DELTA_LOG}"):
        raise UnreadableTableError(
            f"at {location} lies a Delta table, so a plain scan would also show rows that it has "
            "no more; read it with a Delta reader, or bring it in with lakeledger import delta"
        )
    if any(is_told(spark, table, each) for each in table.columns):
        first = "/".join([literal(location), f"{in_any_spelling(columns[0])}=*"])
        table = table._replace(partition_columns=columns if folders(spark, first) else [])
    return scan(spark, table, [location], is_deep=not lies_at(spark, location, "*=*"))


def scan(
    spark: SparkSession, table: TableDefinition, paths: Sequence[str], *, is_deep: bool = False
) -> DataFrame:
    """Return the rows under some paths, whose folders say their partitions.

    Those of an unpartitioned table say nothing, and only a deep scan reads what lies within them.
    """
    reader = spark.read.option("basePath", location_of(table))
    reader = reader.option("recursiveFileLookup", is_deep).option("mergeSchema", not table.columns)
    if not table.columns and table.partition_columns:
        found = parquet(reader, paths).schema
        reader = reader.schema(with_texts(found, table.partition_columns))
    told = {each.name: type_of(each) for each in table.columns if is_told(spark, table, each)}
    if table.columns:
        columns = [
            each._replace(type=TEXT) if each.name in told else each for each in table.columns
        ]
        reader = reader.schema(schema_of(table._replace(columns=columns)))
    values = {name: read_as(sf.col(quoted(name)), kind, name) for name, kind in told.items()}
    return parquet(reader, paths).withColumns(values)


def with_texts(schema: StructType, names: Sequence[str]) -> StructType:
    """Return a schema whose columns of these names are texts: Spark takes 01 for a number."""
    texts = {name.lower() for name in names}
    return StructType(
        [
            StructField(each.name, StringType()) if each.name.lower() in texts else each
            for each in schema
        ]
    )


def parquet(reader: DataFrameReader, paths: Iterable[str]) -> DataFrame:
    """Return what a reader reads of some paths, each by its own name.

    Raises UnreadableTableError for a path that Hadoop cannot look for.
    """
    try:
        return reader.parquet(*map(literal, paths))
    except IllegalArgumentException as refused:
        raise UnreadableTableError(
            "Hadoop cannot look for a path of the table: with a colon, none may have a character "
            f"of patterns, and none may be of another host ({refused})"
        ) from refused


def union(first: DataFrame, second: DataFrame) -> DataFrame:
    """Return the rows of both; a table that names no columns has those of either."""
    return first.unionByName(second, allowMissingColumns=True)


def in_pairs(parts: Sequence[Part], join: Callable[[Part, Part], Part]) -> Part:
    """Return all parts joined in their order: two by two, then what came of that, to the last one.

    Spark looks at every plan within a union that it makes. One after the other, the unions of 400
    partitions take ten seconds, and twice as many take four times as long.
    """
    while len(parts) > 1:
        parts = [reduce(join, parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return parts[0]


def empty(spark: SparkSession, table: TableDefinition) -> DataFrame:
    """Return no rows of a table."""
    return spark.createDataFrame([], schema_of(table) if table.columns else StructType([]))


def schema_of(table: TableDefinition) -> str:
    """Return the columns of a table as Spark reads them."""
    types = map(type_of, table.columns)
    names = (quoted(column.name) for column in table.columns)
    return ", ".join(map(" ".join, zip(names, types, strict=True)))


def type_of(column: Column) -> str:
    """Return the type of a column as Spark reads it: it takes no CHAR or VARCHAR there."""
    return BOUNDED_TEXT.sub(lambda found: found[1] or TEXT, column.type)


def path_of(table: TableDefinition, file: FileRow) -> str:
    """Return where a file of a table lies; a path may be one of its own."""
    if ABSOLUTE.match(file.path):
        return file.path
    return f"{location_of(table)}/{file.path}"


def quoted(name: str) -> str:
    """Return a column's name as SQL takes any."""
    return "`" + name.replace("`", "``") + "`"
