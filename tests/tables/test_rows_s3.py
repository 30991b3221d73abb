"""Rows of a table in S3: every statement, a vacuum and changes, as on a disk."""

from datetime import date
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.errors import StorageError, UnreadableTableError
from ledger.files.storage import storage_at

ODD = "a/b %20=é?"
ROWS: list[dict[str, Any]] = [
    {"id": 1, "place": ODD, "day": date(2024, 1, 1), "price": 1.5},
    {"id": 2, "place": "oslo", "day": date(2024, 1, 2), "price": None},
    {"id": 3, "place": None, "day": None, "price": 3.5},
]


def rows(
    ledger: Ledger, where: str | None = None, version: int | None = None
) -> list[dict[str, Any]]:
    found = ledger.scan("lake.t", where, version=version).to_arrow().to_pylist()
    return sorted(found, key=lambda each: each["id"])


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_rows_in_s3_are_read_at_each_version(ledger: Ledger, bucket: str, scheme: str) -> None:
    location = f"{scheme}://{bucket}/lake/t"
    ledger.create_table("lake.t", ROWS, partition_columns=["place"], location=location)
    assert rows(ledger) == ROWS
    assert rows(ledger, "price > 2 OR place = 'oslo'") == ROWS[1:]
    ledger.append("lake.t", [{**ROWS[0], "id": 4}])
    with ledger.transaction() as txn:
        txn.update("lake.t", {"price": "price + id"}, "id IN (1, 3)")
        txn.delete("lake.t", "place = 'oslo'")
        source = [{**ROWS[0], "id": 4, "price": 9.0}, {**ROWS[0], "id": 5}]
        txn.merge(
            "lake.t",
            source,
            "target.id = source.id",
            when_matched_update=True,
            when_not_matched_insert=True,
        )
        assert txn.scan("lake.t").count() == 4
    assert [(row["id"], row["price"]) for row in rows(ledger)] == [
        (1, 2.5),
        (3, 6.5),
        (4, 9.0),
        (5, 1.5),
    ]
    assert rows(ledger, version=0) == ROWS
    with ledger.transaction() as txn:
        txn.optimize("lake.t")
    assert len(ledger.read("lake.t").paths) == 2
    versions = [change.version for change in ledger.changes("lake.t", after=0)]
    assert versions == [1, 2, 3]


def test_a_vacuum_leaves_the_live_objects(ledger: Ledger, bucket: str) -> None:
    location = f"s3://{bucket}/lake/t"
    ledger.create_table("lake.t", ROWS, partition_columns=["place"], location=location)
    with ledger.transaction() as txn:
        txn.overwrite("lake.t", [{**ROWS[1], "id": 9}])
    assert len(list(storage_at(location).list())) == 4
    dry = ledger.vacuum("lake.t", older_than_h=0, dry_run=True)
    assert len(dry.files) == 3
    assert len(list(storage_at(location).list())) == 4
    ledger.vacuum("lake.t", older_than_h=0)
    assert [each.path for each in storage_at(location).list()] == ledger.read("lake.t").paths
    assert rows(ledger) == [{**ROWS[1], "id": 9}]


def test_an_aborted_write_leaves_no_object(ledger: Ledger, bucket: str) -> None:
    location = f"s3://{bucket}/lake/t"
    ledger.create_table("lake.t", ROWS[:1], location=location)
    with ledger.transaction() as txn:
        txn.insert("lake.t", ROWS[1:])
        assert len(list(storage_at(location).list())) == 2
        txn.abort()
    assert len(list(storage_at(location).list())) == 1
    assert rows(ledger) == ROWS[:1]


def test_errors_name_the_object(ledger: Ledger, bucket: str) -> None:
    location = f"s3://{bucket}/lake/t"
    ledger.create_table("lake.t", ROWS[:1], location=location)
    (path,) = ledger.read("lake.t").paths
    assert storage_at(location).delete(path)
    with pytest.raises(UnreadableTableError, match=f"{bucket}/lake/t/{path}"):
        rows(ledger)
    storage_at(location).write("x", b"1")
    with pytest.raises(FileExistsError, match="written once"):
        storage_at(location).write("x", b"2")
    with pytest.raises(StorageError, match=r"no-such-bucket.*endpoint"):
        storage_at("s3://no-such-bucket/t").write("x", b"1")
