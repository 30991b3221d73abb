"""Conditions on columns of CHAR: the SDK finds what Spark finds, and Spark's statements work."""

import pytest

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, rows
from tests.tables.char_rows import COLUMNS, FOUND, ROWS

pytestmark = pytest.mark.spark


def made(lake: Lake, name: str) -> None:
    """Create a table by Spark, with the rows written by the SDK."""
    columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS)
    done(lake, f"CREATE TABLE ledger.{name} ({columns}) PARTITIONED BY (p)")
    lake.ledger.append(name, ROWS)


def ids(lake: Lake, name: str = "db.t") -> list[int]:
    return sorted(each for (each,) in rows(lake, f"SELECT id FROM ledger.{name}"))


def test_conditions_find_what_spark_finds(lake: Lake) -> None:
    made(lake, "db.t")
    for where, wanted in FOUND.items():
        number = " = 12" in where
        asked = f"id = 6 AND {where}" if number else where
        spark = rows(lake, f"SELECT id FROM ledger.db.t WHERE {asked}")
        own = lake.ledger.scan("db.t", where=asked).to_arrow()["id"].to_pylist()
        assert (sorted(each for (each,) in spark), sorted(own)) == (wanted, wanted), where


def test_statements_on_char_change_the_rows_that_they_name(lake: Lake) -> None:
    made(lake, "db.t")
    done(lake, "DELETE FROM ledger.db.t WHERE c = 'ab'")
    assert ids(lake) == [2, 3, 4, 5, 6]
    done(lake, "UPDATE ledger.db.t SET id = 30 WHERE c = 'q' AND p = 'x'")
    assert ids(lake) == [2, 4, 5, 6, 30]
    done(
        lake,
        "MERGE INTO ledger.db.t t USING (SELECT d AS k FROM ledger.db.t WHERE d = '12') s "
        "ON t.c = s.k WHEN MATCHED THEN UPDATE SET id = 60",
    )
    done(lake, "DELETE FROM ledger.db.t WHERE p = 'xyz'")
    done(lake, "INSERT OVERWRITE ledger.db.t PARTITION (p = 'x') SELECT 7, 'n', 'n', 'n'")
    assert ids(lake) == [4, 5, 7, 60]
    done(lake, "DELETE FROM ledger.db.t WHERE c IS NULL OR c IN ('', 'n')")
    assert ids(lake) == [60]
