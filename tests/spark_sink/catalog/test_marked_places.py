"""Numbers of rows that Spark marks are places in their files, however the files are read."""

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.functions import udf

from ledger.files.deletion_vectors import deleted_rows
from ledger.files.storage import storage_at
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile
from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows
from tests.tables.files import inline_vector, stored_vector

pytestmark = pytest.mark.spark

T: Final = "ledger.db.t"
ROWS: Final = 10_000
MARKS: Final = {"lakeledger.rows": "marks"}
READERS: Final = {
    "vectorized": {},
    "by rows": {"spark.sql.parquet.enableVectorizedReader": "false"},
    "parts": {"spark.sql.files.maxPartitionBytes": "20000"},
}
ASKS: Final = "CREATE TABLE {t} (id INT, v INT) TBLPROPERTIES ('lakeledger.rows' = 'marks')"


def added(place: Path, name: str, first: int, vector: DeletionVector | None = None) -> AddFile:
    """Write a file of several row groups, as another writer might, and return it."""
    numbers = range(first, first + ROWS)
    table = pa.table({"id": pa.array(numbers, pa.int64()), "s": [f"n{n}" for n in numbers]})
    pq.write_table(table, place / name, row_group_size=1_000)
    given: dict[str, Any] = {} if vector is None else {"deletion_vector": vector}
    stats = f'{{"numRecords":{ROWS}}}'
    return AddFile(name, (), stats=stats, vector=vector.id if vector else "", **given)


@pytest.fixture
def imported(lake: Lake, tmp_path: Path) -> Lake:
    """Return a lake with a table of which two files have vectors of another writer."""
    place = tmp_path / "given"
    place.mkdir()
    columns = [("id", "bigint"), ("s", "string")]
    lake.ledger.create_table("db.t", columns, location=str(place), properties=MARKS)
    files = [
        added(place, "a.parquet", 0, inline_vector([0, 1, 2_500, ROWS - 1])),
        added(place, "b.parquet", ROWS, stored_vector(place, [5, 999, 1_000])),
        added(place, "c.parquet", 2 * ROWS),
    ]
    lake.ledger.append("db.t", files)
    return lake


def gone(lake: Lake) -> dict[str, list[int]]:
    """Return the deleted rows of the files of the table."""
    storage = storage_at(lake.ledger.table("db.t").definition.location)
    return {
        file.path: list(deleted_rows(storage, file.deletion_vector))
        for file in lake.ledger.read("db.t")
        if file.deletion_vector is not None
    }


@pytest.mark.parametrize("reader", READERS)
def test_marks_are_united_with_stored_vectors(imported: Lake, reader: str) -> None:
    spark = imported.spark
    for key, value in READERS[reader].items():
        spark.conf.set(key, value)
    try:
        done(
            imported,
            f"DELETE FROM {T} WHERE id = 9500 OR id IN (3, {ROWS + 1001}, {2 * ROWS + 7_777})",
            f"UPDATE {T} SET s = 'new' WHERE id BETWEEN 2499 AND 2501 OR id = {3 * ROWS - 1}",
            f"DELETE FROM {T} WHERE _file LIKE '%/b.parquet' AND _row BETWEEN 998 AND 1002",
        )
        assert rows(imported, f"SELECT _row FROM {T} WHERE id = 9501") == [(9_501,)]
    finally:
        for key in READERS[reader]:
            spark.conf.unset(key)
    assert gone(imported) == {
        "a.parquet": [0, 1, 3, 2_499, 2_500, 2_501, 9_500, ROWS - 1],
        "b.parquet": [5, 998, 999, 1_000, 1_001, 1_002],
        "c.parquet": [7_777, ROWS - 1],
    }
    assert rows(imported, f"SELECT id FROM {T} WHERE s = 'new'") == [(2_499,), (2_501,), (29_999,)]
    assert rows(imported, f"SELECT count(*), count(DISTINCT id) FROM {T}") == [(29_987, 29_987)]
    assert imported.ledger.scan("db.t").count() == 29_987


def test_a_file_that_loses_many_rows_is_written_anew_without_those_of_its_vector(
    imported: Lake,
) -> None:
    done(imported, f"DELETE FROM {T} WHERE id < 2000", f"DELETE FROM {T} WHERE id >= {2 * ROWS}")
    assert set(gone(imported)) == {"b.parquet"}
    expected = [*range(2_000, 2_500), *range(2_501, 9_999), *range(10_000, 20_000)]
    found = [number for (number,) in imported.spark.sql(f"SELECT id FROM {T}").collect()]
    assert sorted(found) == [n for n in expected if n - ROWS not in (5, 999, 1_000)]


def test_a_txn_reads_a_file_before_and_after_its_own_marks(lake: Lake) -> None:
    """Rows of a file are marked as the statement read it, not as its source did."""
    done(lake, ASKS.format(t=T), f"INSERT INTO {T} SELECT id, 0 FROM range(0, 100, 1, 1)")
    with lake.transaction():
        done(
            lake,
            f"DELETE FROM {T} WHERE id IN (3, 4)",
            f"MERGE INTO {T} t USING (SELECT * FROM {T} VERSION AS OF 1 WHERE id IN (4, 5)) s "
            "ON t.id = s.id "
            "WHEN MATCHED THEN DELETE",
            f"UPDATE {T} SET v = (SELECT max(id) FROM {T} VERSION AS OF 1) WHERE id = 7",
        )
    assert [*gone(lake).values()] == [[3, 4, 5, 7]]
    assert rows(lake, f"SELECT v FROM {T} WHERE id = 7") == [(99,)]


