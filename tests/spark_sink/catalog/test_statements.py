"""The statements of SQL over one table: what they leave, and how they stand in the log."""

from pathlib import Path

import pytest

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

ALL = "SELECT * FROM ledger.db.t"


@pytest.fixture
def table(lake: Lake) -> Lake:
    done(
        lake,
        "CREATE TABLE ledger.db.t (id INT, name STRING, p STRING, d DATE) PARTITIONED BY (p, d)",
        "INSERT INTO ledger.db.t VALUES (1, 'a', 'x/=% é', DATE'2024-02-29'), "
        "(2, 'b', NULL, NULL), (4, 'd', 'y', NULL), (3, 'c', '', DATE'2024-01-01')",
    )
    return lake


def operations(lake: Lake, name: str = "db.t") -> list[str]:
    """Return the operations of a table's versions after its creation, oldest first."""
    found = rows(lake, f"SELECT version, operation FROM ledger.{name}.history")
    return [operation for _, operation in sorted(found)][1:]


def test_insert_and_select(table: Lake) -> None:
    """Partition values come back as they went in; an empty text is NULL there, as in Hive."""
    assert rows(table, "SELECT id, p FROM ledger.db.t") == [
        (1, "x/=% é"),
        (2, None),
        (3, None),
        (4, "y"),
    ]
    assert rows(table, "SELECT id FROM ledger.db.t WHERE d >= DATE'2024-02-01'") == [(1,)]
    assert rows(table, "SELECT id FROM ledger.db.t WHERE p LIKE 'x/=%'") == [(1,)]
    same = table.ledger.scan("db.t", "p = 'x/=% é'").to_arrow().to_pylist()
    assert [each["id"] for each in same] == [1]
    plan = table.spark.sql(f"EXPLAIN {ALL} WHERE id > 1").collect()[0][0]
    assert "ColumnarToRow" in plan


def test_a_column_that_may_be_null_is_stored_so_and_every_reader_finds_the_null(lake: Lake) -> None:
    done(
        lake,
        "CREATE TABLE ledger.db.n (id INT NOT NULL, name STRING, at TIMESTAMP)",
        "INSERT INTO ledger.db.n VALUES (1, NULL, NULL), (2, 'b', TIMESTAMP'2024-01-01 00:00:00')",
        "UPDATE ledger.db.n SET name = NULL WHERE id = 2",
    )
    assert rows(lake, "SELECT id, name FROM ledger.db.n") == [(1, None), (2, None)]
    scanned = lake.ledger.scan("db.n").to_arrow().sort_by("id")
    assert scanned.column("name").to_pylist() == [None, None]
    assert scanned.column("at").null_count == 1


def test_update_delete_and_merge_rewrite_the_files_with_matching_rows_only(table: Lake) -> None:
    done(
        table,
        "UPDATE ledger.db.t SET name = 'z' WHERE id = 2",
        "DELETE FROM ledger.db.t WHERE p = 'y'",
        "DELETE FROM ledger.db.t WHERE id = 3",
        "MERGE INTO ledger.db.t t USING (SELECT 1 AS id, 'm' AS n UNION ALL SELECT 9, 'new') s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = n "
        "WHEN NOT MATCHED THEN INSERT (id, name, p) VALUES (s.id, s.n, 'q')",
    )
    assert rows(table, "SELECT id, name, p FROM ledger.db.t") == [
        (1, "m", "x/=% é"),
        (2, "z", None),
        (9, "new", "q"),
    ]
    assert operations(table) == ["WRITE", "UPDATE", "DELETE", "DELETE", "MERGE"]
    added = rows(table, "SELECT version, files_added, files_removed FROM ledger.db.t.history")
    assert added[1:] == [(1, 4, 0), (2, 1, 1), (3, 0, 1), (4, 0, 1), (5, 2, 1)]


