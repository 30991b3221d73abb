"""Scans of tables of layout `directories`: the folders of valid write ids, and no others."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.errors import ConflictError, FilesUnknownError, LimitExceededError, UnreadableTableError
from tests.tables.files import parquet

COLUMNS = [("id", "bigint"), ("day", "string")]


@pytest.fixture
def table(ledger: Ledger, tmp_path: Path) -> str:
    ledger.create_table(
        "db.t", COLUMNS, layout="directories", partition_columns=["day"], location=str(tmp_path)
    )
    return "db.t"


def ids(scan: Any) -> list[int]:
    """Return the ids of a scan, in order."""
    found = sorted(scan.to_arrow()["id"].to_pylist())
    assert scan.count() == len(found)
    return found


def put(folder: Path, path: str, *rows: int) -> None:
    """Write rows into a file below the location."""
    parquet(folder, path, pa.table({"id": list(rows)}))


def test_valid_write_ids_are_read(ledger: Ledger, tmp_path: Path, table: str) -> None:
    with ledger.transaction() as txn:
        put(tmp_path, f"day=a%2Fb/delta_{txn.write_id(table)}/x.parquet", 1, 2)
        txn.wrote(table, "insert", "day=a%2Fb")
    aborted = ledger.begin()
    put(tmp_path, f"day=c/delta_{aborted.write_id(table)}/x.parquet", 3)
    aborted.abort()
    txn = ledger.begin()
    put(tmp_path, f"DAY=__HIVE_DEFAULT_PARTITION__/delta_{txn.write_id(table)}/x.parquet", 4)
    put(tmp_path, f"day=c/delta_{txn.write_id(table)}/_hidden.parquet", 5)
    assert ids(ledger.scan(table)) == [1, 2]
    assert ids(txn.scan(table)) == [1, 2, 4]
    assert ids(txn.scan(table, "day is null")) == [4]
    assert ids(ledger.scan(table, "day = 'a/b' and id > 1")) == [2]
    assert ledger.scan(table, "id = 1").to_arrow().to_pylist() == [{"id": 1, "day": "a/b"}]
    txn.wrote(table, "insert", "day=__HIVE_DEFAULT_PARTITION__")
    txn.commit()
    assert ids(ledger.scan(table)) == [1, 2, 4]
    assert ids(ledger.scan(table, version=1)) == [1, 2]
    with pytest.raises(LimitExceededError, match="is gone"):
        ledger.scan(table, version=0)


def test_inserted_rows_are_read(ledger: Ledger, table: str) -> None:
    with ledger.transaction() as txn:
        txn.insert(table, [{"id": 1, "day": "x"}, {"id": 2, "day": None}])
        assert ids(txn.scan(table)) == [1, 2]
    assert ids(ledger.scan(table, "day = 'x'")) == [1]


def test_columns_change(ledger: Ledger, table: str) -> None:
    """Renamed columns are found in older folders by the names of then."""
    with ledger.transaction() as txn:
        txn.insert(table, [{"id": 1, "day": "x"}])
    number, day = ledger.table(table).definition.columns
    renamed = [number._replace(name="key"), day._replace(name="date")]
    ledger.alter_table(table, columns=renamed, partition_columns=["date"])
    with ledger.transaction() as txn:
        txn.insert(table, [{"key": 2, "date": "y"}])
    rows = ledger.scan(table).to_arrow().to_pylist()
    assert sorted(rows, key=lambda each: each["key"]) == [
        {"key": 1, "date": "x"},
        {"key": 2, "date": "y"},
    ]


def test_a_scan_in_a_txn_is_a_read(ledger: Ledger, table: str) -> None:
    txn = ledger.begin()
    assert ids(txn.scan(table, "day = 'x'")) == []
    with ledger.transaction() as other:
        other.wrote(table, "update", "day=x")
    txn.wrote(table, "update", "day=x")
    with pytest.raises(ConflictError):
        txn.commit()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("day=x/base_1/x.parquet", "not named delta_"),
        ("day=x/delta_1_1/x.parquet", "not named delta_"),
        ("delta_1/x.parquet", "in no partition"),
        ("delta_1/day=x/x.parquet", "within the folder"),
        ("month=1/delta_1/x.parquet", "in no partition"),
    ],
)
def test_odd_folders_are_refused(
    ledger: Ledger, tmp_path: Path, table: str, path: str, said: str
) -> None:
    with ledger.transaction() as txn:
        assert txn.write_id(table) == 1
    put(tmp_path, path, 1)
    with pytest.raises(UnreadableTableError, match=said):
        ledger.scan(table)


def test_files_beside_the_folders_are_no_rows(ledger: Ledger, tmp_path: Path, table: str) -> None:
    put(tmp_path, "day=x/x.parquet", 1)
    assert ids(ledger.scan(table)) == []
    ledger.create_table("db.out", COLUMNS, kind="external", location=str(tmp_path))
    with pytest.raises(FilesUnknownError, match="external"):
        ledger.scan("db.out")
