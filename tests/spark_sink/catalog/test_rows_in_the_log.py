"""Rows in the log are rows of Spark's tables: in queries, statements, changes and streams."""

from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from ledger.config.address import Address
from ledger.errors import RowsKeyError, UnreadableTableError
from ledger.files.rows.blocks import block_of
from ledger.keys.folder import KeyFolder
from ledger.keys.sealed_rows import sealed
from ledger.log.wire.file_extras import is_sealed
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger
from spark_sink import Lake, attach, cached_table
from spark_sink.host_tables import HostTables
from tests.forgetting.every_byte import Planted, is_in_log
from tests.spark_sink.catalog.sql import done, rows
from tests.spark_sink.host import NAME as HOST_NAME
from tests.spark_sink.host import Host

pytestmark = pytest.mark.spark

NAME = "db.t"
TABLE = f"ledger.{NAME}"
COLUMNS = (
    "id BIGINT, p STRING, name STRING, x DOUBLE, paid DECIMAL(20, 4), at TIMESTAMP, "
    "tags ARRAY<STRING>, place STRUCT<town: STRING, zip: INT>"
)
AT = datetime(2026, 3, 1, 12, 0, 0, 123456, UTC)


def some_rows(first: int, count: int = 3) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "p": "x/=% é" if number % 2 else None,
            "name": None if number % 3 == 0 else f"n{number}",
            "x": number / 4,
            "paid": Decimal(f"{number}.2500"),
            "at": AT,
            "tags": ["a", None],
            "place": {"town": "Bern", "zip": number},
        }
        for number in range(first, first + count)
    ]


@pytest.fixture(params=["marks", "rewrite"])
def logged(lake: Lake, request: pytest.FixtureRequest) -> Lake:
    """Return a table of two appends in the log and one file."""
    done(
        lake,
        f"CREATE TABLE {TABLE} ({COLUMNS}) PARTITIONED BY (p) "
        f"TBLPROPERTIES ('lakeledger.rows' = '{request.param}', 'lakeledger.inline' = 'on')",
    )
    lake.ledger.append(NAME, some_rows(1))
    lake.ledger.append(NAME, some_rows(4))
    assert all(file.rows for file in lake.ledger.scan(NAME).files)
    done(lake, f"INSERT INTO {TABLE} (id, p, name) VALUES (100, 'q', repeat('x', 70000))")
    assert sum(not file.rows for file in lake.ledger.scan(NAME).files) == 1
    return lake


def ids(lake: Lake, where: str = "true") -> list[int]:
    return [each for (each,) in rows(lake, f"SELECT id FROM {TABLE} WHERE {where}")]


def same(lake: Lake) -> None:
    """Compare the rows that Spark and the SDK find."""
    by_sdk = lake.ledger.scan(NAME).to_arrow().to_pylist()
    by_spark = [each.asDict(recursive=True) for each in lake.spark.table(TABLE).collect()]
    for row in by_spark:
        row["at"] = row["at"] and row["at"].astimezone(UTC)
    assert sorted(by_spark, key=repr) == sorted(by_sdk, key=repr)


def test_queries_read_blocks_and_files(logged: Lake) -> None:
    same(logged)
    assert ids(logged) == [1, 100, 2, 3, 4, 5, 6]
    assert ids(logged, "id > 3 AND place.zip < 6") == [4, 5]
    assert ids(logged, "p IS NULL AND name IS NOT NULL") == [2, 4]
    assert rows(logged, f"SELECT count(*), max(id) FROM {TABLE}") == [(7, 100)]
    assert rows(logged, f"SELECT count(*) FROM {TABLE} VERSION AS OF 1") == [(3,)]
    files = {file.path.replace("rows:", "rows:/") for file in logged.ledger.scan(NAME).files}
    found = {each for (each,) in rows(logged, f"SELECT DISTINCT _file FROM {TABLE} WHERE id < 9")}
    assert found < files
    assert len(found) == 4
    (place, *_) = sorted(found)
    (count,) = rows(logged, f"SELECT count(*) FROM {TABLE} WHERE _file = '{place}'")
    assert count < (3,)


def test_columns_changed_since_are_read_by_id(logged: Lake) -> None:
    done(
        logged,
        f"ALTER TABLE {TABLE} RENAME COLUMN name TO called",
        f"ALTER TABLE {TABLE} DROP COLUMN x",
        f"ALTER TABLE {TABLE} ADD COLUMN x STRING",
    )
    same(logged)
    assert ids(logged, "called = 'n2' AND x IS NULL") == [2]


def test_statements_change_rows_of_blocks(logged: Lake) -> None:
    done(
        logged,
        f"DELETE FROM {TABLE} WHERE id = 1",
        f"UPDATE {TABLE} SET name = 'new' WHERE id IN (4, 100)",
        f"MERGE INTO {TABLE} t USING (VALUES (5, 'e'), (9, 'f') s(id, name)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = s.name "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)",
        f"DELETE FROM {TABLE} WHERE p = 'q'",
    )
    same(logged)
    assert ids(logged) == [2, 3, 4, 5, 6, 9]
    assert ids(logged, "name IN ('new', 'e')") == [4, 5]
    assert rows(logged, f"SELECT id FROM {TABLE} VERSION AS OF 3") == [
        (each,) for each in (1, 100, 2, 3, 4, 5, 6)
    ]
    by_sdk = logged.ledger.changes(NAME).rows().read_all().select(["id", "_change_type"])
    found = rows(logged, f"SELECT id, _change_type FROM {TABLE}.changes")
    assert found == sorted((tuple(each.values()) for each in by_sdk.to_pylist()), key=repr)


