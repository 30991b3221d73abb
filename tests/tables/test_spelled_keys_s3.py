"""Keys of an object store: taken letter by letter, by data files and the published log alike."""

import os

import pytest
from pyarrow import fs

from ledger.client import Ledger
from ledger.testing import InMemoryLedger
from tests.tables.published_lake import PUBLISHED, publish

pytest.importorskip("obstore", reason="the client of S3 is not installed")


@pytest.mark.parametrize("key", ["my lake", "a%20b", "100%", "a+b", "flüge", "a#b", "~[x]"])
def test_no_escape_after_the_bucket_is_decoded_and_none_is_added(
    memory: InMemoryLedger, ledger: Ledger, bucket: str, key: str
) -> None:
    location = f"s3://{bucket}/lake/{key}/"
    ledger.create_table("t", [("id", "bigint")], location=location, properties=PUBLISHED)
    ledger.append("t", [{"id": 1}])
    assert publish(memory.log).written == 2
    endpoint = os.environ["AWS_ENDPOINT_URL_S3"].removeprefix("http://")
    system = fs.S3FileSystem(endpoint_override=endpoint, scheme="http")
    found = system.get_file_info(fs.FileSelector(f"{bucket}/lake", recursive=True))
    assert len(found) > 2
    assert {each.path.split("/")[2] for each in found} == {key}
    assert ledger.scan("t").to_arrow().num_rows == 1
