"""Statements in the forms of Delta's and Iceberg's documentation.

Each does its work, or is refused with the word that helps.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

T: Final = "ledger.db.t"
ALL: Final = f"SELECT id, v, p FROM {T}"
LATER: Final = "2999-01-01 00:00:00"
MERGE: Final = (
    f"MERGE INTO {T} t USING (SELECT 2 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE "
    "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 1"
)
AS_INSERTED: Final = [(1, 1.0, "x"), (2, 2.0, "y"), (3, 3.0, "x")]
AS_UPDATED: Final = [(1, 10.0, "x"), (2, 2.0, "y"), (3, 3.0, "x")]

# A statement, the rows that it gives, a query behind it and its rows. None = not compared.
WORK: Final[Sequence[tuple[str, Any, str, Any]]] = [
    (f"OPTIMIZE {T}", [(2, 1)], ALL, AS_UPDATED),
    ("optimize `ledger`.`db`.`t` -- of comments\n;", [(2, 1)], ALL, AS_UPDATED),
    (f"/* first */ OPTIMIZE {T} WHERE p = 'y'", [(0, 0)], ALL, AS_UPDATED),
    (f"OPTIMIZE {T} WHERE p = 'x' AND p <> 'it''s; (--'", [(2, 1)], ALL, AS_UPDATED),
    (f"OPTIMIZE {T} ZORDER BY (v)", [(3, 2)], ALL, AS_UPDATED),
    (f"OPTIMIZE {T} ZORDER BY v, `id`", [(3, 2)], ALL, AS_UPDATED),
    (f"OPTIMIZE {T} WHERE p = 'x' ZORDER BY (v, id)", [(2, 1)], ALL, AS_UPDATED),
    (f"VACUUM {T}", [], f"SELECT count(*) FROM {T} VERSION AS OF 1", [(2,)]),
    (f"VACUUM {T} RETAIN 1000 HOURS", [], ALL, AS_UPDATED),
    (
        f"VACUUM {T} RETAIN 0 HOURS DRY RUN",
        None,
        f"SELECT sum(v) FROM {T} VERSION AS OF 2",
        [(6.0,)],
    ),
    (f"VACUUM {T} DRY RUN", [], ALL, AS_UPDATED),
    (f"DESCRIBE HISTORY {T} LIMIT 1", None, ALL, AS_UPDATED),
    (f"DESC HISTORY {T}", None, ALL, AS_UPDATED),
    (f"DESCRIBE DETAIL {T}", None, ALL, AS_UPDATED),
    (f"RESTORE TABLE {T} TO VERSION AS OF 2", [(1, 1)], ALL, AS_INSERTED),
    (f"RESTORE {T} TO VERSION AS OF '2'", [(1, 1)], ALL, AS_INSERTED),
    (f"SHOW CONFLICTS IN {T}", [], ALL, AS_UPDATED),
    (f"SHOW CONFLICTS FROM {T}", [], ALL, AS_UPDATED),
    (f"SELECT count(*) FROM {T} FOR SYSTEM_VERSION AS OF 1", [(2,)], ALL, AS_UPDATED),
    (f"SELECT sum(v) FROM {T} VERSION AS OF 2", [(6.0,)], ALL, AS_UPDATED),
    (f"SELECT count(*) FROM {T}.files", [(3,)], ALL, AS_UPDATED),
    (f"SELECT max(version) FROM {T}.history", [(3,)], ALL, AS_UPDATED),
    (f"SELECT count(*) FROM {T}.changes WITH (`startingVersion` = '3')", [(2,)], ALL, AS_UPDATED),
    ("SELECT count(*) FROM table_changes('ledger.db.t', 3)", [(2,)], ALL, AS_UPDATED),
    (
        "SELECT c.id FROM table_changes ('ledger.db.t', 1, 2) AS c",
        [(1,), (2,), (3,)],
        ALL,
        AS_UPDATED,
    ),
    (f"ALTER TABLE {T} ADD CONSTRAINT c CHECK (id > 0)", None, ALL, AS_UPDATED),
    (f"ALTER TABLE {T} ADD COLUMNS (more STRING)", None, f"SELECT count(more) FROM {T}", [(0,)]),
    (f"ALTER TABLE {T} RENAME COLUMN v TO w", None, f"SELECT sum(w) FROM {T}", [(15.0,)]),
    (
        f"ALTER TABLE {T} ADD PARTITION FIELD bucket(16, id)",
        [(["p", "bucket(16, id)"],)],
        ALL,
        AS_UPDATED,
    ),
    ("CALL ledger.system.partition_field('db.t', 'truncate(2, p)')", None, ALL, AS_UPDATED),
    (f"DELETE FROM {T} WHERE p = 'x'", None, ALL, [(2, 2.0, "y")]),
    (f"UPDATE {T} SET v = 0 WHERE id = 2", None, f"SELECT sum(v) FROM {T}", [(13.0,)]),
    (f"TRUNCATE TABLE {T}", None, ALL, []),
    (MERGE, None, f"SELECT sum(v), count(*) FROM {T}", [(2.0, 2)]),
    (
        f"INSERT INTO {T} REPLACE WHERE p = 'y' SELECT 9, 9, 'y'",
        None,
        f"SELECT max(id) FROM {T}",
        [(9,)],
    ),
    (f"INSERT OVERWRITE {T} VALUES (7, 7, 'z')", None, ALL, [(7, 7.0, "z")]),
    (f"CREATE OR REPLACE TABLE {T} AS SELECT 1 AS n, 2 AS p", None, f"SELECT * FROM {T}", [(1, 2)]),
    (
        "CALL ledger.system.rollback_to_version(table => 'db.t', version => 1)",
        None,
        f"SELECT count(*) FROM {T}",
        [(2,)],
    ),
    ("CALL ledger.system.history(table => 'db.t', limit => 2)", None, ALL, AS_UPDATED),
    (
        "CALL ledger.system.optimize(table => 'db.t', sort_by => 'v, `id`')",
        [(3, 2)],
        ALL,
        AS_UPDATED,
    ),
]

# A statement, and the words that its refusal must have.
REFUSED: Final = [
    (f"OPTIMIZE {T} FULL", "must be OPTIMIZE t"),
    (f"OPTIMIZE {T} WHERE id = 1", "partition columns"),
    (f"OPTIMIZE {T} ZORDER BY (p)", "sort_by"),
    (f"OPTIMIZE {T} ZORDER BY (other)", "sort_by"),
    ("OPTIMIZE delta.`/data/events`", "OPTIMIZE t"),
    ("OPTIMIZE ledger.db.none", "none"),
    ("VACUUM '/data/events' RETAIN 0 HOURS", "VACUUM t"),
    (f"VACUUM {T} LITE", "must be VACUUM t"),
    (f"VACUUM {T} RETAIN 7 DAYS", "HOURS must stand where 'DAYS' is"),
    (f"VACUUM {T} RETAIN many HOURS", "a number"),
    (f"RESTORE TABLE {T} TO VERSION AS OF 99", "99"),
    (f"RESTORE {T}", "must be RESTORE"),
    (f"RESTORE {T} TO VERSION 1", "VERSION AS OF"),
    ("RESTORE other", "RESTORE [TABLE] t TO VERSION AS OF"),
    (f"RESTORE TABLE {T} TO TIMESTAMP AS OF '1999-01-01'", "1999"),
    ("CONVERT TO DELTA parquet.`/data` PARTITIONED BY (day DATE)", "lakeledger import delta"),
    (f"GENERATE symlink_format_manifest FOR TABLE {T}", "lakeledger.publish"),
    (f"REORG TABLE {T} APPLY (PURGE)", "OPTIMIZE"),
    (f"CREATE TABLE ledger.db.c SHALLOW CLONE {T}", "AS SELECT"),
    (f"ALTER TABLE {T} DROP FEATURE deletionVectors", "Delta"),
    (f"ALTER TABLE {T} CLUSTER BY (id)", "CLUSTER BY|cluster"),
    (f"ALTER TABLE {T} ADD PARTITION FIELD bucket(16, id) AS shard", "ADD PARTITION FIELD"),
    (f"ALTER TABLE {T} ADD PARTITION FIELD", "a transform"),
    (f"ALTER TABLE {T} ADD PARTITION FIELD id", "Ledger.alter_table"),
    (f"ALTER TABLE {T} ADD PARTITION FIELD zorder(id)", "truncate"),
    (f"ALTER TABLE {T} ADD PARTITION FIELD bucket(0, id)", "width"),
    (f"ALTER TABLE {T} ADD PARTITION FIELD days(id)", "days"),
    (f"ALTER TABLE {T} DROP PARTITION FIELD bucket(16, id)", "not divided by"),
    (f"ALTER TABLE {T} REPLACE PARTITION FIELD p WITH years(ts)", "Ledger.alter_table"),
    (f"ALTER TABLE {T} WRITE ORDERED BY id", "lakeledger.sort"),
    (f"ALTER TABLE {T} SET IDENTIFIER FIELDS id", "MERGE"),
    (f"ALTER TABLE {T} CREATE BRANCH audit", "VERSION AS OF"),
    (f"ALTER TABLE {T} CREATE TAG eom AS OF VERSION 1", "VERSION AS OF"),
    (f"ALTER TABLE {T} ADD COLUMN day DATE GENERATED ALWAYS AS (CAST(v AS DATE))", "GENERATED"),
    ("CALL ledger.system.rewrite_data_files(table => 'db.t')", "system.optimize"),
    ("CALL ledger.system.expire_snapshots('db.t')", "system.vacuum"),
    ("CALL ledger.system.rollback_to_snapshot('db.t', 1)", "system.rollback_to_version"),
    ("CALL ledger.system.create_changelog_view(table => 'db.t')", "system.changes"),
    (f"SELECT * FROM {T}.snapshots", "history"),
    (f"UNDROP TABLE {T}", "was dropped"),
    ("UNDROP TABLE", "UNDROP"),
    (f"SELECT * FROM {T}@v1", "VERSION AS OF"),
]
# The same, for statements about the ledger that a session uses.
REFUSED_THERE: Final = [
    ("EXPLAIN CONFLICT 999999", "999999"),
    ("EXPLAIN CONFLICT it", "a number"),
    ("COMMIT", "must follow BEGIN"),
    ("ROLLBACK", "must follow BEGIN"),
    ("BEGIN TRANSACTION ISOLATION LEVEL chaos", "chaos"),
    ("BEGIN ATOMIC INSERT INTO ledger.db.t VALUES (1, 1, 'x');", "END"),
]


@pytest.fixture
def table(lake: Lake) -> Lake:
    done(
        lake,
        f"CREATE TABLE {T} (id INT, v DOUBLE, p STRING) PARTITIONED BY (p)",
        f"INSERT INTO {T} VALUES (1, 1, 'x'), (2, 2, 'y')",
        f"INSERT INTO {T} VALUES (3, 3, 'x')",
        f"UPDATE {T} SET v = 10 WHERE id = 1",
    )
    return lake


@pytest.mark.parametrize(("statement", "given", "query", "left"), WORK)
def test_a_statement_does_its_work(
    table: Lake, statement: str, given: Any, query: str, left: Any
) -> None:
    found = rows(table, statement)
    assert given is None or found == given
    assert rows(table, query) == left


@pytest.mark.parametrize(("statement", "said"), REFUSED)
def test_a_refused_statement_is_told_what_helps(table: Lake, statement: str, said: str) -> None:
    with pytest.raises((PySparkException, Py4JJavaError)) as refused:
        done(table, statement)
    assert re.search(re.escape(said).replace("\\|", "|"), str(refused.value)), str(refused.value)
    assert rows(table, ALL) == AS_UPDATED


@pytest.mark.parametrize(("statement", "said"), REFUSED_THERE)
def test_a_word_without_a_table_means_the_ledger_in_use(
    table: Lake, statement: str, said: str
) -> None:
    before = table.spark.catalog.currentCatalog()
    done(table, "USE ledger")
    try:
        assert said in refusal(table, statement)
    finally:
        table.spark.catalog.setCurrentCatalog(before)


def test_the_rows_of_a_history_and_of_a_detail(table: Lake) -> None:
    newest = table.spark.sql(f"DESCRIBE HISTORY {T} LIMIT 1").collect()
    assert [(row.version, row.operation, row.rows_updated) for row in newest] == [(3, "UPDATE", 1)]
    (detail,) = table.spark.sql(f"DESC DETAIL {T}").collect()
    assert (detail.format, detail.version, detail.numFiles, detail.numRows) == (
        "lakeledger",
        3,
        3,
        3,
    )
    assert (detail.partitionColumns, detail.properties) == (["p"], {})
    assert detail.createdAt <= detail.lastModified
    assert detail.sizeInBytes > 0


def test_a_restore_to_a_time_brings_columns_back_too(table: Lake) -> None:
    (before,) = table.spark.sql(
        f"SELECT string(timestamp) FROM {T}.history WHERE version = 2"
    ).collect()
    done(table, f"ALTER TABLE {T} ADD COLUMN more INT", f"INSERT INTO {T} VALUES (4, 4, 'x', 4)")
    done(table, f"RESTORE TABLE {T} TO TIMESTAMP AS OF '{before[0]}'")
    assert rows(table, f"SELECT * FROM {T}") == AS_INSERTED
    done(table, f"RESTORE TABLE {T} TO VERSION AS OF 5")
    assert table.spark.table(T).columns == ["id", "v", "p", "more"]


def test_names_without_a_catalog_mean_the_current_one(table: Lake) -> None:
    try:
        done(table, "USE ledger.db")
        assert rows(table, "OPTIMIZE t") == [(2, 1)]
        assert len(rows(table, "DESCRIBE HISTORY db.t")) == 5
        assert rows(table, "SHOW CONFLICTS") == []
    finally:
        done(table, "USE spark_catalog.default")
    with pytest.raises(PySparkException, match="PARSE_SYNTAX_ERROR"):
        done(table, "OPTIMIZE t")


def test_a_sort_puts_the_rows_of_a_file_in_order(lake: Lake) -> None:
    values = ", ".join(f"({number * 7 % 20})" for number in range(20))
    done(lake, "CREATE TABLE ledger.db.s (id INT)", f"INSERT INTO ledger.db.s VALUES {values}")
    done(lake, "OPTIMIZE ledger.db.s ZORDER BY (id)")
    found = [row["id"] for row in lake.ledger.scan("db.s").to_arrow().to_pylist()]
    assert found == sorted(found)
    assert len(found) == 20
