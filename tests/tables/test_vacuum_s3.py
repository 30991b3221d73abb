"""A vacuum of a table in S3, under every scheme and spelling that names it."""

import pytest

from ledger.client import Ledger
from ledger.files.file_writers import FileWriter
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile
from ledger.tables.vacuum import Vacuum

TABLE = "flights"
LATER_MS = 4_000_000_000_000
"""Ages are counted from the clock of the storage, which is earlier."""


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_live_objects_stay_however_spelled(ledger: Ledger, bucket: str, scheme: str) -> None:
    storage = storage_at(f"s3://{bucket}/flights")
    txn = ledger.begin()
    txn.abort()
    orphan = f"{FileWriter.of(ledger.id, txn.id, txn.opened, txn.opened_at).drawn()}-0.parquet"
    names = ["day=1/a.parquet", "b.parquet", "day=1/x y.parquet", "gone.parquet", orphan]
    names += ["young.parquet"]
    for name in names:
        storage.write(name, b"rows")
    storage_at(f"s3://{bucket}/flights-2").write("other.parquet", b"rows")
    location = f"{scheme}://{bucket}/flights"
    row = ledger.create_table(TABLE, [("tail", "string")], location=location)
    paths = ["day=1/a.parquet", f"s3://{bucket}/flights//b.parquet", "day=1/x%20y.parquet"]
    ledger.append(TABLE, [AddFile(each) for each in [*paths, "gone.parquet"]])
    with ledger.transaction() as txn:
        txn.read(TABLE)
        txn.remove_files(TABLE, ["gone.parquet"])

    found = Vacuum(ledger.reads(), row, 0, LATER_MS).run()
    assert [(file.path, file.why) for file in found.files] == [
        (orphan, "orphan"),
        ("gone.parquet", "released"),
    ]
    assert sorted(each.path for each in storage.list()) == sorted([*names[:3], names[-1]])
    assert len(list(storage_at(f"s3://{bucket}/flights-2").list())) == 1
