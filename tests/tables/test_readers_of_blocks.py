"""Readers that know files of a storage alone: they read rows in the log, or name them."""

from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.errors import UnreadableTableError
from ledger.log.wire.file_list import RemoveFile

INLINE = {"lakeledger.inline": "on"}


@pytest.fixture
def table(ledger: Ledger, tmp_path: Path) -> str:
    """Return a table of two blocks and a file that was replaced by another one."""
    name = "db.t"
    ledger.create_table(name, [("id", "BIGINT")], location=tmp_path / "t", properties=INLINE)
    ledger.append(name, [{"id": number} for number in range(-2_000, 1)])
    ledger.delete(name, "id < -1500")
    for number in (1, 2):
        ledger.append(name, [{"id": number}])
    assert sorted(bool(file.rows) for file in ledger.read(name)) == [False, True, True]
    return name


def ids(ledger: Ledger, name: str) -> list[int]:
    """Return the ids of the rows that are not negative, as most of the file's are."""
    return sorted(ledger.scan(name, "id >= 0").to_arrow()["id"].to_pylist())


def test_paths_of_a_read_are_refused_while_some_rows_have_none(ledger: Ledger, table: str) -> None:
    with pytest.raises(UnreadableTableError, match="lakeledger table optimize"):
        _ = ledger.read(table).paths
    ledger.optimize(table)
    assert len(ledger.read(table).paths) == 1


def test_a_vacuum_looks_for_no_block(ledger: Ledger, table: str, tmp_path: Path) -> None:
    ledger.delete(table, "id = 1")
    everything = [file.path for file in ledger.read(table)]
    reads, number = ledger.reads(), ledger.table(table).table
    assert not any(file.rows for file in reads.released_files(number, 100))
    assert ledger.vacuum(table, older_than_h=0.0, only=everything).files == []
    (gone,) = ledger.vacuum(table, older_than_h=0.0).files
    assert not list((tmp_path / "t").rglob("rows:*"))
    assert not gone.path.startswith("rows:")
    assert ids(ledger, table) == [0, 2]


def test_a_dropped_table_comes_back_with_its_blocks(ledger: Ledger, table: str) -> None:
    ledger.drop_table(table)
    ledger.vacuum_all(older_than_h=24.0)
    assert ids(ledger, ledger.undrop_table(table).name) == [0, 1, 2]


def test_blocks_of_aborted_txns_leave_nothing(ledger: Ledger, table: str, tmp_path: Path) -> None:
    before = sorted((tmp_path / "t").rglob("*"))
    txn = ledger.begin()
    txn.insert(table, [{"id": 7}, {"id": 8}])
    txn.delete(table, "id = 7")
    assert txn.scan(table, "id = 8").count() == 1
    txn.abort("no longer wanted")
    assert sorted((tmp_path / "t").rglob("*")) == before
    assert ids(ledger, table) == [0, 1, 2]


def test_a_block_is_removed_by_its_path(ledger: Ledger, table: str) -> None:
    first = next(file for file in ledger.read(table) if file.rows)
    with ledger.transaction() as txn:
        txn.read(table)
        txn.remove_files(table, [RemoveFile(first.path)])
    assert len(ids(ledger, table)) == 2
