"""CHECK constraints in SQL: Spark checks the rows of statements, the catalog all others."""

from os import utime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException, StreamingQueryException

from spark_sink import Lake, transaction
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

T = "ledger.db.t"


@pytest.fixture
def table(lake: Lake) -> Lake:
    """Return a lake with a table whose numbers are positive."""
    done(
        lake,
        f"CREATE TABLE {T} (id INT, x INT, CONSTRAINT Positive CHECK (x > 0))",
        f"INSERT INTO {T} VALUES (1, 1), (2, 2)",
    )
    return lake


INSERT = "INSERT (id, x) VALUES (9, {})"
WRITES = (
    f"INSERT INTO {T} VALUES (3, 3), (4, {{}})",
    f"INSERT OVERWRITE {T} VALUES (4, {{}})",
    f"INSERT INTO {T} REPLACE WHERE id = 1 VALUES (1, {{}})",
    f"UPDATE {T} SET x = {{}} WHERE id = 1",
    f"MERGE INTO {T} USING (SELECT 1 AS k) ON id = k WHEN MATCHED THEN UPDATE SET x = {{}}",
    f"MERGE INTO {T} USING (SELECT 9 AS k) ON id = k WHEN NOT MATCHED THEN {INSERT}",
)


def test_a_row_that_breaks_a_constraint_is_refused_in_every_statement(table: Lake) -> None:
    for at, statement in enumerate(WRITES):
        said = refusal(table, statement.format("-1" if at % 2 else "CAST(NULL AS INT)"))
        assert "CHECK_CONSTRAINT_VIOLATION" in said
        assert "positive" in said
        assert "x > 0" in said
    assert rows(table, f"SELECT * FROM {T}") == [(1, 1), (2, 2)]
    assert len(table.ledger.read("db.t")) == len(table.ledger.read("db.t", version=1))
    for statement in WRITES:
        done(table, statement.format("7"))
    done(table, f"DELETE FROM {T} WHERE id = 9")
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        table.spark.sql("SELECT 5 AS id, 0 AS x").write.mode("append").saveAsTable(T)
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        table.spark.sql("SELECT 5, 0").write.insertInto(T)
    assert rows(table, f"SELECT * FROM {T} WHERE x <= 0 OR x IS NULL") == []


def test_a_query_over_a_table_of_the_ledger_brings_rows_that_are_checked(table: Lake) -> None:
    done(table, "CREATE TABLE ledger.db.s AS SELECT 5 AS id, 0 AS x UNION ALL SELECT 6, 6")
    said = refusal(table, f"INSERT INTO {T} SELECT * FROM ledger.db.s")
    assert "CHECK_CONSTRAINT_VIOLATION" in said
    done(table, f"INSERT INTO {T} SELECT id, x + 1 FROM ledger.db.s")
    assert rows(table, f"SELECT * FROM {T}") == [(1, 1), (2, 2), (5, 1), (6, 7)]


def test_a_constraint_is_added_if_all_rows_fulfil_it_and_dropped_by_its_name(table: Lake) -> None:
    assert "x > 1" in refusal(table, f"ALTER TABLE {T} ADD CONSTRAINT c CHECK (x > 1)")
    done(table, f"INSERT INTO {T} VALUES (NULL, 3)")
    said = refusal(table, f"ALTER TABLE {T} ADD CONSTRAINT c CHECK (id > 0)")
    assert "LEDGER_CONSTRAINT_VIOLATED" in said
    assert "got a row with id = None" in said
    done(table, f"ALTER TABLE {T} ADD CONSTRAINT c CHECK (id IS NULL OR id > 0)")
    assert "c" in refusal(table, f"ALTER TABLE {T} ADD CONSTRAINT C CHECK (x > 0)")
    assert dict(table.ledger.table("db.t").definition.properties) == {
        "delta.constraints.c": "id IS NULL OR id > 0",
        "delta.constraints.positive": "x > 0",
    }
    assert "CHECK_CONSTRAINT_VIOLATION" in refusal(table, f"INSERT INTO {T} VALUES (0, 3)")
    assert "LEDGER_UNSUPPORTED" in refusal(table, f"ALTER TABLE {T} DROP COLUMN id")
    ((shown,),) = table.spark.sql(f"SHOW CREATE TABLE {T}").collect()
    done(table, f"DROP TABLE {T}", shown)
    assert "CHECK_CONSTRAINT_VIOLATION" in refusal(table, f"INSERT INTO {T} VALUES (0, 3)")
    assert len(table.ledger.table("db.t").definition.properties) == 2
    done(table, f"ALTER TABLE {T} DROP CONSTRAINT c", f"INSERT INTO {T} VALUES (0, 3)")
    assert "c" in refusal(table, f"ALTER TABLE {T} DROP CONSTRAINT c")
    done(table, f"ALTER TABLE {T} DROP CONSTRAINT IF EXISTS c")


def test_a_constraint_that_a_transaction_adds_holds_for_its_later_statements(table: Lake) -> None:
    with transaction(table.spark):
        done(table, f"INSERT INTO {T} VALUES (3, 30)")
        assert "30" in refusal(table, f"ALTER TABLE {T} ADD CONSTRAINT small CHECK (x < 30)")
        done(table, f"ALTER TABLE {T} ADD CONSTRAINT small CHECK (x < 31)")
        assert "CHECK_CONSTRAINT_VIOLATION" in refusal(table, f"UPDATE {T} SET x = 31")
    assert "small" in refusal(table, f"INSERT INTO {T} VALUES (4, 40)")
    assert len(rows(table, f"SELECT * FROM {T}")) == 3


