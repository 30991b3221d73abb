"""Few rows that Spark appends to a table with rows in the log leave no file."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from spark_sink import Lake, transaction
from tests.spark_sink.catalog.sql import done, rows

pytestmark = pytest.mark.spark

T = "ledger.db.t"
INLINE = "TBLPROPERTIES ('lakeledger.inline' = 'on')"

# The type of a column, and two of its values.
VALUES = {
    "BOOLEAN": ("true", "NULL"),
    "TINYINT": ("-128", "127"),
    "SMALLINT": ("-32768", "NULL"),
    "INT": ("2147483647", "0"),
    "BIGINT": ("9007199254740993", "NULL"),
    "FLOAT": ("CAST('NaN' AS FLOAT)", "0.1F"),
    "DOUBLE": ("CAST('-Infinity' AS DOUBLE)", "-0.0D"),
    "DECIMAL(38, 10)": ("1234567890123456789012345678.0123456789", "NULL"),
    "STRING": ("''", "'é\\n\"x'"),
    "CHAR(4)": ("'a'", "NULL"),
    "VARCHAR(4)": ("'abcd'", "''"),
    "BINARY": ("X'00FF'", "X''"),
    "DATE": ("DATE'0001-01-01'", "DATE'9999-12-31'"),
    "TIMESTAMP": ("TIMESTAMP'1582-10-15 00:00:00.000001'", "TIMESTAMP'2020-02-29 12:00:00.123456'"),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ'1900-01-01 00:00:00.5'", "NULL"),
    "ARRAY<INT>": ("array(1, NULL)", "array()"),
    "MAP<STRING, BIGINT>": ("map('a', 1L)", "NULL"),
    "STRUCT<a: INT, b: ARRAY<STRUCT<c: DATE>>>": (
        "named_struct('a', 1, 'b', array(named_struct('c', DATE'2020-01-01')))",
        "NULL",
    ),
}


def stored(tmp_path: Path, table: str = "t") -> list[Path]:
    """Return the files in the folder of a table."""
    (folder,) = tmp_path.glob(f"lake/main/db/{table}-*") or [tmp_path / "none"]
    return [each for each in folder.rglob("*") if each.is_file()]


def kinds(lake: Lake, table: str = "db.t") -> list[bool]:
    """Return for each live file of a table whether it is rows in the log."""
    return [bool(file.rows) for file in lake.ledger.scan(table).files]


def by_sdk(lake: Lake, table: str) -> list[dict[str, Any]]:
    return sorted(lake.ledger.scan(table).to_arrow().to_pylist(), key=repr)


def by_sql(lake: Lake, table: str) -> list[dict[str, Any]]:
    return sorted(lake.ledger.sql(f"SELECT * FROM {table}").to_pylist(), key=repr)


@pytest.mark.parametrize("grain", ["marks", "rewrite"])
def test_values_of_all_types_are_as_in_files(lake: Lake, tmp_path: Path, grain: str) -> None:
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(VALUES))
    several = ", ".join(f"({', '.join(each)})" for each in zip(*VALUES.values(), strict=True))
    for name, properties in (
        ("t", f"'lakeledger.inline' = 'on', 'lakeledger.rows' = '{grain}'"),
        ("f", "'a' = 'b'"),
    ):
        done(
            lake,
            f"CREATE TABLE ledger.db.{name} (id INT, {columns}) PARTITIONED BY (c8, c12) "
            f"TBLPROPERTIES ({properties})",
            f"INSERT INTO ledger.db.{name} SELECT row_number() OVER (ORDER BY col1), * "
            f"FROM VALUES {several}",
        )
    assert (kinds(lake), kinds(lake, "db.f")) == ([True] * 2, [False] * 2)
    assert (stored(tmp_path), len(stored(tmp_path, "f"))) == ([], 2)
    for found in (by_sdk, by_sql):
        assert repr(found(lake, "db.t")) == repr(found(lake, "db.f"))
    assert repr(rows(lake, f"SELECT * FROM {T}")) == repr(rows(lake, "SELECT * FROM ledger.db.f"))
    done(lake, "CALL ledger.system.optimize('db.t')")
    assert repr(by_sdk(lake, "db.t")) == repr(by_sdk(lake, "db.f"))


def test_computed_columns_and_constraints(lake: Lake, tmp_path: Path) -> None:
    done(
        lake,
        f"CREATE TABLE {T} (n BIGINT GENERATED ALWAYS AS IDENTITY, at TIMESTAMP, x INT DEFAULT 5, "
        "day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), CONSTRAINT c CHECK (x > 0)) "
        f"PARTITIONED BY (day) {INLINE}",
        f"INSERT INTO {T} (at) VALUES (TIMESTAMP'2026-03-01 12:00:00'), (NULL)",
        f"INSERT INTO {T} (at, x) SELECT TIMESTAMP'2026-03-02 12:00:00', 6",
    )
    assert kinds(lake) == [True] * 3
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        done(lake, f"INSERT INTO {T} (x) VALUES (0)")
    found = rows(lake, f"SELECT n, CAST(day AS STRING), x FROM {T}")
    assert {each[1:] for each in found} == {("2026-03-01", 5), (None, 5), ("2026-03-02", 6)}
    assert len({each[0] for each in found}) == 3
    assert len(by_sdk(lake, "db.t")) == len(by_sql(lake, "db.t")) == 3
    assert stored(tmp_path) == []


def test_what_becomes_a_block(lake: Lake, tmp_path: Path) -> None:
    done(lake, f"CREATE TABLE {T} (id BIGINT, name STRING) {INLINE}")
    frame = lake.spark.range(7).selectExpr("id", "'a' AS name").repartition(7)
    frame.writeTo(T).append()
    frame.write.mode("append").saveAsTable(T)
    frame.write.insertInto(T)
    done(lake, f"INSERT INTO {T} SELECT id, 'b' FROM range(1000)")
    assert kinds(lake) == [True] * 4
    assert stored(tmp_path) == []
    done(lake, f"INSERT INTO {T} SELECT id, 'c' FROM range(1001)")
    done(lake, f"INSERT INTO {T} VALUES (1, repeat('x', 70000))")
    assert kinds(lake).count(True) == 4
    assert kinds(lake).count(False) == len(stored(tmp_path)) >= 2
    done(lake, f"INSERT OVERWRITE {T} VALUES (1, 'd')")
    assert kinds(lake) == [False]
    done(lake, f"CREATE TABLE ledger.db.s {INLINE} AS SELECT 1 AS id")
    assert (kinds(lake, "db.s"), by_sdk(lake, "db.s")) == ([True], [{"id": 1}])


def test_statements_of_one_txn_see_its_blocks_and_an_abort_leaves_nothing(
    lake: Lake, tmp_path: Path
) -> None:
    done(lake, f"CREATE TABLE {T} (id BIGINT, name STRING) {INLINE}")

    def work() -> None:
        with transaction(lake.spark):
            done(
                lake,
                f"INSERT INTO {T} VALUES (1, 'a'), (2, 'b')",
                f"INSERT INTO {T} VALUES (3, 'c')",
            )
            assert rows(lake, f"SELECT id FROM {T}") == [(1,), (2,), (3,)]
            raise KeyError("abort")

    with pytest.raises(KeyError):
        work()
    assert (by_sdk(lake, "db.t"), stored(tmp_path)) == ([], [])
    with transaction(lake.spark):
        done(lake, f"INSERT INTO {T} VALUES (1, 'a')", f"UPDATE {T} SET name = 'z' WHERE id = 1")
    assert by_sdk(lake, "db.t") == [{"id": 1, "name": "z"}]


def test_a_row_with_a_key_that_is_there_is_refused_without_a_file(
    lake: Lake, tmp_path: Path
) -> None:
    done(
        lake,
        f"CREATE TABLE {T} (id BIGINT) TBLPROPERTIES ('lakeledger.inline' = 'on', "
        "'lakeledger.unique' = 'true', 'lakeledger.key' = 'id')",
        f"INSERT INTO {T} VALUES (1), (2)",
    )
    with pytest.raises(PySparkException, match="must have one row for each key"):
        done(lake, f"INSERT INTO {T} VALUES (2), (3)")
    assert (by_sdk(lake, "db.t"), stored(tmp_path)) == ([{"id": 1}, {"id": 2}], [])
    assert kinds(lake) == [True]
