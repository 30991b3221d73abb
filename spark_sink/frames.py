"""A table of the ledger as a DataFrame: exactly the data of one snapshot.

The definition of the table comes from the cache of this host. The snapshot decides which data are
read: the live files, by the scan of the catalog, or the folders `delta_<write id>` that are valid
in its list, by Spark's own. For an external table all data at its location are read, since no
program commits there through the ledger.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import MAPPING_MODE
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.definitions.time_zones import zone_named
from ledger.errors import UnreadableTableError
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
from spark_sink.host_files import files_frame
from spark_sink.host_tables import HostSnapshot, HostTables, Level, host_tables, partition_columns
from spark_sink.partition_values import is_read_as_text, read_as
from spark_sink.unions import TEXT, empty, in_pairs, quoted, read_schema, type_of, union

if TYPE_CHECKING:
    from ledger.expressions.build import Expression

DELTA_LOG: Final = "_delta_log"
NOT_MAPPED: Final = ("", "none")


def cached_table(
    spark: SparkSession,
    name: str,
    snapshot: HostSnapshot,
    tables: HostTables | None = None,
    *,
    where: "str | Expression | None" = None,
    record: bool = True,
) -> DataFrame:
    """Return the data of a table as a snapshot sees it, with the columns that it sees.

    `snapshot` is an open `Transaction`; `tables` are by default the tables of this host. The txn
    records that it read all rows, as with `Transaction.read`: a commit in the meantime that changed
    them wins. `where`, a condition of Spark SQL or an expression, keeps the rows for which it holds
    in the session's time zone, and only these count as read. Later filters of the DataFrame do not
    count. With `record=False` the read is not recorded: the txn's writes do not depend on the rows.

    A reader sees the folders of its own txn, but not files that the txn only declared.

    The files of a table are read by the catalog's scan, which needs no `attach`: columns are found
    by their ids, else by name, and conditions leave out files by their partitions. `where` also
    leaves out files by their statistics. The column `_file` is the path of a row's file. A value of
    a partition that its column's type cannot hold fails the queries that read the partition: no
    condition on the column holds for it. In folders of write ids columns are found by name, so a
    renamed column is NULL in older folders unless their partition has its value, and any query of a
    value that does not fit fails.

    Raises UnknownTableError, ReaderBehindError, SettingsError, StoreError, PredicateSyntaxError,
    ValueError if the txn has ended and the read would be recorded, and UnreadableTableError for
    deletion vectors without a place, missing files, column mapping that Spark cannot follow,
    folders of other programs, in other places or with a colon, an external table with a Delta log,
    and a table without a location.
    """
    zone = "UTC" if where is None else session_zone(spark)
    with host_tables().use() if tables is None else nullcontext(tables) as known:
        found = known.resolve(name, snapshot, where=where, record=record, time_zone=zone)
        table = found.metadata.definition
        table = table._replace(partition_columns=partition_columns(table))
        check_names(name, table, is_listed=found.files is not None)
        if found.files is not None:
            frame = files_frame(spark, table, found, known.reads, snapshot.opened)
        elif found.write_ids is not None:
            frame = folders_frame(spark, table, found.write_ids, found.levels)
        else:
            frame = external_frame(spark, table)
    frame = frame.select([quoted(column.name) for column in table.columns] or ["*"])
    return frame if where is None else frame.where(sql_in(where, zone))


def check_names(name: str, table: TableDefinition, *, is_listed: bool) -> None:
    """Raise UnreadableTableError for files with names of columns that are not known.

    The scan of files knows the names of Delta's column mapping; Spark's own scan of folders does
    not, and Delta spells the property in one way only.
    """
    for each in table.properties:
        if each.key.lower() != MAPPING_MODE.lower() or each.value.lower() in NOT_MAPPED:
            continue
        if not is_listed or each.key != MAPPING_MODE:
            raise UnreadableTableError(
                f"the files of table {name} hold columns under other names (property {each.key}); "
                "read it with a Delta reader"
            )


def session_zone(spark: SparkSession) -> str:
    """Return the time zone of a session by the name of its rules: Spark takes PST for one, too."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - as `in_hadoop`
    times = jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils
    return str(times.getZoneId(spark.conf.get("spark.sql.session.timeZone")).toString())


