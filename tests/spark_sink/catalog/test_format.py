"""The format lakeledger: load and save name a table, and Delta's options are obeyed or refused."""

from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, rows

pytestmark = pytest.mark.spark

T: Final = "ledger.db.t"
F: Final = "lakeledger"


@pytest.fixture
def table(lake: Lake) -> Lake:
    done(lake, f"CREATE TABLE {T} (id INT, p STRING) PARTITIONED BY (p)")
    done(lake, f"INSERT INTO {T} VALUES (1, 'x'), (2, 'y')")
    return lake


def reader(lake: Lake, **options: Any) -> DataFrameReader:
    return lake.spark.read.format(F).options(**options)


def found(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def writer(lake: Lake, query: str, mode: str, **options: Any) -> DataFrameWriter:
    return lake.spark.sql(query).write.format(F).mode(mode).options(**options)


def refused(work: Any) -> str:
    with pytest.raises(PySparkException) as error:
        work()
    return str(error.value)


@pytest.mark.parametrize("name", [T, "db.t", "`ledger`.`db`.`t`"])
def test_load_names_a_table(table: Lake, name: str) -> None:
    assert found(reader(table).load(name)) == [(1, "x"), (2, "y")]
    assert found(reader(table, path=name).load()) == [(1, "x"), (2, "y")]
    assert found(reader(table, versionAsOf=0).load(name)) == []
    assert found(reader(table).load(name).where("p = 'y'")) == [(2, "y")]


def test_load_travels_in_time_and_reads_changes(table: Lake) -> None:
    ((at,),) = rows(table, f"SELECT string(timestamp) FROM {T}.history WHERE version = 1")
    done(table, f"INSERT INTO {T} VALUES (3, 'x')")
    assert len(found(reader(table, timestampAsOf=at).load(T))) == 2
    changes = reader(table, readChangeFeed="true", startingVersion=2, endingVersion=2).load(T)
    assert [(row.id, row["_change_type"]) for row in changes.collect()] == [(3, "insert")]


def test_append_and_overwrite(table: Lake) -> None:
    writer(table, "SELECT 3 AS id, 'x' AS p", "append").save(T)
    assert rows(table, f"SELECT id FROM {T}") == [(1,), (2,), (3,)]
    writer(table, "SELECT 4 AS id, 'x' AS p", "overwrite", replaceWhere="p = 'x'").save(T)
    assert rows(table, f"SELECT id FROM {T}") == [(2,), (4,)]
    dynamic = {"partitionOverwriteMode": "dynamic"}
    writer(table, "SELECT 5 AS id, 'y' AS p", "overwrite", **dynamic).save("db.t")
    assert rows(table, f"SELECT id FROM {T}") == [(4,), (5,)]
    writer(table, "SELECT 6 AS id, 'z' AS p", "overwrite").save(T)
    assert rows(table, f"SELECT id FROM {T}") == [(6,)]
    writer(table, "SELECT 7 AS id, 'z' AS p", "append").saveAsTable(T)
    assert rows(table, f"SELECT id FROM {T}") == [(6,), (7,)]


def test_save_makes_a_table_in_its_own_place(table: Lake) -> None:
    writer(table, "SELECT 1 AS id, 'x' AS p", "error").partitionBy("p").save("ledger.db.n")
    definition = table.ledger.table("db.n").definition
    assert definition.partition_columns == ["p"]
    assert Path(definition.location).parent == Path(table.ledger.table("db.t").location).parent
    writer(table, "SELECT 1 AS id, 'x' AS p", "ignore").save("ledger.db.n")
    assert rows(table, "SELECT id FROM ledger.db.n") == [(1,)]
    assert "n" in refused(lambda: writer(table, "SELECT 2 AS id", "error").save("ledger.db.n"))


@pytest.mark.parametrize("way", ["save", "saveAsTable", "writeTo"])
def test_merge_schema_adds_columns(table: Lake, way: str) -> None:
    more = "SELECT 3 AS id, 'x' AS p, 1.5D AS more"
    if way == "writeTo":
        table.spark.sql(more).writeTo(T).option("mergeSchema", "true").append()
    else:
        getattr(writer(table, more, "append", mergeSchema="true"), way)(T)
    assert rows(table, f"SELECT * FROM {T}") == [(1, "x", None), (2, "y", None), (3, "x", 1.5)]
    over = "SELECT 4 AS id, 'x' AS p, 2.5D AS more, true AS also"
    writer(table, over, "overwrite", mergeSchema="true", replaceWhere="p = 'x'").save(T)
    assert rows(table, f"SELECT id, also FROM {T}") == [(2, None), (4, True)]


def test_overwrite_schema_is_a_matter_of_save_as_table(table: Lake) -> None:
    write = writer(table, "SELECT 1.5D AS other", "overwrite", overwriteSchema="true")
    assert "saveAsTable('ledger.db.t')" in refused(lambda: write.save(T))
    write.saveAsTable(T)
    assert rows(table, f"SELECT * FROM {T}") == [(1.5,)]
    assert "with its catalog" in refused(lambda: write.saveAsTable("plain"))


def test_a_numbered_write_is_done_once(table: Lake) -> None:
    batch = {"txnAppId": "nightly", "txnVersion": 7}
    for _ in range(2):
        writer(table, "SELECT 3 AS id, 'x' AS p", "append", **batch).save(T)
        table.spark.sql("SELECT 4 AS id, 'x' AS p").writeTo(T).options(
            txnAppId="v2", txnVersion="1"
        ).append()
    assert rows(table, f"SELECT id FROM {T}") == [(1,), (2,), (3,), (4,)]
    assert len(list(Path(table.ledger.table("db.t").location).rglob("*.parquet"))) == 4
    writer(table, "SELECT 5 AS id, 'x' AS p", "append", txnAppId="nightly", txnVersion=8).save(T)
    half = writer(table, "SELECT 6 AS id, 'x' AS p", "append", txnAppId="nightly")
    assert "give both" in refused(lambda: half.save(T))
    with table.transaction():
        inside = writer(table, "SELECT 6 AS id, 'x' AS p", "append", **batch)
        assert "txn.app" in refused(lambda: inside.save(T))


def test_a_stream_reads_and_writes_by_name(table: Lake, tmp_path: Path) -> None:
    done(table, "CREATE TABLE ledger.db.u (id INT, p STRING)")
    source = table.spark.readStream.format(F).option("startingVersion", "0").load(T)
    stream = source.writeStream.format(F).option("checkpointLocation", str(tmp_path / "c"))
    stream.trigger(availableNow=True).toTable("ledger.db.u").awaitTermination()
    assert rows(table, "SELECT * FROM ledger.db.u") == [(1, "x"), (2, "y")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"userMetadata": "x"}, "txn.app"),
        ({"replaceOn": "a = b"}, "MERGE"),
        ({"dataChange": "false"}, "optimize"),
        ({"optimizeWrite": "true"}, "optimize"),
        ({"isolation-level": "serializable"}, "transaction"),
        ({"target-file-size-bytes": "1"}, "maxRecordsPerFile"),
        ({"compression-codec": "zstd"}, "compression"),
        ({"branch": "b"}, "versionAsOf"),
    ],
)
def test_options_of_writes_that_are_refused(table: Lake, options: Any, said: str) -> None:
    write = writer(table, "SELECT 3 AS id, 'x' AS p", "append", **options)
    text = refused(lambda: write.save(T))
    assert next(iter(options)) in text
    assert said in text
    assert len(rows(table, f"SELECT * FROM {T}")) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"snapshot-id": "1"}, "versionAsOf"),
        ({"as-of-timestamp": "1"}, "timestampAsOf"),
        ({"startingVersion": "1"}, "changes"),
        ({"tag": "eom"}, "versionAsOf"),
        ({"unknown": "1"}, "leave it out"),
    ],
)
def test_options_of_reads_that_are_refused(table: Lake, options: Any, said: str) -> None:
    text = refused(lambda: reader(table, **options).load(T).collect())
    assert next(iter(options)) in text
    assert said in text


@pytest.mark.parametrize("name", ["/data/events", "spark_catalog.default.t", ""])
def test_what_is_no_table_of_a_ledger_is_refused(table: Lake, name: str) -> None:
    assert "must name a table" in refused(lambda: reader(table).load(name).collect())
