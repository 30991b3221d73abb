"""The files of a host's table as rows of Spark: by the scan of the catalog, without a catalog.

The answer for the scan is made from the rows of this host and goes to Spark with the table. Spark's
own access to the storage is used to look for the files: nothing is read that is not there.
"""

import json
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession

from ledger.arrow.schema import TableSchema
from ledger.core.commands import Column, TableDefinition
from ledger.core.predicates.tree import of_wire
from ledger.errors import UnreadableTableError
from ledger.expressions.bounds import file_may_hold
from ledger.files.storage import places_of, storage_at
from ledger.log.wire.file_extras import BLOCK
from ledger.reads.amounts import amount
from ledger.reads.port import FileRow, Reads
from ledger.snapshot.table_snapshot import TableSnapshot
from spark_sink.catalog.columns import initial_metadata
from spark_sink.catalog.compiled import load
from spark_sink.catalog.read.files import hadoop, in_groups
from spark_sink.folders import location_of
from spark_sink.host_tables import GONE, HostTable
from spark_sink.unions import TEXT, empty, in_pairs, type_of, union

SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that is there, with its size, and its path as Spark has it."""

    row: FileRow
    path: str


def files_frame(
    spark: SparkSession, table: TableDefinition, found: HostTable, reads: Reads, position: int
) -> DataFrame:
    """Return the rows of the files of a table as of a position.

    `table` is its definition, and `reads` are the reads of this host. Files that have no row of the
    condition, by their statistics, are left out.
    """
    schema = TableSchema.of(table, found.metadata.name, found.metadata.table)
    written = schemas_then(found, reads, position, schema)
    where = of_wire(found.where)
    wanted = [file for file in found.files or () if file_may_hold(where, file, schema, written)]
    if not wanted:
        return empty(spark, table)
    location = location_of(table)
    load(spark.sparkContext)
    there = list(looked_for(spark, location, wanted))
    if not table.columns:
        table = with_columns(spark, table, found, there)
    answers = answers_of(table, found, reads, position, there)
    return in_pairs([frame_of(spark, answer) for answer in answers], union)


def looked_for(spark: SparkSession, location: str, files: Sequence[FileRow]) -> Iterator[FoundFile]:
    """Yield the files of a table, wherever each is.

    Raises UnreadableTableError for a file that is missing, or exists at two of its paths, for two
    paths of one file, and for a path that Hadoop cannot search.
    """
    in_log = [file for file in files if file.rows]
    yield from (FoundFile(file, f"{BLOCK}/{file.path.removeprefix(BLOCK)}") for file in in_log)
    files = [file for file in files if not file.rows]
    places = [[*map(hadoop, places_of(location, file.path))] for file in files]
    looks = found_at(spark, [place for each in places for place in each])
    there = [[*filter(None, islice(looks, len(each)))] for each in places]
    missing = [paths[0] for paths, found in zip(places, there, strict=True) if not found]
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise UnreadableTableError(
            f"the ledger names files that are not there: {', '.join(missing[:SHOWN])}{more}. Bring "
            "them back, or remove them from the table"
        )
    known: dict[str, str] = {}
    for row, found in zip(files, there, strict=True):
        if len(found) > 1:
            raise UnreadableTableError(
                f"the path {row.path} may mean two files: {' and '.join(each[0] for each in found)}"
                ". Remove the one that is not of the table"
            )
        path, size = found[0]
        other = known.setdefault(path, row.path)
        if other != row.path:
            raise UnreadableTableError(
                f"{path} is two files of the ledger, {other} and {row.path}: remove one of them "
                "from the table"
            )
        yield FoundFile(row._replace(size=size), path)


def found_at(spark: SparkSession, paths: Sequence[str]) -> Iterator[tuple[str, int] | None]:
    """Return the path and the size of what is at each path, None where no file is."""
    try:
        found = json.loads(given(spark).found(session_of(spark), json.dumps(paths)))
    except IllegalArgumentException as refused:
        raise UnreadableTableError(
            "Hadoop cannot look for the files of the table: their storage must be set up in Spark, "
            f"and no path may be of another host ({refused})"
        ) from refused
    return iter(found)


def with_columns(
    spark: SparkSession, table: TableDefinition, found: HostTable, there: Sequence[FoundFile]
) -> TableDefinition:
    """Return a table that says no columns with all that its files have; partitions are texts.

    Raises UnreadableTableError for rows in the log.
    """
    if any(each.row.rows for each in there):
        raise UnreadableTableError(
            f"table {found.metadata.name} says no columns, and Spark does not look for them in "
            "rows of the log: alter the table to have columns"
        )
    then = (table.partition_columns, *found.partitioned.values())
    parts = dict.fromkeys(name for names in then for name in names if name != GONE)
    texts = json.dumps([each.path for each in there]), json.dumps([each.row.size for each in there])
    inside = json.loads(given(spark).columns(session_of(spark), *texts))
    taken = {name.lower() for name in parts}
    columns = [
        Column(each["name"], each["type"], nullable=True, id=0)
        for each in inside
        if each["name"].lower() not in taken
    ]
    columns += [Column(name, TEXT, nullable=True, id=0) for name in parts]
    return table._replace(columns=columns)


def answers_of(
    table: TableDefinition,
    found: HostTable,
    reads: Reads,
    position: int,
    there: Sequence[FoundFile],
) -> Iterator[Mapping[str, Any]]:
    """Yield the answers for a scan of a table, one for each set of partition columns of files."""
    known = {column.name for column in table.columns}
    by_columns: dict[tuple[str, ...], list[FoundFile]] = {}
    for each in there:
        names = found.partitioned.get(each.row.added, table.partition_columns)
        by_columns.setdefault(tuple(names if each.row.partition else ()), []).append(each)
    for names, some in by_columns.items():
        at = [number for number, name in enumerate(names) if name in known]
        laid_out = table._replace(partition_columns=[names[number] for number in at])
        schema = TableSchema.of(laid_out, found.metadata.name, found.metadata.table)
        files = in_groups(
            [each.row for each in some],
            [each.path for each in some],
            schema,
            schemas_then(found, reads, position, schema),
            size=lambda row: row.size,
            storage=lambda: storage_at(table.location),
            values=[[each.row.partition[number] for number in at] for each in some],
        )
        yield answer_of(laid_out, found, position, files)


def schemas_then(
    found: HostTable, reads: Reads, position: int, schema: TableSchema
) -> Callable[[FileRow], TableSchema]:
    """Return a function that returns the schema that a file was written with."""
    seen, row = found.metadata, reads.table(found.metadata.table)
    if row is None or not seen.definition.columns:
        return lambda _: schema
    now, own = (
        TableSchema.of(each, seen.name, seen.table) for each in (row.definition, seen.definition)
    )
    definition = row.definition if now == own else seen.definition
    return TableSnapshot(reads, row, position, definition=definition).schema_of


def answer_of(
    table: TableDefinition, found: HostTable, position: int, files: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return a table with its files as an answer of the catalog."""
    return {
        "name": found.metadata.name,
        "id": str(found.metadata.table),
        "position": position,
        "seen": f"@{uuid.uuid4().hex}",  # Two scans of a table may have other files.
        "pinned": True,
        "columns": [
            {
                "name": column.name,
                "type": type_of(column),
                "metadata": json.dumps(initial_metadata(column)),
            }
            for column in table.columns
        ],
        "partition": list(table.partition_columns),
        "files": files,
    }


def frame_of(spark: SparkSession, answer: Mapping[str, Any]) -> DataFrame:
    """Return the rows of an answer; warns of partitions that conditions skip."""
    made = given(spark)(session_of(spark), json.dumps(answer))
    count, *refusals = json.loads(made.unfit())
    if count:
        warnings.warn(
            "partitions with a value that does not fit the type of its column have "
            f"{amount(count, 'file')}: no condition on it holds there, and a query that reads one "
            f"fails. One of them: {refusals[0]}",
            stacklevel=5,
        )
    return DataFrame(made.frame(), spark)


def given(spark: SparkSession) -> Any:
    """Return the class of tables with an answer, in the JVM of a session."""
    # PySpark has no public way to the JVM.
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    return jvm.lakeledger.GivenFiles


def session_of(spark: SparkSession) -> Any:
    """Return a session in its JVM."""
    return spark._jsparkSession  # noqa: SLF001 - as above
