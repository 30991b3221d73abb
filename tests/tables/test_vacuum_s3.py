"""A vacuum of a table in S3, under every scheme and spelling that names it."""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from pyarrow import fs

from ledger.client import Ledger
from ledger.log.file_list import AddFile
from ledger.tables.storage import storage_at
from ledger.tables.vacuum import Vacuum

TABLE = "flights"
LATER_MS = 4_000_000_000_000


@pytest.fixture
def bucket() -> Iterator[str]:
    """Run a server of S3 on loopback, and return an empty bucket in it."""
    pytest.importorskip("moto", reason="the S3 server of the tests is not installed")
    pytest.importorskip("flask", reason="the S3 server of the tests is not installed")
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - not installed everywhere

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    given = {
        "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        endpoint = f"{host}:{port}"
        client = fs.S3FileSystem(
            endpoint_override=endpoint, scheme="http", allow_bucket_creation=True
        )
        name = f"lake-{uuid4().hex[:8]}"
        client.create_dir(name)
        yield name
    finally:
        for variable, value in before.items():
            os.environ.pop(variable)
            if value is not None:
                os.environ[variable] = value
        server.stop()


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_spellings(ledger: Ledger, bucket: str, scheme: str) -> None:
    """Live objects stay however their paths are written; others go, and none of another prefix."""
    storage = storage_at(f"s3://{bucket}/flights")
    names = ["day=1/a.parquet", "b.parquet", "day=1/x y.parquet", "gone.parquet", "orphan.parquet"]
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
    assert [(each.path, each.why) for each in found.files] == [
        ("gone.parquet", "released"),
        ("orphan.parquet", "orphan"),
    ]
    assert sorted(each.path for each in storage.list()) == sorted(names[:3])
    assert len(list(storage_at(f"s3://{bucket}/flights-2").list())) == 1