def test_all_kinds_of_insert_overwrite_replace_what_they_name(table: Lake) -> None:
    done(
        table,
        "INSERT OVERWRITE ledger.db.t PARTITION (p = 'y', d = DATE'2024-05-05') VALUES (5, 'e')",
    )
    assert rows(table, "SELECT id FROM ledger.db.t") == [(1,), (2,), (3,), (4,), (5,)]
    done(table, "INSERT INTO ledger.db.t REPLACE WHERE p = 'y' SELECT 6, 'f', 'y', NULL")
    assert rows(table, "SELECT id FROM ledger.db.t") == [(1,), (2,), (3,), (6,)]
    outside = "INSERT INTO ledger.db.t REPLACE WHERE p = 'y' SELECT 7, 'g', 'other', NULL"
    assert "must fulfil its condition" in refusal(table, outside)
    frame = table.spark.sql("SELECT 8 AS id, 'h' AS name, 'y' AS p, CAST(NULL AS DATE) AS d")
    frame.writeTo("ledger.db.t").overwritePartitions()
    assert rows(table, "SELECT id FROM ledger.db.t") == [(1,), (2,), (3,), (8,)]
    done(table, "INSERT INTO ledger.db.t REPLACE WHERE id < 3 SELECT 0, 'h', 'y', NULL")
    assert rows(table, "SELECT id FROM ledger.db.t") == [(0,), (3,), (8,)]
    done(table, "INSERT OVERWRITE ledger.db.t SELECT 9, 'i', NULL, NULL")
    assert rows(table, ALL) == [(9, "i", None, None)]
    done(table, "TRUNCATE TABLE ledger.db.t")
    assert rows(table, ALL) == []


def test_tables_are_made_from_queries_replaced_altered_renamed_and_dropped(table: Lake) -> None:
    done(
        table,
        "CREATE TABLE ledger.db.c COMMENT 'copy' AS SELECT id, name FROM ledger.db.t WHERE id < 3",
        "CREATE OR REPLACE TABLE ledger.db.c AS SELECT id, name, 1 AS one FROM ledger.db.c",
        "ALTER TABLE ledger.db.c ADD COLUMN x INT COMMENT 'new' FIRST",
        "ALTER TABLE ledger.db.c SET TBLPROPERTIES ('owner.team' = 'data')",
        "ALTER TABLE ledger.db.c RENAME TO ledger.db.e",
    )
    assert rows(table, "SELECT * FROM ledger.db.e") == [(None, 1, "a", 1), (None, 2, "b", 1)]
    assert ("x", "int", "new") in rows(table, "DESCRIBE ledger.db.e")
    assert rows(table, "SHOW TABLES IN ledger.db") == [("db", "e", False), ("db", "t", False)]
    assert ("owner.team", "data") in rows(table, "SHOW TBLPROPERTIES ledger.db.e")
    done(table, "CREATE TABLE ledger.db.l LIKE ledger.db.t", "DROP TABLE ledger.db.e")
    assert ("p", "string", None) in rows(table, "DESCRIBE ledger.db.l")
    assert "TABLE_OR_VIEW_NOT_FOUND" in refusal(table, "SELECT * FROM ledger.db.e")
    assert "TABLE_OR_VIEW_ALREADY_EXISTS" in refusal(table, "CREATE TABLE ledger.db.l (x INT)")
    shown = rows(table, "SHOW PARTITIONS ledger.db.t")
    assert ("p=y/d=null",) in shown


def test_a_replaced_table_is_replaced_at_once(table: Lake) -> None:
    failing = "SELECT CAST(raise_error('gone') AS INT) AS id, 'x' AS p, DATE'2024-01-01' AS d"
    assert "gone" in refusal(table, f"CREATE OR REPLACE TABLE ledger.db.t AS {failing}")
    assert len(rows(table, ALL)) == 4