@pytest.mark.parametrize(
    "constraint",
    ["PRIMARY KEY (id)", "UNIQUE (id)", "FOREIGN KEY (id) REFERENCES ledger.db.t (id)"],
)
def test_other_constraints_are_refused(table: Lake, constraint: str) -> None:
    """Keys are not checked by any writer, so no table has them."""
    named = f"CONSTRAINT k {constraint} NOT ENFORCED"
    for statement in (
        f"CREATE TABLE ledger.db.o (id INT, {named})",
        f"ALTER TABLE {T} ADD {named}",
    ):
        said = refusal(table, statement)
        assert "LEDGER_UNSUPPORTED" in said
        assert "CHECK constraints only" in said


def test_the_rows_of_a_stream_are_checked_too(table: Lake, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()

    def stream(name: str, x: int | None) -> None:
        arrived = pa.table({"id": pa.array([5], pa.int32()), "x": pa.array([x], pa.int32())})
        pq.write_table(arrived, source / f"{name}.parquet")
        read = table.spark.readStream.schema("id INT, x INT").parquet(str(source))
        query = read.writeStream.trigger(availableNow=True).toTable(
            T, checkpointLocation=str(tmp_path / "checkpoint")
        )
        query.awaitTermination(60)

    stream("good", 5)
    files = list((tmp_path / "lake").rglob("*.parquet"))
    for name, x in (("null", None), ("bad", -5)):
        with pytest.raises(StreamingQueryException, match="LEDGER_CONSTRAINT_VIOLATED"):
            stream(name, x)
    assert rows(table, f"SELECT * FROM {T}") == [(1, 1), (2, 2), (5, 5)]
    assert list((tmp_path / "lake").rglob("*.parquet")) == files


def test_a_version_with_rows_that_break_a_later_constraint_does_not_come_back(table: Lake) -> None:
    done(
        table, f"DELETE FROM {T} WHERE x = 1", f"ALTER TABLE {T} ADD CONSTRAINT many CHECK (x > 1)"
    )
    call = "CALL ledger.system.rollback_to_version('db.t', 1)"
    assert "LEDGER_CONSTRAINT_VIOLATED" in refusal(table, call)
    done(table, f"ALTER TABLE {T} DROP CONSTRAINT many", call)
    assert rows(table, f"SELECT * FROM {T}") == [(1, 1), (2, 2)]


MERGE_IN = "WHEN NOT MATCHED THEN INSERT (id, p) VALUES (9, '')"
EMPTY = (
    "INSERT INTO {t} VALUES (1, ''), (2, 'x')",
    "INSERT OVERWRITE {t} VALUES (1, '__HIVE_DEFAULT_PARTITION__')",
    "UPDATE {t} SET p = ''",
    f"MERGE INTO {{t}} USING (SELECT 9 AS k) ON id = k {MERGE_IN}",
)


def test_an_empty_text_in_a_partition_column(lake: Lake) -> None:
    """It is NULL, so a NOT NULL column and a CHECK refuse it in each statement, as Delta does."""
    strict, known = "ledger.db.strict", "ledger.db.known"
    done(
        lake,
        f"CREATE TABLE {strict} (id INT, p STRING NOT NULL) PARTITIONED BY (p)",
        f"CREATE TABLE {known} (id INT, p STRING, CONSTRAINT named CHECK (p IS NOT NULL))"
        " PARTITIONED BY (p)",
    )
    for table, said in ((strict, "p is NOT NULL"), (known, "named")):
        done(lake, f"INSERT INTO {table} VALUES (0, 'y')")
        for statement in EMPTY:
            assert said in refusal(lake, statement.format(t=table)), statement
        assert rows(lake, f"SELECT * FROM {table}") == [(0, "y")]


def test_an_empty_text_in_a_stream(lake: Lake, tmp_path: Path) -> None:
    """A batch with one is refused by name; its rows come once they are right, and none is lost."""
    strict, known = "ledger.db.strict", "ledger.db.known"
    done(
        lake,
        f"CREATE TABLE {strict} (id INT, p STRING NOT NULL) PARTITIONED BY (p)",
        f"CREATE TABLE {known} (id INT, p STRING, CONSTRAINT named CHECK (p IS NOT NULL))"
        " PARTITIONED BY (p)",
        "CREATE TABLE ledger.db.loose (id INT, p STRING) PARTITIONED BY (p)",
    )
    source = tmp_path / "source"
    source.mkdir()

    def arrive(name: str, *texts: str) -> None:
        ids = pa.array(range(len(texts)), pa.int32())
        path = source / f"{name}.parquet"
        pq.write_table(pa.table({"id": ids, "p": list(texts)}), path)
        utime(path, (int(name), int(name)))  # Files come in the order of their times.

    def stream(table: str) -> None:
        read = lake.spark.readStream.schema("id INT, p STRING").option("maxFilesPerTrigger", 1)
        writer = read.parquet(str(source)).writeStream.trigger(availableNow=True)
        place = str(tmp_path / table)
        writer.toTable(table, checkpointLocation=place).awaitTermination(60)

    arrive("1", "a", "b")
    tables = (strict, known, "ledger.db.loose")
    for table in tables:
        stream(table)
    arrive("2", "c", "")
    arrive("3", "d", "e")
    for table, said in ((strict, "column p is NOT NULL"), (known, "VIOLATED.*named")):
        for _ in range(2):
            with pytest.raises(StreamingQueryException, match=said):
                stream(table)
            assert rows(lake, f"SELECT * FROM {table}") == [(0, "a"), (1, "b")]
    stream("ledger.db.loose")
    loose = rows(lake, "SELECT p FROM ledger.db.loose")
    assert loose == [("a",), ("b",), ("c",), ("d",), ("e",), (None,)]
    arrive("2", "c", "f")
    for table in (strict, known):
        stream(table)
        assert "".join(p for (p,) in rows(lake, f"SELECT p FROM {table}")) == "abcdef"
