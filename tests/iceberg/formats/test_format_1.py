"""Manifests and lists of format 1, which lack what later formats have."""

import io
from typing import Any

import fastavro
import pytest

from ledger.iceberg.limits import IcebergFormatError
from ledger.iceberg.manifests import (
    DELETED,
    manifest_bytes,
    manifest_list_bytes,
    read_manifest,
    read_manifest_list,
)
from tests.iceberg.formats.test_manifests import LINE, SCHEMA, SPEC, entry


def test_a_manifest_of_format_1_comes_back_without_what_the_format_lacks() -> None:
    """Avro's schema has the fields of format 1 alone, and the header says nothing of deletes."""
    given_ = [
        entry(1, split_offsets=[4], equality_ids=[2], referenced_data_file="/x"),
        entry(2, status=DELETED, sequence_number=9, file_sequence_number=9),
    ]
    data = manifest_bytes(given_, SPEC, SCHEMA, "data", 1)
    found = read_manifest(data)
    reader = fastavro.reader(io.BytesIO(data))
    record: Any = next(reader)
    first = given_[0]._replace(equality_ids=None, referenced_data_file=None)

    assert list(found.entries) == [
        each._replace(sequence_number=0, file_sequence_number=0) for each in (first, given_[1])
    ]
    assert found[1:] == (3, SPEC, SCHEMA, "data", 1)
    assert set(record) == {"status", "snapshot_id", "data_file"}
    assert record["data_file"]["block_size_in_bytes"] > 0
    assert not {"content", "equality_ids", "referenced_data_file"} & set(record["data_file"])
    assert "content" not in reader.metadata
    with pytest.raises((TypeError, ValueError)):
        manifest_bytes([entry(1, snapshot_id=None)], SPEC, SCHEMA, "data", 1)


def test_a_list_of_format_1_has_no_sequence_numbers() -> None:
    data = manifest_list_bytes(
        [LINE], snapshot_id=1, parent_snapshot_id=None, sequence_number=9, format_version=1
    )
    reader = fastavro.reader(io.BytesIO(data))
    record: Any = next(reader)

    assert not {"content", "sequence_number", "min_sequence_number"} & set(record)
    assert "sequence-number" not in reader.metadata
    assert read_manifest_list(data) == [
        LINE._replace(sequence_number=0, min_sequence_number=0, first_row_id=None)
    ]


def test_a_manifest_of_deletes_in_format_1_is_refused() -> None:
    data = manifest_bytes([], SPEC, SCHEMA, "deletes", 2)
    old = data.replace(b"\x1cformat-version\x022", b"\x1cformat-version\x021")
    assert old != data
    with pytest.raises(IcebergFormatError, match="format 1 must have data files only"):
        read_manifest(old)
