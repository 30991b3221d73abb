"""What the tests of tables share: a ledger in memory, a client of it, and a bucket of S3."""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from pyarrow import fs

from tests.sdk.conftest import ledger, log, memory

__all__ = ["ledger", "log", "memory"]


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
