"""Settings of a session that alter what is read: a statement that writes is right under each."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

SQL: Final = "spark.sql."
T: Final = "ledger.db.t"
COPY: Final = "ledger.db.copy"
COLUMNS: Final = (
    "id INT NOT NULL, b BINARY, v VARCHAR(4), c CHAR(4), d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, "
    "s STRUCT<a: INT, t: TIMESTAMP>, a ARRAY<TIMESTAMP>, m DECIMAL(5, 2), p TIMESTAMP, q STRING"
)
ROW: Final = (
    "{id}, X'00ff', 'v', 'c', DATE'1000-01-01', TIMESTAMP'1001-01-01 00:00:00Z', "
    "TIMESTAMP_NTZ'1002-01-01 00:00:00', named_struct('a', 1, 't', TIMESTAMP'1003-01-01 00:00:00Z')"
    ", array(TIMESTAMP'2020-01-01 00:00:00Z'), 1.5, TIMESTAMP'2020-06-01 00:00:00Z', 'q'"
)
REST: Final = "b, v, c, d, t, n, s, a, m, p, q"
EARLY: Final = "t < TIMESTAMP'2021-01-01 00:00:00Z'"
MATCHED: Final = "ON t.id = s.id WHEN MATCHED THEN UPDATE SET q = 'm'"
STATEMENTS: Final = (
    "UPDATE ledger.db.t SET id = id + 10 WHERE id = 1",
    f"INSERT INTO ledger.db.t SELECT id + 20, {REST} FROM ledger.db.t WHERE {EARLY} AND id = 11",
    f"MERGE INTO ledger.db.t t USING (SELECT 31 AS id) s {MATCHED}",
    "DELETE FROM ledger.db.t WHERE p = TIMESTAMP'2020-06-01 00:00:00Z' AND q = 'q' AND id = 2",
)
# Settings that agree with each other share a run.
GROUPS: Final[tuple[Mapping[str, str], ...]] = (
    {
        "parquet.datetimeRebaseModeInWrite": "LEGACY",
        "parquet.int96RebaseModeInWrite": "LEGACY",
        "parquet.datetimeRebaseModeInRead": "LEGACY",
        "parquet.int96RebaseModeInRead": "LEGACY",
        "parquet.outputTimestampType": "INT96",
        "parquet.writeLegacyFormat": "true",
        "parquet.binaryAsString": "true",
        "parquet.int96AsTimestamp": "false",
        "parquet.inferTimestampNTZ.enabled": "false",
        "legacy.parquet.nanosAsLong": "true",
        "parquet.enableVectorizedReader": "false",
        "timestampType": "TIMESTAMP_NTZ",
        "legacy.timeParserPolicy": "LEGACY",
        "session.timeZone": "America/New_York",
    },
    {
        "parquet.enableNestedColumnVectorizedReader": "false",
        "parquet.fieldId.read.enabled": "true",
        "parquet.fieldId.read.ignoreMissing": "true",
        "parquet.filterPushdown": "false",
        "parquet.mergeSchema": "true",
        "parquet.columnarReaderBatchSize": "1",
        "caseSensitive": "true",
        "ansi.enabled": "false",
        "storeAssignmentPolicy": "STRICT",
        "readSideCharPadding": "false",
        "preserveCharVarcharTypeInfo": "true",
        "sources.partitionColumnTypeInference.enabled": "false",
        "sources.partitionOverwriteMode": "dynamic",
        "files.maxRecordsPerFile": "1",
        "files.maxPartitionBytes": "100",
        "files.ignoreMissingFiles": "true",
        "files.ignoreCorruptFiles": "true",
    },
    {
        "optimizer.runtime.rowLevelOperationGroupFilter.enabled": "false",
        "optimizer.dynamicPartitionPruning.enabled": "false",
        "optimizer.nestedSchemaPruning.enabled": "false",
        "optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PushDownPredicates",
        "adaptive.enabled": "false",
        "codegen.wholeStage": "false",
        "codegen.factoryMode": "NO_CODEGEN",
        "parser.escapedStringLiterals": "true",
        "ansi.doubleQuotedIdentifiers": "true",
        "ansi.enforceReservedKeywords": "true",
        "defaultColumn.enabled": "false",
    },
)


@contextmanager
def settings(lake: Lake, given: Mapping[str, str]) -> Iterator[None]:
    """Set settings of the session for a block."""
    before: dict[str, str | None] = {name: lake.spark.conf.get(SQL + name, None) for name in given}
    for name, value in given.items():
        lake.spark.conf.set(SQL + name, value)
    try:
        yield
    finally:
        for name, former in before.items():
            lake.spark.conf.unset(SQL + name)
            if former is not None:
                lake.spark.conf.set(SQL + name, former)


def left(lake: Lake) -> list[dict[str, Any]]:
    """Return the rows of the table by a reader that no setting of Spark reaches."""
    found = lake.ledger.scan("db.t").to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_statements_leave_the_same_rows_under_all_settings(lake: Lake, group: int) -> None:
    done(lake, f"CREATE TABLE ledger.db.t ({COLUMNS}) PARTITIONED BY (p, q)")
    first = f"INSERT INTO ledger.db.t VALUES ({ROW.format(id=1)}), ({ROW.format(id=2)})"
    done(lake, first)
    one = left(lake)[0]
    with settings(lake, GROUPS[group]):
        done(lake, *STATEMENTS)
    assert left(lake) == [{**one, "id": 11}, {**one, "id": 31, "q": "m"}]


def test_a_setting_that_leaves_out_a_check_is_refused(lake: Lake) -> None:
    done(lake, "CREATE TABLE ledger.db.t (v VARCHAR(2), c CHAR(3))")
    for name, value in {
        "legacy.charVarcharAsString": "true",
        "storeAssignmentPolicy": "LEGACY",
    }.items():
        with settings(lake, {name: value}):
            assert SQL + name in refusal(lake, "INSERT INTO ledger.db.t VALUES ('long', 'c')")
    assert lake.ledger.scan("db.t").to_arrow().num_rows == 0


@contextmanager
def damaged(lake: Lake, setting: str) -> Iterator[None]:
    """Take away, or damage, the first of two files of the table for a block."""
    done(
        lake,
        f"CREATE TABLE {T} (id INT, v INT)",
        f"INSERT INTO {T} VALUES (1, 1)",
        f"CREATE TABLE {COPY} (id INT, v INT)",
    )
    (path,) = lake.ledger.read("db.t").paths
    definition = lake.ledger.table("db.t").definition
    assert definition is not None
    file = Path(definition.location.removeprefix("file:")) / path
    done(lake, f"INSERT INTO {T} VALUES (2, 2)")
    kept = file.read_bytes()
    file.unlink()
    if setting == "ignoreCorruptFiles":
        file.write_bytes(b"PAR1" + bytes(len(kept) - 8) + b"PAR1")
    yield
    file.write_bytes(kept)


def writes(lake: Lake, place: Path) -> Mapping[str, Callable[[], Any]]:
    """Return all that keeps rows of the table somewhere, by a word for each."""
    spark = lake.spark

    def sql(statement: str) -> Callable[[], None]:
        return lambda: done(lake, statement)

    def copied() -> None:
        stream = spark.readStream.table(T).writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", str(place / "c")).toTable(COPY).awaitTermination()

    def batches() -> None:
        def write(frame: DataFrame, _: int) -> None:
            frame.sparkSession.table(T).write.insertInto(COPY)

        stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        writer = stream.writeStream.foreachBatch(write).trigger(availableNow=True)
        writer.option("checkpointLocation", str(place / "b")).start().awaitTermination()

    return {
        "update": sql(f"UPDATE {T} SET v = v + 10"),
        "delete": sql(f"DELETE FROM {T} WHERE id * v > 3"),
        "merge": sql(
            f"MERGE INTO {T} t USING (SELECT 2 AS id) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET v = 9 WHEN NOT MATCHED BY SOURCE THEN DELETE"
        ),
        "insert": sql(f"INSERT INTO {COPY} SELECT * FROM {T}"),
        "made": sql(f"CREATE TABLE ledger.db.made AS SELECT * FROM {T}"),
        "frame": lambda: spark.table(T).write.insertInto(COPY),
        "saved": lambda: spark.table(T).write.mode("append").saveAsTable(COPY),
        "elsewhere": lambda: spark.table(T).write.parquet(str(place / "out")),
        "stream": copied,
        "batches": batches,
    }


@pytest.mark.parametrize("setting", ["ignoreMissingFiles", "ignoreCorruptFiles"])
def test_files_left_out(lake: Lake, setting: str, tmp_path: Path) -> None:
    """Only a query leaves out a file that cannot be read; what writes or streams fails."""
    went_on = []
    with damaged(lake, setting):
        optional = lake.spark.read.option(setting, "true").table(T)
        assert [row.id for row in optional.collect()] == [2]
        with pytest.raises(PySparkException, match=setting):
            optional.writeTo(COPY).append()
        with settings(lake, {f"files.{setting}": "true"}):
            assert rows(lake, f"SELECT id FROM {T}") == [(2,)]
            for word, work in writes(lake, tmp_path).items():
                with suppress(PySparkException, Py4JJavaError):
                    work()
                    went_on.append(word)
    assert went_on == []
    assert rows(lake, f"SELECT id, v FROM {T}") == [(1, 1), (2, 2)]
    assert rows(lake, f"SELECT * FROM {COPY}") == []
