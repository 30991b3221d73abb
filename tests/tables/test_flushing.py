"""A flush puts rows of the log into files, and changes nothing else."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.files.rows.blocks import block_of
from ledger.log.wire.file_list import AddFile

NAME = "db.small"
COLUMNS = [("id", "bigint"), ("kind", "string")]
MARKS = {"lakeledger.inline": "on", "lakeledger.rows": "marks"}
MANY = 30_000


def create(ledger: Ledger, folder: Path, by: str = "", **properties: str) -> None:
    said = properties or MARKS
    parts = [by] if by else []
    ledger.create_table(NAME, COLUMNS, location=folder, partition_columns=parts, properties=said)


def append(ledger: Ledger, *ids: int, kind: str = "a") -> None:
    ledger.append(NAME, [{"id": key, "kind": kind} for key in ids])


def rows(ledger: Ledger, **place: Any) -> list[tuple[int, str]]:
    found = ledger.scan(NAME, **place).to_arrow().to_pylist()
    return sorted((row["id"], row["kind"]) for row in found)


def in_log(ledger: Ledger) -> tuple[int, int]:
    found = ledger.reads().blocks(ledger.table(NAME).table)
    return (found[0].blocks, found[0].rows) if found else (0, 0)


def net_changes(ledger: Ledger) -> Counter[Any]:
    found = ledger.changes(NAME, after=0).rows()
    seen = (
        (row["_change_type"], row["id"], row["_commit_version"])
        for row in pa.Table.from_batches(list(found)).to_pylist()
    )
    return Counter(seen)


def test_a_flush_moves_all_rows_of_the_log_into_one_file(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path)
    for key in range(5):
        append(ledger, 2 * key, 2 * key + 1)
    before, changes = rows(ledger), net_changes(ledger)
    assert in_log(ledger) == (5, 10)
    with ledger.transaction() as txn:
        found = txn.flush(NAME)
    assert (found.removed, found.added) == (5, 1)
    assert in_log(ledger) == (0, 0)
    assert not any(file.rows for file in ledger.read(NAME))
    assert ledger.scan(NAME).to_arrow()["id"].to_pylist() == list(range(10))
    assert (rows(ledger), net_changes(ledger)) == (before, changes)
    newest, *_ = ledger.history(NAME)
    assert newest.operation == "FLUSH"


def test_a_flush_writes_one_file_for_each_partition(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path, "kind")
    for key in range(6):
        append(ledger, key, kind="abc"[key % 3])
    with ledger.transaction() as txn:
        found = txn.flush(NAME)
    assert (found.removed, found.added) == (6, 3)
    assert len(ledger.read(NAME)) == 3


def test_a_flush_without_rows_in_the_log_commits_nothing(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path)
    with ledger.transaction() as txn:
        assert txn.flush(NAME).removed == 0
    assert ledger.table(NAME).version == 0


@pytest.mark.parametrize("grain", ["marks", "rewrite"])
def test_blocks_of_other_columns_and_with_deleted_rows_keep_their_rows(
    ledger: Ledger, tmp_path: Path, grain: str
) -> None:
    create(ledger, tmp_path, **{"lakeledger.inline": "on", "lakeledger.rows": grain})
    for key in range(0, 12, 2):
        append(ledger, key, key + 1)
        if key == 4:
            ledger.alter_table(NAME, columns=[*COLUMNS, ("more", "int")])
    ledger.run(lambda txn: txn.delete(NAME, "id IN (3, 10)"))
    before, changes = rows(ledger), net_changes(ledger)
    ledger.run(lambda txn: txn.flush(NAME))
    assert in_log(ledger) == (0, 0)
    found = ledger.scan(NAME).to_arrow()
    ids = [key for key in range(12) if key not in (3, 10)]
    assert sorted(found["id"].to_pylist()) == ids
    assert found["more"].null_count == len(ids)
    assert (rows(ledger), net_changes(ledger)) == (before, changes)


def test_earlier_versions_show_the_same_rows_after_a_flush(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path)
    for key in range(4):
        append(ledger, key)
    with ledger.transaction() as txn:
        txn.flush(NAME)
    for version in range(5):
        assert rows(ledger, version=version) == [(key, "a") for key in range(version)]


def test_rows_marked_while_a_flush_runs_are_deleted_in_the_file(
    ledger: Ledger, tmp_path: Path
) -> None:
    create(ledger, tmp_path)
    append(ledger, *range(10))
    append(ledger, *range(10, 20))
    flush = ledger.begin()
    flush.flush(NAME)
    ledger.run(lambda txn: txn.delete(NAME, "id IN (3, 14)"))
    append(ledger, 20)
    flush.commit()
    assert rows(ledger) == [(key, "a") for key in range(21) if key not in (3, 14)]
    assert in_log(ledger) == (1, 1)


def test_a_statement_that_began_before_a_flush_is_not_lost(ledger: Ledger, tmp_path: Path) -> None:
    create(ledger, tmp_path)
    append(ledger, *range(10))
    late = ledger.begin()
    late.update(NAME, {"kind": "'late'"}, "id = 5")
    ledger.run(lambda txn: txn.flush(NAME))
    late.commit()
    assert rows(ledger) == [(key, "late" if key == 5 else "a") for key in range(10)]


@pytest.mark.parametrize("grain", ["marks", "rewrite"])
def test_two_flushes_of_the_same_rows_double_none(
    ledger: Ledger, tmp_path: Path, grain: str
) -> None:
    create(ledger, tmp_path, **{"lakeledger.inline": "on", "lakeledger.rows": grain})
    for key in range(3):
        append(ledger, key)
    first, second = ledger.begin(), ledger.begin()
    first.flush(NAME)
    second.flush(NAME)
    first.commit()
    try:
        second.commit()
    except ConflictError:
        assert grain == "rewrite"
    assert rows(ledger) == [(key, "a") for key in range(3)]
    assert in_log(ledger) == (0, 0)
    assert len(ledger.read(NAME)) == 1


def test_a_flush_of_very_many_blocks_leaves_two_files_at_most(
    ledger: Ledger, tmp_path: Path
) -> None:
    create(ledger, tmp_path)
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("kind", pa.string())])
    append(ledger, 0)
    (file,) = ledger.read(NAME)
    schema = pa.ipc.open_stream(file.rows).schema
    blocks = []
    for key in range(1, MANY):
        data = block_of(pa.table([[key], ["a"]], schema=schema))
        path, stats = f"rows:{key:05}", '{"numRecords":1}'
        blocks.append(AddFile(path, (), len(data), 1, stats=stats, rows=data))
    ledger.append(NAME, blocks)
    assert in_log(ledger) == (MANY, MANY)
    found = ledger.run(lambda txn: txn.flush(NAME))
    assert found.removed == MANY
    assert len(ledger.read(NAME)) <= 2
    assert ledger.scan(NAME).count() == MANY
    assert sum(ledger.scan(NAME, columns=["id"]).to_arrow()["id"].to_pylist()) == sum(range(MANY))
