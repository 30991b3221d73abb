"""Defaults, generated columns, identity columns, orders and filters of tables in SQL."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

from spark_sink import Lake, transaction
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

T = "ledger.db.t"

# The type of a column and its default; older rows and new ones have it.
DEFAULTS = {
    "INT": "5",
    "TINYINT": "-3",
    "BIGINT": "9007199254740993",
    "DOUBLE": "0.1D",
    "FLOAT": "0.1F",
    "DECIMAL(10,2)": "1.5",
    "STRING": "'it''s'",
    "VARCHAR(3)": "'abc'",
    "CHAR(3)": "'a'",
    "BOOLEAN": "false",
    "DATE": "DATE'2024-01-31'",
    "TIMESTAMP": "TIMESTAMP'2020-02-29 12:00:00.123456'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2020-02-29 12:00:00.123456'",
}


@pytest.fixture
def zone(lake: Lake) -> Any:
    """Set the time zone of the session back after the test."""
    before = str(lake.spark.conf.get("spark.sql.session.timeZone"))
    yield "spark.sql.session.timeZone"
    lake.spark.conf.set("spark.sql.session.timeZone", before)


def test_older_rows_have_the_default_as_tables_of_spark_have_it(
    lake: Lake, zone: str, tmp_path: Path
) -> None:
    plain = "spark_catalog.default.computed_plain"
    columns = ", ".join(
        f"c{at} {kind} DEFAULT {value}" for at, (kind, value) in enumerate(DEFAULTS.items())
    )
    lake.spark.conf.set(zone, "America/Los_Angeles")
    done(lake, f"DROP TABLE IF EXISTS {plain}")
    for table, using in ((T, ""), (plain, f"USING parquet LOCATION '{tmp_path}/plain'")):
        done(
            lake,
            f"CREATE TABLE {table} (id INT) {using}",
            f"INSERT INTO {table} VALUES (1)",
            f"ALTER TABLE {table} ADD COLUMNS ({columns})",
            f"INSERT INTO {table} (id) VALUES (2)",
            f"INSERT INTO {table} (id, c0) VALUES (3, DEFAULT)",
            f"ALTER TABLE {table} ALTER COLUMN c0 SET DEFAULT 6",
            f"INSERT INTO {table} (id) VALUES (4)",
            f"ALTER TABLE {table} ALTER COLUMN c0 DROP DEFAULT",
            f"INSERT INTO {table} (id) VALUES (5)",
        )
    for at in range(len(DEFAULTS)):
        value = f"SELECT id, CAST(c{at} AS STRING) FROM"
        assert rows(lake, f"{value} {T}") == rows(lake, f"{value} {plain}"), at
    assert rows(lake, f"SELECT id, c0 FROM {T}") == [(1, 5), (2, 5), (3, 5), (4, 6), (5, None)]
    own = lake.ledger.scan("db.t", "id < 3", [f"c{at}" for at in range(len(DEFAULTS))]).to_arrow()
    one, two = own.to_pylist()
    assert one == two
    lake.spark.conf.set(zone, "Asia/Tokyo")
    # Spark's own tables would show older rows another instant in another zone.
    instants = rows(lake, f"SELECT DISTINCT CAST(c11 AS STRING) FROM {T}")
    assert instants == [("2020-03-01 05:00:00.123456",)]
    for at, (kind, value) in enumerate(DEFAULTS.items()):
        if kind != "TIMESTAMP":
            assert rows(lake, f"SELECT count(*) FROM {T} WHERE id = 1 AND c{at} = {value}") == [
                (1,)
            ]
    assert rows(lake, f"SELECT count(*) FROM {T} WHERE id = 1 AND c0 IS NULL") == [(0,)]
    done(lake, f"UPDATE {T} SET c0 = DEFAULT WHERE c0 = 5", f"DROP TABLE {plain}")
    assert rows(lake, f"SELECT c0 FROM {T}") == [(6,), *[(None,)] * 4]


def test_defaults_that_no_writer_could_obey_are_refused(lake: Lake) -> None:
    done(lake, f"CREATE TABLE {T} (id INT)")
    said = refusal(lake, f"ALTER TABLE {T} ADD COLUMN a ARRAY<INT> DEFAULT array(1)")
    assert "which is not computed here" in said
    done(lake, "CREATE TABLE ledger.db.p (id INT) TBLPROPERTIES ('lakeledger.publish' = 'delta')")
    said = refusal(lake, "ALTER TABLE ledger.db.p ADD COLUMN d INT DEFAULT 1")
    assert "published as Delta" in said
    done(
        lake,
        "ALTER TABLE ledger.db.p ADD COLUMN d INT",
        "ALTER TABLE ledger.db.p ALTER COLUMN d SET DEFAULT 1",
        "INSERT INTO ledger.db.p (id) VALUES (1)",
    )
    assert rows(lake, "SELECT * FROM ledger.db.p") == [(1, 1)]


GENERATED = f"""CREATE TABLE {T} (id BIGINT, at TIMESTAMP, day DATE GENERATED ALWAYS AS
    (CAST(at AS DATE)), twice BIGINT NOT NULL GENERATED ALWAYS AS (id * 2)) PARTITIONED BY (day)"""


def test_generated_columns_are_computed_by_every_statement(lake: Lake) -> None:
    done(
        lake,
        GENERATED,
        f"INSERT INTO {T} (id, at) SELECT id, TIMESTAMP'2026-01-01 00:00:00' + make_dt_interval("
        "CAST(id AS INT) % 3) FROM range(1, 31)",
        f"UPDATE {T} SET id = 100 WHERE id = 1",
        f"MERGE INTO {T} t USING (SELECT * FROM VALUES (2, TIMESTAMP'2026-02-01 00:00:00'), "
        "(200, TIMESTAMP'2026-02-01 12:00:00') AS v(id, at)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET at = s.at WHEN NOT MATCHED THEN INSERT (id, at) "
        "VALUES (s.id, s.at)",
        f"DELETE FROM {T} WHERE id = 3",
    )
    assert rows(lake, f"SELECT count(*) FROM {T} WHERE twice <=> id * 2") == [(30,)]
    assert rows(lake, f"SELECT count(*) FROM {T} WHERE day <=> CAST(at AS DATE)") == [(30,)]
    assert rows(lake, f"SELECT id, day, twice FROM {T} WHERE at >= TIMESTAMP'2026-02-01'") == [
        (2, date(2026, 2, 1), 4),
        (200, date(2026, 2, 1), 400),
    ]
    lake.ledger.append("db.t", [{"id": 7}])
    assert lake.ledger.scan("db.t", "twice <=> id * 2").count() == 31
    assert {file.partition for file in lake.ledger.read("db.t")} == {
        *((f"2026-0{month}-0{day}",) for month, day in ((1, 1), (1, 2), (1, 3), (2, 1))),
        (None,),
    }
    with transaction(lake.spark):
        done(lake, f"INSERT INTO {T} (id, at) VALUES (800, NULL)")
        assert rows(lake, f"SELECT twice FROM {T} WHERE id = 800") == [(1600,)]


def test_values_of_computed_columns_are_refused_unless_they_are_right(lake: Lake) -> None:
    done(lake, GENERATED, f"INSERT INTO {T} VALUES (1, NULL, NULL, 2)")
    assert "twice <=> id * 2" in refusal(lake, f"INSERT INTO {T} VALUES (1, NULL, NULL, 3)")
    assert "twice <=> id * 2" in refusal(lake, f"INSERT INTO {T} (id) VALUES (NULL)")
    assert "OVERFLOW" in refusal(lake, f"INSERT INTO {T} (id) VALUES (9223372036854775807)")
    assert "is computed" in refusal(lake, f"UPDATE {T} SET twice = 2")
    source = "(SELECT 1L AS id, 3L AS twice) s ON t.id = s.id"
    update, delete = "WHEN MATCHED THEN UPDATE SET t.twice = 2", "WHEN MATCHED THEN DELETE"
    insert = "WHEN NOT MATCHED THEN INSERT (id, twice) VALUES (s.id, s.twice)"
    for clause in (update, f"{delete} {insert}"):
        assert "is computed" in refusal(lake, f"MERGE INTO {T} t USING {source} {clause}")
    other = source.replace("1L", "9L")
    assert "twice <=> id * 2" in refusal(lake, f"MERGE INTO {T} t USING {other} {insert}")
    assert rows(lake, f"SELECT id, twice FROM {T}") == [(1, 2)]
    plain = "CREATE TABLE ledger.db.odd (id INT, x INT GENERATED ALWAYS AS ({}))"
    assert refusal(lake, plain.format("rand()"))
    assert refusal(lake, plain.format("x + 1"))
    assert "CAST" in refusal(lake, plain.format("hash(id)")) or refusal(
        lake, plain.format("hash(id)")
    )


def test_a_constraint_on_a_computed_column_looks_at_its_value(lake: Lake) -> None:
    done(lake, GENERATED, f"ALTER TABLE {T} ADD CONSTRAINT small CHECK (twice < 10)")
    done(lake, f"INSERT INTO {T} (id) VALUES (4)")
    assert "small" in refusal(lake, f"INSERT INTO {T} (id) VALUES (5)")
    assert rows(lake, f"SELECT id FROM {T}") == [(4,)]


IDENTITY = f"""CREATE TABLE {T} (id BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY
    (START WITH 10 INCREMENT BY 5), v INT)"""


def test_rows_of_all_tasks_get_numbers_of_their_own(lake: Lake) -> None:
    done(
        lake,
        IDENTITY,
        f"INSERT INTO {T} (v) SELECT id FROM range(0, 5000, 1, 4)",
        f"UPDATE {T} SET v = -v WHERE v % 7 = 0",
        f"MERGE INTO {T} t USING (SELECT id AS v FROM range(4990, 5010)) s ON t.v = s.v "
        "WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT (v) VALUES (s.v)",
    )
    frame = lake.spark.range(3).selectExpr("CAST(id AS INT) AS v")
    frame.writeTo(T).append()
    lake.ledger.append("db.t", [{"v": 1}])
    count = "SELECT count(*), count(DISTINCT id), min((id - 10) % 5), min(id) FROM"
    ((every, distinct, rest, first),) = rows(lake, f"{count} {T}")
    assert (every, distinct, rest, first) == (every, every, 0, 10)
    assert every > 5010
    with transaction(lake.spark):
        done(lake, IDENTITY.replace(T, "ledger.db.new"))
        done(lake, "INSERT INTO ledger.db.new (v) VALUES (1), (2)")
        done(lake, "INSERT INTO ledger.db.new (v) VALUES (3)")
    done(lake, "INSERT INTO ledger.db.new (v) VALUES (4)")
    ((every, distinct, rest, first),) = rows(lake, f"{count} ledger.db.new")
    assert (every, distinct, rest, first) == (4, 4, 0, 10)


def test_numbers_of_their_own_are_refused(lake: Lake) -> None:
    done(lake, IDENTITY)
    assert "is an identity column" in refusal(lake, f"INSERT INTO {T} VALUES (1, 1)")
    assert "is computed" in refusal(lake, f"UPDATE {T} SET id = 1")
    free = "ledger.db.free"
    done(
        lake,
        f"CREATE TABLE {free} (id BIGINT GENERATED BY DEFAULT AS IDENTITY, v INT)",
        f"INSERT INTO {free} VALUES (-1, 1)",
        f"INSERT INTO {free} (v) VALUES (2)",
    )
    assert rows(lake, f"SELECT * FROM {free}") == [(-1, 1), (1, 2)]
    assert "is computed" in refusal(lake, f"UPDATE {free} SET id = 1")
    said = refusal(lake, "CREATE TABLE ledger.db.odd (id INT GENERATED ALWAYS AS IDENTITY)")
    assert "BIGINT" in said or "IDENTITY" in said


def test_a_stream_gets_computed_values(lake: Lake, tmp_path: Path) -> None:
    done(lake, IDENTITY.replace("v INT", "v INT, w INT GENERATED ALWAYS AS (v + 1)"))
    lake.spark.sql("SELECT CAST(id AS INT) AS v FROM range(100)").write.json(str(tmp_path / "in"))
    source = lake.spark.readStream.schema("v INT").json(str(tmp_path / "in"))
    query = source.selectExpr("CAST(NULL AS BIGINT) AS id", "v", "CAST(NULL AS INT) AS w")
    started = query.writeStream.toTable(T, checkpointLocation=str(tmp_path / "offsets"))
    try:
        started.processAllAvailable()
    finally:
        started.stop()
    assert rows(lake, f"SELECT count(DISTINCT id), sum(w - v) FROM {T}") == [(100, 100)]


def in_files(folder: Path) -> list[list[tuple[Any, ...]]]:
    """Return the values of b and a in each file, as they stand there."""
    read = [pq.ParquetFile(path).read(["b", "a"]) for path in sorted(folder.rglob("*.parquet"))]
    return [[tuple(row.values()) for row in table.to_pylist()] for table in read]


def test_spark_writes_rows_in_the_order_of_the_table(lake: Lake) -> None:
    done(
        lake,
        f"CREATE TABLE {T} (p INT, a BIGINT, b STRING) PARTITIONED BY (p) "
        "TBLPROPERTIES ('lakeledger.sort' = 'b DESC, trunc(10, a) DESC, a')",
        f"INSERT INTO {T} SELECT id % 2, id * 7919 % 101, nullif(chr(65 + id * 31 % 7), 'C') "
        "FROM range(0, 500, 1, 3)",
    )
    folder = Path(lake.ledger.table("db.t").definition.location)
    found = in_files(folder)
    assert sum(map(len, found)) == 500
    wanted = [
        sorted(each, key=lambda row: (row[0] is None, -ord(row[0] or "A"), -(row[1] // 10), row[1]))
        for each in found
    ]
    assert found == wanted
    done(lake, f"ALTER TABLE {T} RENAME COLUMN b TO c")
    assert rows(lake, f"SHOW TBLPROPERTIES {T} ('lakeledger.sort')") == [
        ("lakeledger.sort", "c DESC, truncate(10, a) DESC, a")
    ]
    said = refusal(lake, f"ALTER TABLE {T} SET TBLPROPERTIES ('lakeledger.sort' = 'nope')")
    assert "must name its columns, got nope" in said
    assert "lakeledger.sort" in refusal(lake, f"ALTER TABLE {T} DROP COLUMN c")


def test_spark_writes_filters_which_both_readers_ask(lake: Lake) -> None:
    done(
        lake,
        f"CREATE TABLE {T} (g BIGINT, s STRING, wide STRING) "
        "TBLPROPERTIES ('lakeledger.bloom' = 'g, s')",
        f"INSERT INTO {T} SELECT 2 * id, 'v' || 2 * id, sha2(CAST(id AS STRING), 256) "
        "FROM range(0, 50000, 1, 1)",
    )
    (path,) = Path(lake.ledger.table("db.t").definition.location).rglob("*.parquet")
    group = pq.read_metadata(path).row_group(0)
    assert [bool(group.column(at).bloom_filter_offset) for at in range(3)] == [True, True, False]
    assert lake.ledger.scan("db.t", "g = 4 OR s = 'v8'").count() == 2
    for where in ("g = 5001", "s = 'v5001'"):
        assert lake.ledger.scan("db.t", where).count() == 0
        assert rows(lake, f"SELECT * FROM {T} WHERE {where}") == []


def test_a_replaced_table_says_what_it_would_lose(lake: Lake) -> None:
    done(lake, GENERATED)
    said = refusal(lake, f"CREATE OR REPLACE TABLE {T} (id BIGINT, at TIMESTAMP)")
    assert "delta.generationExpression of column twice" in said
    done(
        lake,
        GENERATED.replace("CREATE TABLE", "CREATE OR REPLACE TABLE"),
        f"INSERT INTO {T} (id) VALUES (1)",
        "CREATE TABLE ledger.db.alike LIKE ledger.db.t",
        "INSERT INTO ledger.db.alike (id) VALUES (2)",
    )
    assert rows(lake, "SELECT twice FROM ledger.db.alike") == [(4,)]
    with pytest.raises(PySparkException, match="stay as it is"):
        done(lake, f"ALTER TABLE {T} DROP COLUMN id")
