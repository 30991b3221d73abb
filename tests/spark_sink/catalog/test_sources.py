"""Sources of statements that give other rows when they are read twice: no row comes out wrong."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit, udf

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

T: Final = "ledger.db.t"
MERGE: Final = (
    f"MERGE INTO {T} t USING source s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
)
ASKS: Final = {
    "in": "id IN (SELECT id FROM source)",
    "scalar": "id = (SELECT max(id) FROM source)",
    "exists": "EXISTS (SELECT 1 FROM source s WHERE s.id = t.id)",
}
COUNT: Final = 8
AGAIN: Final = {"spark.sql.exchange.reuse": "false", "spark.sql.execution.reuseSubquery": "false"}


@pytest.fixture
def table(lake: Lake) -> Iterator[Lake]:
    """Return a catalog with a table of a row in each of its files; Spark reads nothing anew."""
    done(lake, f"CREATE TABLE {T} (id INT, v INT)")
    frame = lake.spark.range(1, COUNT + 1, 1, COUNT).selectExpr("int(id) id", "0 v")
    frame.writeTo(T).append()
    for name, value in AGAIN.items():
        lake.spark.conf.set(name, value)
    yield lake
    for name in AGAIN:
        lake.spark.conf.unset(name)


class Turns:
    """Sources whose only id is one more each time when it is read."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.spark, self.place = spark, place

    def turn(self) -> Callable[[], int]:
        """Return a function that counts its calls from all processes."""
        calls = self.place / "calls"

        def count() -> int:
            with calls.open("a") as file:
                file.write("x")
                return file.tell()

        return count

    def rdd(self) -> DataFrame:
        turn = self.turn()
        given = self.spark.sparkContext.parallelize([0], 1).map(lambda _: (turn(), 9))
        return self.spark.createDataFrame(given, "id INT, v INT")

    def udf(self) -> DataFrame:
        """Return a frame with a function that does not say that it differs."""
        turn = self.turn()
        function = udf(lambda _: turn(), "int")
        return self.spark.range(0, 1, 1, 1).select(function("id").alias("id"), lit(9).alias("v"))

    def map_in_pandas(self) -> DataFrame:
        """Return a frame that a function of a user makes."""
        turn = self.turn()

        def made(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                batch["id"] = turn()
                yield batch

        given = self.spark.range(0, 1, 1, 1).selectExpr("int(id) id", "9 v")
        return given.mapInPandas(made, "id INT, v INT")

    def cached(self) -> DataFrame:
        """Return rows of an RDD in a cache that Spark may give up."""
        return self.rdd().cache()


MADE: Final = ("rdd", "udf", "map_in_pandas", "cached")


def given(table: Lake, place: Path, kind: str) -> None:
    getattr(Turns(table.spark, place), kind)().createOrReplaceTempView("source")


def left(changed: int | None) -> list[tuple[int, int]]:
    """Return the rows of the table, after one has changed."""
    return [(id_, 9 if id_ == changed else 0) for id_ in range(1, COUNT + 1)]


@pytest.mark.parametrize("kind", MADE)
def test_a_merge_changes_the_row_it_names(table: Lake, tmp_path: Path, kind: str) -> None:
    given(table, tmp_path, kind)
    done(table, MERGE)
    found = rows(table, f"SELECT * FROM {T}")
    assert found in [left(each) for each in range(1, COUNT + 1)]
    done(table, f"DELETE FROM {T} WHERE id IN (SELECT id FROM source)")
    assert len(rows(table, f"SELECT * FROM {T}")) == COUNT - 1


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("ask", ASKS)
def test_update_asks_for_what_repeats(table: Lake, tmp_path: Path, kind: str, ask: str) -> None:
    """A condition that is asked for twice must repeat; a value that is set is asked for once."""
    given(table, tmp_path, kind)
    said = refusal(table, f"UPDATE {T} t SET v = 9 WHERE {ASKS[ask]}")
    assert "LEDGER_UNSUPPORTED" in said
    assert "localCheckpoint()" in said
    assert rows(table, f"SELECT * FROM {T}") == left(None)
    kept = table.spark.table("source").localCheckpoint()
    kept.createOrReplaceTempView("source")
    done(table, f"UPDATE {T} t SET v = 9 WHERE {ASKS[ask]}")
    assert rows(table, f"SELECT * FROM {T}") == left(kept.collect()[0].id)
    done(table, f"UPDATE {T} SET v = (SELECT max(id) FROM source) WHERE id < 3")
    assert len(rows(table, f"SELECT DISTINCT v FROM {T} WHERE id < 3")) == 1


@pytest.mark.parametrize("source", ["rand", "limit", "rank"])
def test_choices(table: Lake, source: str) -> None:
    """A source that chooses among rows is refused by Spark, or its target is written whole."""
    many = "SELECT int(id % 8) + 1 AS id, int(id) + 1 AS v FROM range(800)"
    queries = {
        "rand": f"SELECT int(1 + rand() * 7) AS id, 9 AS v FROM ({many}) LIMIT 1",
        "limit": f"SELECT id, v FROM ({many}) DISTRIBUTE BY v LIMIT 1",
        "rank": f"SELECT id, v FROM (SELECT *, row_number() OVER (ORDER BY 1) n FROM ({many})) "
        "WHERE n = 1",
    }
    table.spark.sql(queries[source]).createOrReplaceTempView("source")
    if source == "rand":
        assert "NON_DETERMINISTIC" in refusal(table, MERGE)
        assert "NON_DETERMINISTIC" in refusal(table, f"UPDATE {T} t SET v = 9 WHERE {ASKS['in']}")
        return
    done(table, MERGE)
    assert len(changed_files(table)) == COUNT


def changed_files(table: Lake) -> set[str]:
    """Return the files that the last version took away."""
    version = table.ledger.table("db.t").version
    before = set(table.ledger.read("db.t", version=version - 1).paths)
    return before - set(table.ledger.read("db.t").paths)


@pytest.mark.parametrize("kind", ["values", "pandas", "files", "ledger", "sums", "kept", "cte"])
def test_only_files_with_matching_rows_are_written(table: Lake, tmp_path: Path, kind: str) -> None:
    spark = table.spark
    frame = spark.createDataFrame([(2, 9)], "id INT, v INT")
    frame.write.parquet(str(tmp_path / "files"))
    frame.writeTo("ledger.db.s").create()
    sources: dict[str, Callable[[], DataFrame]] = {
        "values": lambda: spark.sql("VALUES (2, 9) AS x(id, v)"),
        "pandas": lambda: spark.createDataFrame(frame.toPandas(), "id INT, v INT"),
        "files": lambda: spark.read.parquet(str(tmp_path / "files")),
        "ledger": lambda: spark.table("ledger.db.s").filter("id = 2"),
        "sums": lambda: spark.sql("SELECT id, sum(v) v FROM ledger.db.s GROUP BY id"),
        "kept": lambda: Turns(spark, tmp_path).udf().localCheckpoint(),
        "cte": lambda: spark.sql("WITH x AS (SELECT * FROM ledger.db.s) SELECT DISTINCT * FROM x"),
    }
    sources[kind]().createOrReplaceTempView("source")
    done(table, MERGE)
    assert len(changed_files(table)) == 1
    done(table, f"UPDATE {T} t SET v = 7 WHERE {ASKS['in']}")
    assert len(changed_files(table)) == 1


@pytest.mark.parametrize("change", ["replace", "remove"])
@pytest.mark.parametrize("verb", ["merge", "update"])
def test_files_that_change(table: Lake, tmp_path: Path, change: str, verb: str) -> None:
    """Files that change while a statement reads them are named, and nothing is committed."""
    spark = table.spark
    source = str(tmp_path / "source")
    spark.createDataFrame([(2, 9)], "id INT, v INT").coalesce(1).write.parquet(source)
    spark.createDataFrame([(3, 9)], "id INT, v INT").coalesce(1).write.parquet(source + "2")
    spark.read.parquet(source).createOrReplaceTempView("source")
    (file,) = Path(source).glob("*.parquet")
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink()
    if change == "replace":
        (new,) = Path(source + "2").glob("*.parquet")
        new.rename(file)
    statement = MERGE if verb == "merge" else f"UPDATE {T} t SET v = 9 WHERE {ASKS['in']}"
    before = table.ledger.table("db.t").version
    if change == "remove":
        spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        with pytest.raises(PySparkException, match="files of a source must stay") as error:
            done(table, statement)
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    assert file.name in str(error.value)
    assert table.ledger.table("db.t").version == before
    assert rows(table, f"SELECT * FROM {T}") == left(None)
