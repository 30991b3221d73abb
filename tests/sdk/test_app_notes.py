"""What an application notes with its progress comes back with it, from every reader."""

import json
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile


def test_the_newest_note_counts_in_each_table_of_the_commit(ledger: Ledger) -> None:
    first, second = (ledger.create_table(name).table for name in ("db.a", "db.b"))
    for version, tables in ((3, [first, second]), (4, [first])):
        with ledger.transaction() as txn:
            txn.app("etl", version, tables=tables, info={"offsets": {"topic": {"0": version}}})
            txn.app("other", version)
            txn.add_files(first, [AddFile(f"{version}.parquet")])
    found = {(each.app, each.table.table): each for each in ledger.progress()}
    assert [*found] == [("etl", first), ("other", first), ("etl", second), ("other", second)]
    assert found["etl", first].version == 4
    assert found["etl", first].info == {"offsets": {"topic": {"0": 4}}}
    assert found["etl", second].info == {"offsets": {"topic": {"0": 3}}}
    assert found["etl", first].at > 0
    assert found["other", first].info == {}
    assert [each.table.name for each in ledger.progress("etl")] == ["db.a", "db.b"]
    assert ledger.progress("unknown") == []
    ledger.drop_table(second)
    assert [each.table.name for each in ledger.progress("etl")] == ["db.a"]


def test_a_commit_in_several_records_has_its_note_once(ledger: Ledger) -> None:
    table = ledger.create_table("db.a").table
    with ledger.transaction() as txn:
        txn.app("etl", 1, info={"offsets": ["x" * 9_000]})
        txn.add_files(table, [AddFile(f"{'p' * 200}{number}") for number in range(20_000)])
    assert [each.info for each in ledger.progress("etl")] == [{"offsets": ["x" * 9_000]}]


def test_progress_of_a_plain_append_has_no_note(ledger: Ledger) -> None:
    table = ledger.create_table("db.a").table
    ledger.append(table, ["1.parquet"], app=("plain", 1))
    with ledger.transaction() as txn:
        txn.app("etl", 1, tables=[table], info={"at": 1})
    with ledger.transaction() as again:
        again.app("etl", 1, tables=[table], info={"at": 2})
    assert again.receipt is not None
    assert again.receipt.skipped
    assert {each.app: each.info for each in ledger.progress()} == {"plain": {}, "etl": {"at": 1}}


@pytest.mark.parametrize(
    ("info", "error", "why"),
    [
        ([1], TypeError, r"must be a dict, got \[1\]"),
        ({"a": object()}, TypeError, "JSON"),
        ({"a": float("nan")}, ValueError, "JSON"),
        ({"a": "x" * 200_000}, ValueError, "150000 characters at most"),
    ],
)
def test_note_that_is_none(ledger: Ledger, info: Any, error: type[Exception], why: str) -> None:
    """A note that no record takes is refused, and nothing is recorded."""
    table = ledger.create_table("db.a").table
    with ledger.transaction() as txn:
        with pytest.raises(error, match=why):
            txn.app("etl", 1, tables=[table], info=info)
        txn.abort()
    assert ledger.progress() == []


def test_a_commit_notes_what_another_system_knows_of_it_beside_the_progress(ledger: Ledger) -> None:
    table = ledger.create_table("db.a").table
    with ledger.transaction() as txn:
        txn.add_files(table, ["1.parquet"])
        txn.app("etl", 1, info={"at": 1})
        txn.note(table, "other", {"id": 7})
        txn.note(table, "more", {"id": 8})
    newest = ledger.reads().version_row(table)
    assert newest is not None
    assert json.loads(newest.info) == {
        "applications": {"etl": {"at": 1}},
        "more": {"id": 8},
        "other": {"id": 7},
    }


def test_a_table_that_is_not_written_keeps_no_note(ledger: Ledger) -> None:
    table, other = (ledger.create_table(name).table for name in ("db.a", "db.b"))
    with ledger.transaction() as txn:
        txn.note(table, "other", {"id": 7})
        txn.add_files(other, ["1.parquet"])
    newest = ledger.reads().version_row(table)
    assert newest is not None
    assert (newest.version, newest.info) == (0, "")


@pytest.mark.parametrize("key", ["", "applications", "operationMetrics"])
def test_a_note_has_a_key_of_its_own(ledger: Ledger, key: str) -> None:
    table = ledger.create_table("db.a").table
    with ledger.transaction() as txn:
        with pytest.raises(ValueError, match="the key of a note"):
            txn.note(table, key, {})
        txn.abort()
