"""How many rows a statement of Spark changed: in the history, in receipts, and for the session."""

from typing import Any, Final

import pytest

from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, refusal, rows

pytestmark = pytest.mark.spark

T: Final = "ledger.db.t"
MERGE: Final = (
    f"MERGE INTO {T} t USING (SELECT 1 AS id UNION ALL SELECT 9) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET p = 'm' "
    "WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, 'm') "
    "WHEN NOT MATCHED BY SOURCE AND id = 3 THEN DELETE"
)
# What a statement inserts, updates and deletes of the three rows that are there.
STATEMENTS: Final = [
    (f"INSERT INTO {T} VALUES (4, 'x'), (5, 'y')", (2, 0, 0)),
    (f"INSERT INTO {T} SELECT * FROM {T} WHERE id > 9", (0, 0, 0)),
    (f"UPDATE {T} SET id = 0 WHERE id < 3", (0, 2, 0)),
    (f"UPDATE {T} SET p = 'z'", (0, 3, 0)),
    (f"DELETE FROM {T} WHERE id = 1", (0, 0, 1)),
    (f"DELETE FROM {T} WHERE p = 'x'", (0, 0, 2)),
    (f"DELETE FROM {T} WHERE id IN (SELECT id FROM {T} WHERE p = 'y')", (0, 0, 1)),
    (f"UPDATE {T} SET id = 0 WHERE id IN (SELECT id FROM {T} WHERE p = 'x')", (0, 2, 0)),
    (f"TRUNCATE TABLE {T}", (0, 0, 3)),
    (f"INSERT OVERWRITE {T} VALUES (7, 'x')", (1, 0, 3)),
    (f"INSERT INTO {T} REPLACE WHERE p = 'x' SELECT 8, 'x'", (1, 0, 2)),
    (f"INSERT INTO {T} REPLACE WHERE id < 3 SELECT 2, 'x'", (1, 0, 2)),
    (MERGE, (1, 1, 1)),
]


@pytest.fixture
def table(lake: Lake) -> Lake:
    done(lake, f"CREATE TABLE {T} (id INT, p STRING) PARTITIONED BY (p)")
    done(lake, f"INSERT INTO {T} VALUES (1, 'x'), (2, 'y'), (3, 'x')")
    return lake


@pytest.mark.parametrize(("statement", "changed"), STATEMENTS)
def test_a_statement_counts_its_rows(
    table: Lake, statement: str, changed: tuple[int, int, int]
) -> None:
    before = table.ledger.table("db.t").version
    done(table, statement)
    (last,) = table.spark.sql("CALL ledger.system.last_statement()").collect()
    assert (last.num_inserted_rows, last.num_updated_rows, last.num_deleted_rows) == changed
    assert (last.table, last.num_affected_rows) == ("db.t", sum(changed))
    (newest,) = table.spark.sql(f"DESCRIBE HISTORY {T} LIMIT 1").collect()
    if newest.version > before:
        assert (newest.rows_inserted, newest.rows_updated, newest.rows_deleted) == changed


def test_frames_are_counted_as_statements_are(table: Lake) -> None:
    frame = table.spark.sql("SELECT 4 AS id, 'x' AS p")
    writes: list[tuple[Any, tuple[int, int]]] = [
        (lambda: frame.writeTo(T).append(), (1, 0)),
        (lambda: frame.write.mode("append").saveAsTable(T), (1, 0)),
        (lambda: frame.write.insertInto(T), (1, 0)),
        (lambda: frame.writeTo(T).overwritePartitions(), (1, 5)),
    ]
    for write, changed in writes:
        write()
        (last,) = table.spark.sql("CALL ledger.system.last_statement()").collect()
        assert (last.num_inserted_rows, last.num_deleted_rows) == changed


def test_a_transaction_counts_the_rows_of_its_statements(table: Lake) -> None:
    with table.transaction() as txn:
        done(table, f"UPDATE {T} SET id = 0 WHERE id = 1", f"INSERT INTO {T} VALUES (4, 'y')")
        done(table, f"DELETE FROM {T} WHERE p = 'y'")
    assert txn.receipt is not None
    assert txn.receipt.num_affected_rows == 4


def test_each_session_has_its_own_last_statement(table: Lake) -> None:
    other = table.spark.newSession()
    done(table, f"DELETE FROM {T} WHERE id = 1")
    assert other.sql("CALL ledger.system.last_statement()").collect() == []
    assert "none" in refusal(table, f"DELETE FROM {T} WHERE none = 1")
    assert "too late" in refusal(table, f"UPDATE {T} SET p = raise_error('too late')")
    assert rows(table, "CALL ledger.system.last_statement()") == []