def sql_in(where: "str | Expression", zone: str) -> str:
    """Return the SQL of a condition for a session of a time zone.

    Raises ValueError for an expression in another time zone: SQL cannot express that.
    """
    if isinstance(where, str):
        return where
    others = where.zones() - {zone_named(zone)}
    if others:
        raise ValueError(
            f"the condition is in time zone {min(others) or 'UTC'}, Spark's session is in "
            f"{zone}: set spark.sql.session.timeZone, or leave out in_zone"
        )
    return where.sql()


def folders_frame(
    spark: SparkSession,
    table: TableDefinition,
    write_ids: ValidWriteIdList,
    levels: Sequence[Level],
) -> DataFrame:
    """Return the rows of the folders that a list shows, in any of the table's layouts."""
    check_none_lies_above(spark, table, write_ids, levels)
    parts: list[DataFrame] = []
    read: set[str] = set()
    for names, own_ids in levels:
        then, taken = {now: name for name, now in names.items()}, set(map(str.lower, names))
        # A present column with the former name of a level is another column, and those folders lack
        # it.
        held = [
            column
            for column in table.columns
            if column.name in then or column.name.lower() not in taken
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
                column.name: sf.lit(None).cast(column.type)
                for column in table.columns
                if column not in held
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

    No reader searches there, unless the table was partitioned by fewer columns before.
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
                    f"be left out; a folder of a write id must lie in its partition, as "
                    f"{column}=<value>/delta_{number}"
                )


def external_frame(spark: SparkSession, table: TableDefinition) -> DataFrame:
    """Return all rows at a location; without folders of partitions the files hold the values."""
    location, columns = location_of(table), table.partition_columns
    if is_there(spark, f"{location}/{DELTA_LOG}"):
        raise UnreadableTableError(
            f"at {location} is a Delta table, so a plain scan would also show its removed rows; "
            " read it with a Delta reader, or bring it in with lakeledger import delta"
        )
    if any(is_read_as_text(spark, table, column) for column in table.columns):
        first = "/".join([literal(location), f"{in_any_spelling(columns[0])}=*"])
        table = table._replace(partition_columns=columns if folders(spark, first) else [])
    return scan(spark, table, [location], is_deep=not lies_at(spark, location, "*=*"))


def scan(
    spark: SparkSession, table: TableDefinition, paths: Sequence[str], *, is_deep: bool = False
) -> DataFrame:
    """Return the rows under some paths, whose folders name their partitions.

    Folders of an unpartitioned table name none, and only a deep scan reads the folders within them.
    """
    reader = spark.read.option("basePath", location_of(table))
    reader = reader.option("recursiveFileLookup", is_deep).option("mergeSchema", not table.columns)
    if not table.columns and table.partition_columns:
        found = parquet(reader, paths).schema
        reader = reader.schema(with_texts(found, table.partition_columns))
    texts = {
        column.name: type_of(column)
        for column in table.columns
        if is_read_as_text(spark, table, column)
    }
    if table.columns:
        columns = [
            column._replace(type=TEXT) if column.name in texts else column
            for column in table.columns
        ]
        reader = reader.schema(read_schema(table._replace(columns=columns)))
    values = {name: read_as(sf.col(quoted(name)), kind, name) for name, kind in texts.items()}
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
    """Return the rows of some paths, each taken literally.

    Raises UnreadableTableError for a path that Hadoop cannot search.
    """
    try:
        return reader.parquet(*map(literal, paths))
    except IllegalArgumentException as refused:
        raise UnreadableTableError(
            "Hadoop cannot search a path of the table: with a colon, none may have a character "
            f"of patterns, and none may be of another host ({refused})"
        ) from refused
