"""Options of reads, writes and streams: each is obeyed, or refused by its name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter

from spark_sink import Lake
from spark_sink.catalog.options import CHANGES, KNOWN, OPTIONS, QUERY, USES, WRITE, check_options
from spark_sink.catalog.session.open_statements import Refusal
from tests.spark_sink.catalog.sql import done, refusal, rows

FOREIGN = {"userMetadata": "x", "dataChange": "false", "foo": "1"}
HELPS = {"userMetadata": "txn.app", "dataChange": "optimize"}

SAME_PLACES = (("/a/b", "file:/a/b"), ("file:///a/b/", "/a/b"), ("s3a://b/c/", "s3a://b/c"))

Work = Callable[[], Any]


def refused(work: Work) -> str:
    """Return the text of the error that some work fails with, "" if it does its work."""
    try:
        work()
    except PySparkException as error:
        return str(error)
    return ""


@pytest.mark.parametrize("use", USES)
def test_in_each_use_the_options_of_the_table_pass_in_any_spelling(use: str) -> None:
    for option in OPTIONS:
        if use in option.uses:
            check_options({option.name: "1", option.name.upper(): "1"}, use)
        else:
            with pytest.raises(Refusal, match=option.name):
                check_options({option.name: "1"}, use)
    check_options({"fs.s3a.key": "x", "parquet.block.size": "1"}, use)
    for given, location in SAME_PLACES:
        check_options({"PATH": given}, use, location)
    for given, location in (("/a/c", "file:/a/b"), ("s3a://b/c", "s3a://b/d"), ("/a", "")):
        with pytest.raises(Refusal, match=r"got path = .*a table has one location"):
            check_options({"path": given}, use, location)
    check_options({"readChangeFeed": "FALSE", "mergeSchema": "false"}, use)
    for name, value in {**FOREIGN, "parquet.encryption.kms": "x"}.items():
        with pytest.raises(Refusal, match=f"got {name} = .*{HELPS.get(name, 'leave it out')}"):
            check_options({name: value}, use)
    assert len(KNOWN) == len(OPTIONS)
    assert {QUERY, CHANGES, WRITE} < set(USES)


@pytest.fixture
def table(lake: Lake) -> Lake:
    done(
        lake,
        "CREATE TABLE ledger.db.t (id INT NOT NULL, p INT, CONSTRAINT pos CHECK (id > 0)) "
        "PARTITIONED BY (p) TBLPROPERTIES ('delta.isolationLevel' = 'Serializable')",
    )
    return lake


def filled(lake: Lake) -> DataFrame:
    """Fill the table anew, and return a row for its first partition."""
    done(lake, "INSERT OVERWRITE ledger.db.t VALUES (1, 1), (2, 2)")
    return lake.spark.createDataFrame([(9, 1)], "id INT, p INT")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, [(9, 1)]),
        ({"partitionOverwriteMode": "dynamic"}, [(2, 2), (9, 1)]),
        ({"PARTITIONOVERWRITEMODE": "static"}, [(9, 1)]),
        ({"replaceWhere": "p = 1"}, [(2, 2), (9, 1)]),
        ({"replaceWhere": "id < 2 OR p = 1"}, [(2, 2), (9, 1)]),
        ({"replaceWhere": "p = 2"}, "must fulfil its condition"),
        ({"replaceWhere": "q = 2"}, "no column q"),
        ({"replaceWhere": "p = 1", "partitionOverwriteMode": "dynamic"}, "only condition"),
        ({"partitionOverwriteMode": "some"}, "static or dynamic"),
        ({"userMetadata": "x"}, "userMetadata"),
    ],
)
def test_overwrite(table: Lake, options: dict[str, str], left: Any) -> None:
    """An overwrite replaces what its options say; one that it cannot obey changes nothing."""
    new = filled(table)
    writer = new.write.mode("overwrite").options(**options)
    said = refused(lambda: writer.insertInto("ledger.db.t"))
    if isinstance(left, str):
        assert left in said
        left = [(1, 1), (2, 2)]
    assert rows(table, "SELECT id, p FROM ledger.db.t") == left
    whole = new.write.mode("overwrite").options(**options)
    said = refused(lambda: whole.saveAsTable("ledger.db.t"))
    is_whole = not options or list(options.values()) == ["static"]
    assert bool(said) is not is_whole
    assert all(any(name in said for name in options) for _ in said)
    assert rows(table, "SELECT id, p FROM ledger.db.t") == ([(9, 1)] if is_whole else left)


@pytest.mark.spark
def test_other_writes_and_reads(table: Lake, tmp_path: Path) -> None:
    spark, new = table.spark, filled(table)
    name = "ledger.db.t"

    def read(option: str, value: object) -> DataFrameReader:
        return spark.read.option(option, str(value))

    refusals = {
        "append": lambda: new.write.mode("append").option("foo", 1).saveAsTable(name),
        "where": lambda: new.write.mode("append").option("replaceWhere", "p = 1").insertInto(name),
        "v2": lambda: new.writeTo(name).option("foo", 1).append(),
        "read": lambda: read("foo", 1).table(name).collect(),
        "feed": lambda: read("readChangeFeed", "true").table(name).collect(),
        "start": lambda: read("startingVersion", 1).table(name).collect(),
        "changes": lambda: read("foo", 1).table(f"{name}.changes").collect(),
        "rows": lambda: read("foo", 1).table(f"{name}.history").collect(),
        "made": lambda: new.write.option("foo", 1).saveAsTable("ledger.db.made"),
        "stream": lambda: streamed(table, tmp_path / "1", {"foo": "1"}, {}),
        "sink": lambda: streamed(table, tmp_path / "2", {}, {"foo": "1"}),
        "lost": lambda: streamed(table, tmp_path / "3", {"ignoreMissingFiles": "true"}, {}),
    }
    said = {door: refused(work) for door, work in refusals.items()}
    named = {"where": "replaceWhere", "feed": "changes", "start": "versionAsOf", "lost": "ignoreMi"}
    assert {d for d, text in said.items() if named.get(d, "foo") not in text} == set(), said
    assert "got foo" in refusal(table, f"SELECT * FROM {name} WITH (`foo` = '1')")
    assert "got foo" in refusal(table, f"INSERT INTO {name} WITH (`foo` = '1') VALUES (3, 1)")
    assert rows(table, f"SELECT id, p FROM {name}") == [(1, 1), (2, 2)]
    new.write.mode("append").options(compression="zstd", mergeSchema="true").saveAsTable(name)
    assert read("versionAsOf", 1).option("fs.x", "y").table(name).count() == 2
    assert read("startingVersion", 2).table(f"{name}.changes").count() == 1
    streamed(table, tmp_path / "4", {"maxFilesPerTrigger": "1"}, {"compression": "zstd"})
    assert rows(table, "SELECT count(*) FROM ledger.db.sink") == [(3,)]


def streamed(lake: Lake, place: Path, reads: dict[str, str], writes: dict[str, str]) -> None:
    done(lake, "CREATE TABLE IF NOT EXISTS ledger.db.sink (id INT, p INT)")
    rows_read = lake.spark.readStream.options(**reads).table("ledger.db.t")
    writer = rows_read.writeStream.trigger(availableNow=True).options(**writes)
    writer.option("checkpointLocation", str(place)).toTable("ledger.db.sink").awaitTermination()


@pytest.mark.spark
def test_a_path_is_that_of_the_table_or_is_refused(table: Lake, tmp_path: Path) -> None:
    spark, new, name = table.spark, filled(table), "ledger.db.t"
    place = str(tmp_path / "elsewhere")

    def written(mode: str = "append", to: str = place) -> DataFrameWriter:
        return new.write.mode(mode).option("path", to)

    refusals = {
        "append": lambda: written().saveAsTable(name),
        "into": lambda: written().insertInto(name),
        "over": lambda: written("overwrite").insertInto(name),
        "v2": lambda: new.writeTo(name).option("path", place).append(),
        "sql": lambda: done(table, f"INSERT INTO {name} WITH (`path` = '{place}') VALUES (3, 1)"),
        "read": lambda: spark.read.option("path", place).table(name).collect(),
        "changes": lambda: spark.read.option("path", place).table(f"{name}.changes").collect(),
        "stream": lambda: streamed(table, tmp_path / "1", {"path": place}, {}),
        "sink": lambda: streamed(table, tmp_path / "2", {}, {"path": place}),
    }
    said = {door: refused(work) for door, work in refusals.items()}
    assert {d for d, text in said.items() if "got path" not in text} == set(), said
    assert rows(table, f"SELECT id, p FROM {name}") == [(1, 1), (2, 2)]
    written().saveAsTable("ledger.db.n")
    written().saveAsTable("ledger.db.n")
    written(to=f"file://{place}/").insertInto("ledger.db.n")
    assert rows(table, "SELECT count(*) FROM ledger.db.n") == [(3,)]
    written("overwrite", f"{place}2").saveAsTable("ledger.db.n")
    assert table.ledger.table("db.n").definition.location.endswith("elsewhere2")
    new.writeTo("ledger.db.n").option("path", f"{place}3").replace()
    assert table.ledger.table("db.n").definition.location.endswith("elsewhere3")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("options", "said"),
    [({"versionAsOf": "1"}, "versionAsOf"), ({"timestampAsOf": "2099-01-01"}, "timestampAsOf")],
)
def test_streams_do_not_travel(table: Lake, options: dict[str, str], said: str) -> None:
    """A stream begins with a version; it is not read as of one."""
    filled(table)
    reader = table.spark.readStream.options(**options)
    text = refused(lambda: reader.table("ledger.db.t"))
    assert "LEDGER_UNSUPPORTED" in text
    assert f"got {said}" in text
    assert "begin the stream with starting" in text


@pytest.mark.spark
def test_a_column_that_the_table_lacks_is_refused_by_name(table: Lake) -> None:
    filled(table)
    new = table.spark.sql("SELECT 9 AS id, 1 AS p, 2 AS more")
    writer = new.write.mode("append").option("mergeSchema", "false")
    for work in (
        lambda: writer.saveAsTable("ledger.db.t"),
        lambda: writer.insertInto("ledger.db.t"),
        lambda: new.writeTo("ledger.db.t").option("mergeSchema", "false").append(),
    ):
        assert "`more`" in refused(work)
    assert rows(table, "SELECT id, p FROM ledger.db.t") == [(1, 1), (2, 2)]
    assert table.spark.table("ledger.db.t").columns == ["id", "p"]
    done(table, "INSERT WITH SCHEMA EVOLUTION INTO ledger.db.t SELECT 9 id, 1 p, 2 more")
    assert rows(table, "SELECT more FROM ledger.db.t WHERE id = 9") == [(2,)]


PUBLISHED = "'lakeledger.publish' = 'delta'"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("key", "value", "before"),
    [
        ("delta.foo", "1", PUBLISHED),
        ("delta.enableChangeDataFeed", "true", PUBLISHED),
        ("delta.enableRowTracking", "true", PUBLISHED),
        ("delta.appendOnly", "yes", PUBLISHED),
        ("delta.feature.x", "supported", PUBLISHED),
        ("delta.columnMapping.mode", "id", "'a' = 'b'"),
        ("delta.isolationLevel", "Some", "'a' = 'b'"),
        ("delta.constraints.c", "id >", "'a' = 'b'"),
    ],
)
def test_properties_that_are_refused(lake: Lake, key: str, value: str, before: str) -> None:
    """A property that the ledger refuses is refused by name in each statement that sets it."""
    name, both = "ledger.db.p", f"{before}, '{key}' = '{value}'"
    named = "isolation level" if key.endswith("Level") else key.removeprefix("delta.constraints.")
    for statement in (
        f"CREATE TABLE {name} (id INT) TBLPROPERTIES ({both})",
        f"CREATE TABLE {name} TBLPROPERTIES ({both}) AS SELECT 1 AS id",
    ):
        said = refusal(lake, statement)
        assert "LEDGER_" in said
        assert named in said
        assert not lake.spark.catalog.tableExists(name)
    done(lake, f"CREATE TABLE {name} (id INT) TBLPROPERTIES ({before})")
    for statement in (
        f"ALTER TABLE {name} SET TBLPROPERTIES ('{key}' = '{value}')",
        f"CREATE OR REPLACE TABLE {name} (id INT) TBLPROPERTIES ({both})",
    ):
        assert named in refusal(lake, statement)
    assert key not in dict(lake.ledger.table("db.p").definition.properties)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE ledger.db.o (id INT) OPTIONS ('foo' = '1')", "got foo"),
        ("CREATE TABLE ledger.db.o (id INT) STORED AS ORC", "ORC"),
        ("CREATE TABLE ledger.db.o (id INT) ROW FORMAT SERDE 'a.b'", "a.b"),
        ("CREATE SCHEMA ledger.o LOCATION '/x'", "got location"),
        ("SELECT * FROM ledger.db.t.history VERSION AS OF 1", "as of now"),
        ("DROP TABLE ledger.db.t PURGE", "PURGE"),
        ("ANALYZE TABLE ledger.db.t COMPUTE STATISTICS", "ANALYZE TABLE"),
        ("MSCK REPAIR TABLE ledger.db.t", "MSCK"),
        ("TRUNCATE TABLE ledger.db.t PARTITION (p = 1)", "TRUNCATE"),
    ],
)
def test_refused_statements(lake: Lake, statement: str, said: str) -> None:
    """A statement with a part that no table obeys is refused by that part."""
    done(lake, "CREATE TABLE ledger.db.t (id INT, p INT) PARTITIONED BY (p)")
    with pytest.raises((PySparkException, Py4JJavaError), match=said):
        done(lake, statement)
    assert rows(lake, "SHOW TABLES IN ledger.db") == [("db", "t", False)]