def test_statement_changes_blocks_that_its_source_reads_as_one(logged: Lake) -> None:
    with logged.transaction():
        assert ids(logged) == [1, 100, 2, 3, 4, 5, 6]
        done(
            logged,
            f"MERGE INTO {TABLE} t USING (SELECT id - 2 AS id, name FROM {TABLE}) s ON t.id = s.id "
            "WHEN MATCHED AND t.id = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name",
        )
    same(logged)
    assert rows(logged, f"SELECT id, name FROM {TABLE} WHERE id < 6") == [
        *((1, None), (3, "n5"), (4, None), (5, "n5"))
    ]


def test_optimize_leaves_files_only(logged: Lake) -> None:
    before = rows(logged, f"SELECT * FROM {TABLE}")
    done(logged, f"CALL ledger.system.optimize('{NAME}')")
    assert not any(file.rows for file in logged.ledger.scan(NAME).files)
    assert rows(logged, f"SELECT * FROM {TABLE}") == before


def test_stream_reads_blocks(logged: Lake, tmp_path: Path) -> None:
    stream = logged.spark.readStream.table(TABLE).select("id", "name", "_file")
    query = (
        stream.writeStream.format("memory")
        .queryName("of_blocks")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert rows(logged, "SELECT id FROM of_blocks") == [(each,) for each in (1, 100, 2, 3, 4, 5, 6)]


def test_frame_of_a_host_reads_blocks(spark: SparkSession, host: Host) -> None:
    host.ledger.create_table(
        HOST_NAME,
        [("day", "INT"), ("tail", "STRING")],
        partition_columns=["day"],
        location=str(host.warehouse / "flights"),
        properties={"lakeledger.inline": "on", "lakeledger.rows": "marks"},
    )
    host.ledger.append(HOST_NAME, [{"day": 1, "tail": "N1"}, {"day": 1, "tail": "N2"}])
    host.ledger.append(HOST_NAME, [host.file("day=2/a.parquet", "N3", day="2")])
    with host.ledger.transaction() as txn:
        txn.delete(HOST_NAME, "tail = 'N1'")
    found = cached_table(spark, HOST_NAME, host.snapshot(), host.tables)
    assert sorted(map(tuple, found.collect())) == [(1, "N2"), (2, "N3")]


def test_frame_of_a_table_without_columns_is_refused(spark: SparkSession, host: Host) -> None:
    host.ledger.create_table(HOST_NAME, location=str(host.warehouse / "flights"))
    block = block_of(pa.table({"tail": ["N1"]}))
    host.ledger.append(HOST_NAME, [AddFile("rows:a", size=len(block), rows=block)])
    with pytest.raises(UnreadableTableError, match="says no columns"):
        cached_table(spark, HOST_NAME, host.snapshot(), host.tables)


def test_encrypted_rows_are_opened_by_the_driver(
    spark: SparkSession, memory: InMemoryLedger, tmp_path: Path
) -> None:
    lake = attach(spark, memory.connect(warehouse=tmp_path / "lake", keys=tmp_path / "keys"))
    done(
        lake,
        f"CREATE TABLE {TABLE} (id BIGINT, name STRING) TBLPROPERTIES ('lakeledger.rows' = 'marks',"
        " 'lakeledger.inline' = 'on', 'lakeledger.inline.encrypted' = 'true')",
    )
    planted = [{"id": number, "name": f"planted {number}"} for number in (1, 2, 3)]
    lake.ledger.append(NAME, planted)
    assert all(is_sealed(file.rows) for file in lake.ledger.scan(NAME).files)
    assert ids(lake, "name = 'planted 2'") == [2]
    done(
        lake,
        f"DELETE FROM {TABLE} WHERE name = 'planted 1'",
        f"UPDATE {TABLE} SET name = 'planted two' WHERE name = 'planted 2'",
        f"MERGE INTO {TABLE} t USING (VALUES (3, 'planted x'), (9, 'planted y') s(id, name)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)",
        f"INSERT INTO {TABLE} VALUES (10, 'planted z')",
    )
    assert ids(lake) == [10, 2, 3, 9]
    left = [file.rows for file in lake.ledger.scan(NAME).files if file.rows]
    assert [is_sealed(block) for block in left] == [True]
    changes = f"SELECT count(*) FROM {TABLE}.changes WHERE name LIKE 'planted%'"
    assert rows(lake, changes)[0][0] > 0
    assert not is_in_log(memory.log, Planted(["planted"], []))


def test_frame_of_a_host_reads_encrypted_rows_with_its_keys(
    spark: SparkSession, host: Host
) -> None:
    folder = host.warehouse.parent
    location = str(host.warehouse / "flights")
    host.ledger.create_table(
        HOST_NAME, [("tail", "STRING")], location=location, properties={"lakeledger.inline": "on"}
    )
    keys = KeyFolder(folder / "keys", host.ledger.id)
    table, data = host.ledger.table(HOST_NAME).table, block_of(pa.table({"tail": ["N1"]}))
    block = bytes(sealed(keys, table, "rows:a", data, 0))
    host.ledger.append(HOST_NAME, [AddFile("rows:a", size=len(block), rows=block)])
    with pytest.raises(RowsKeyError, match="no folder of keys is set"):
        cached_table(spark, HOST_NAME, host.snapshot(), host.tables).collect()
    Address("127.0.0.1:1", host.ledger.name, folder / "rows").write(folder)
    with closing(HostTables.open(folder / "rows")) as tables:
        found = cached_table(spark, HOST_NAME, host.snapshot(), tables)
        assert [tuple(row) for row in found.collect()] == [("N1",)]