def test_a_source_that_differs_when_it_is_read_again_is_read_once(
    lake: Lake, tmp_path: Path
) -> None:
    """So a condition may ask for it, and only files with matching rows are touched."""
    calls = tmp_path / "calls"

    def turn() -> int:
        with calls.open("a") as file:
            file.write("x")
            return file.tell()

    done(lake, ASKS.format(t=T), f"INSERT INTO {T} SELECT id, 0 FROM range(0, 100, 1, 1)")
    function = udf(lambda _: turn(), "int")
    source = lake.spark.range(0, 1, 1, 1).select(function("id").alias("id"))
    source.createOrReplaceTempView("source")
    done(lake, f"UPDATE {T} t SET v = 9 WHERE id IN (SELECT id FROM source)")
    assert calls.read_text() == "x"
    done(
        lake,
        f"MERGE INTO {T} t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 8 "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (-s.id)",
    )
    assert calls.read_text() == "xx"
    assert rows(lake, f"SELECT * FROM {T} WHERE v > 0 OR id < 0") == [(1, 9), (2, 8)]
    assert [*gone(lake).values()] == [[1, 2]]


def test_batches_of_a_stream_mark_rows(lake: Lake, tmp_path: Path) -> None:
    done(lake, ASKS.format(t=T), f"INSERT INTO {T} SELECT id, 0 FROM range(0, 100, 1, 1)")
    (before,) = lake.ledger.read("db.t").paths

    def upsert(frame: DataFrame, batch: int) -> None:
        frame.createOrReplaceTempView("batch")
        frame.sparkSession.sql(
            f"MERGE INTO {T} t USING batch s ON t.id = s.value + 98 "
            f"WHEN MATCHED THEN UPDATE SET v = {batch + 1} "
            "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.value + 98, -1)"
        ).collect()

    stream = lake.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 4).load()
    writer = stream.writeStream.foreachBatch(upsert).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination(120)
    assert rows(lake, f"SELECT * FROM {T} WHERE id > 96") == [
        (100, -1),
        (101, -1),
        (97, 0),
        (98, 1),
        (99, 1),
    ]
    assert gone(lake) == {before: [98, 99]}


def test_constraints_and_computed_columns_of_new_rows(lake: Lake) -> None:
    done(
        lake,
        f"CREATE TABLE {T} (n BIGINT GENERATED ALWAYS AS IDENTITY, id INT NOT NULL, x INT, "
        "twice INT GENERATED ALWAYS AS (x * 2), c CHAR(3), CONSTRAINT positive CHECK (x > 0)) "
        "TBLPROPERTIES ('lakeledger.rows' = 'marks', 'lakeledger.sort' = 'x')",
        f"INSERT INTO {T} (id, x, c) SELECT id, id + 1, 'c' FROM range(0, 100, 1, 1)",
    )
    merge = (
        f"MERGE INTO {T} t USING (VALUES (1, 5), (2, -5), (900, 6) s(id, x)) s ON t.id = s.id "
        "WHEN MATCHED AND s.x < 0 THEN DELETE WHEN MATCHED THEN UPDATE SET x = {x} "
        "WHEN NOT MATCHED THEN INSERT (id, x, c) VALUES (s.id, s.x, 'd')"
    )
    for statement, said in {
        f"UPDATE {T} SET x = -x WHERE id = 5": "CHECK_CONSTRAINT_VIOLATION",
        merge.format(x="-1"): "LEDGER_CONSTRAINT_VIOLATED",
        f"UPDATE {T} SET twice = 1 WHERE id = 5": "column twice",
        merge.format(x="s.x, n = 3"): "column n",
        f"UPDATE {T} SET id = NULL WHERE id = 5": "NOT_NULL_ASSERT_VIOLATION",
        f"UPDATE {T} SET c = 'long' WHERE id = 5": "EXCEED_LIMIT_LENGTH",
    }.items():
        assert said in refusal(lake, statement), statement
    assert gone(lake) == {}
    done(lake, merge.format(x="s.x"), f"UPDATE {T} SET x = 3, c = 'ab' WHERE id IN (7, 8)")
    assert [*gone(lake).values()] == [[1, 2, 7, 8]]
    assert rows(lake, f"SELECT id, x, twice, c FROM {T} WHERE id IN (1, 2, 7, 8, 900)") == [
        (1, 5, 10, "c  "),
        (7, 3, 6, "ab "),
        (8, 3, 6, "ab "),
        (900, 6, 12, "d  "),
    ]
    assert rows(lake, f"SELECT count(DISTINCT n), count(*) FROM {T}") == [(100, 100)]


def test_an_overwrite_by_a_condition_keeps_the_other_rows_of_files(lake: Lake) -> None:
    done(lake, ASKS.format(t=T), f"INSERT INTO {T} SELECT id, 0 FROM range(0, 100, 1, 1)")
    done(lake, f"INSERT INTO {T} REPLACE WHERE id = 3 VALUES (3, 1), (3, 2)")
    lake.ledger.overwrite("db.t", [{"id": 5, "v": 5}], "id = 5")
    assert rows(lake, f"SELECT count(*), sum(v) FROM {T}") == [(101, 8)]
    assert [*gone(lake).values()] == [[3, 5]]
