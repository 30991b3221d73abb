"""Published logs in S3: written once by any number of publishers, and read from there."""

import os
from collections.abc import Mapping

import pytest
from deltalake import DeltaTable

from ledger.client import Ledger
from ledger.errors import StorageError
from ledger.log.replay import Replay
from ledger.testing import InMemoryLedger
from projections.delta.log.object_log import ObjectLog, log_at
from projections.delta.verify import verify_log
from tests.tables.published_lake import PUBLISHED, publish

pytest.importorskip("obstore", reason="the client of S3 is not installed")


def options() -> Mapping[str, str]:
    """Return what another reader needs to reach the server of the tests."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")
    found = {name: os.environ[name] for name in names}
    return {**found, "AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL_S3"], "AWS_ALLOW_HTTP": "1"}


def test_another_reader_finds_the_rows(memory: InMemoryLedger, ledger: Ledger, bucket: str) -> None:
    location = f"s3://{bucket}/lake/t"
    properties = {**PUBLISHED, "delta.checkpointInterval": "2"}
    row = ledger.create_table("t", [("id", "bigint")], location=location, properties=properties)
    for number in range(3):
        ledger.append("t", [{"id": number}])
    assert [publish(memory.log).written for _ in range(2)] == [4, 0]

    table = DeltaTable(location, storage_options=dict(options()))
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == [0, 1, 2]
    log = log_at(location)
    assert isinstance(log, ObjectLog)
    assert len(log.names()) == 6
    assert verify_log(Replay(memory.log), row.table).is_clean

    log.replace(f"{3:020}.json", b"{}\n")
    (stopped,) = publish(memory.log).stopped.values()
    assert f"{location}/_delta_log/{3:020}.json" in stopped.reason


def test_an_object_that_is_set_aside_or_absent_is_not_of_the_log(bucket: str) -> None:
    log = log_at(f"s3a://{bucket}/a b/t")
    assert (log.names(), log.read("x"), log.has("x")) == ([], None, False)
    assert [log.put("x", b"1", 0), log.put("x", b"2", 0)] == [True, False]
    assert (log.read("x"), log.has("x"), log.names()) == (b"1", True, ["x"])
    kept = log.set_aside("x")
    assert kept.startswith(f"s3://{bucket}/a b/t/_delta_log/.x")
    assert log.names() == []
    log.delete("x")
    with pytest.raises(StorageError, match="NoSuchBucket"):
        ObjectLog(f"{bucket}-absent", "t").put("x", b"1", 0)