def test_what_is_replaced_or_dropped_is_cleaned(table: Lake) -> None:
    made = "CREATE OR REPLACE TABLE ledger.db.n AS SELECT 1 AS x"
    done(table, made, made, made)
    clean = "CALL ledger.system.vacuum(older_than_h => 0D, table => "
    gone = rows(table, f"{clean} 'db.n')")
    assert len(gone) == 2
    assert [each for each, _ in gone if Path(each.removeprefix("file:")).exists()] == []
    assert rows(table, "SELECT * FROM ledger.db.n") == [(1,)]
    assert "system.vacuum(table => 'db.n'" in refusal(table, "DROP TABLE ledger.db.n PURGE")
    done(table, "DROP TABLE ledger.db.n")
    assert len(rows(table, "CALL ledger.system.vacuum(older_than_h => 0D, dry_run => true)")) == 1
    assert len(rows(table, f"{clean} 'ledger.db.n')")) == 1
    assert "TABLE_OR_VIEW_NOT_FOUND" in refusal(table, f"{clean} 'db.never')")


def test_a_version_and_a_time_name_an_earlier_state(table: Lake) -> None:
    held = table.spark.sql("SELECT * FROM ledger.db.t VERSION AS OF 1")
    done(table, "DELETE FROM ledger.db.t")
    assert rows(table, ALL) == []
    assert len(held.collect()) == 4
    at = rows(table, "SELECT timestamp FROM ledger.db.t.history WHERE version = 1")[0][0]
    query = f"SELECT count(*) FROM ledger.db.t TIMESTAMP AS OF '{at.isoformat(' ')}'"
    assert rows(table, query) == [(4,)]
    assert "has no version 9" in refusal(table, f"{ALL} VERSION AS OF 9")


def test_a_cached_table_follows_the_writes_of_its_session(table: Lake) -> None:
    done(table, "CACHE TABLE ledger.db.t")

    def is_cached() -> bool:
        plan = table.spark.sql(f"EXPLAIN {ALL}").collect()[0][0]
        return "InMemoryRelation" in plan

    try:
        done(table, "CREATE TABLE ledger.db.other AS SELECT 1 AS x")
        assert is_cached()
        done(table, "INSERT INTO ledger.db.t VALUES (9, 'i', NULL, NULL)")
        assert len(rows(table, ALL)) == 5
        table.ledger.append("db.t", [{"id": 10, "name": "j", "p": None, "d": None}])
        done(table, "REFRESH TABLE ledger.db.t")
        assert len(rows(table, ALL)) == 6
    finally:
        done(table, "UNCACHE TABLE IF EXISTS ledger.db.t")


def test_writes_without_a_statement(table: Lake) -> None:
    frame = table.spark.sql("SELECT 7 AS id, 'g' AS name, 'x' AS p, CAST(NULL AS DATE) AS d")
    frame.write.insertInto("ledger.db.t")
    frame.write.mode("append").saveAsTable("ledger.db.t")
    assert rows(table, "SELECT id FROM ledger.db.t WHERE id > 4") == [(7,), (7,)]
    done(
        table,
        f"FROM ({ALL} WHERE id = 7) INSERT INTO ledger.db.t SELECT 70, name, p, d "
        "INSERT INTO ledger.db.t SELECT 71, name, p, d",
    )
    found = [row[0] for row in rows(table, "SELECT id FROM ledger.db.t WHERE id > 4")]
    assert found == [7, 7, 70, 70, 71, 71]
    assert operations(table) == ["WRITE"] * 5


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE TABLE ledger.db.b (a INT) PARTITIONED BY (zorder(a))", "zorder"),
        ("CREATE TABLE ledger.db.b (a INT) USING csv", "Parquet"),
        ("ALTER TABLE ledger.db.t DROP COLUMN p", "cannot be dropped"),
        ("ALTER TABLE ledger.db.t ALTER COLUMN id TYPE STRING", "wider"),
        ("ALTER TABLE ledger.db.t SET LOCATION '/elsewhere'", "location"),
        ("SELECT * FROM ledger.db.nope", "TABLE_OR_VIEW_NOT_FOUND"),
        ("INSERT INTO ledger.db.t VALUES (1)", "NOT_ENOUGH_DATA_COLUMNS"),
    ],
)
def test_what_the_catalog_lacks_is_refused_by_name(table: Lake, statement: str, words: str) -> None:
    assert words in refusal(table, statement)
