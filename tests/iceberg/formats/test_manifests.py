"""Manifests and their lists: other programs read what is written, and what they write is read."""

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile as TheirFile
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestEntryStatus
from pyiceberg.manifest import ManifestContent as TheirContent
from pyiceberg.manifest import ManifestEntry as TheirEntry
from pyiceberg.manifest import read_manifest_list as read_their_list
from pyiceberg.manifest import write_manifest as write_theirs
from pyiceberg.manifest import write_manifest_list as write_their_list
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

from ledger.iceberg.limits import IcebergFormatError, ReadLimits
from ledger.iceberg.manifests import (
    ADDED,
    DATA,
    DELETED,
    EQUALITY_DELETES,
    EXISTING,
    POSITION_DELETES,
    Content,
    FieldSummary,
    ManifestEntry,
    ManifestFile,
    inherited,
    manifest_bytes,
    manifest_file,
    manifest_list_bytes,
    read_manifest,
    read_manifest_list,
)

SCHEMA = {
    "type": "struct",
    "schema-id": 5,
    "fields": [
        {"id": 1, "name": "id", "required": True, "type": "long"},
        {"id": 2, "name": "day", "required": False, "type": "date"},
        {"id": 3, "name": "price", "required": False, "type": "decimal(9, 2)"},
        {"id": 4, "name": "odd-name 1", "required": False, "type": "string"},
        {"id": 5, "name": "cost", "required": False, "type": "decimal(9, 2)"},
        {"id": 6, "name": "at", "required": False, "type": "timestamptz"},
        {"id": 7, "name": "ratio", "required": False, "type": "double"},
    ],
}
FIELDS = [
    {"source-id": 2, "field-id": 1000, "name": "day", "transform": "identity"},
    {"source-id": 3, "field-id": 1001, "name": "price", "transform": "identity"},
    {"source-id": 4, "field-id": 1004, "name": "odd-name 1", "transform": "identity"},
    {"source-id": 5, "field-id": 1003, "name": "cost", "transform": "identity"},
    {"source-id": 6, "field-id": 1005, "name": "at_hour", "transform": "hour"},
    {"source-id": 7, "field-id": 1006, "name": "ratio", "transform": "identity"},
    {"source-id": 1, "field-id": 1007, "name": "id_bucket", "transform": "bucket[8]"},
    {"source-id": 6, "field-id": 1008, "name": "gone", "transform": "void"},
]
SPEC = {"spec-id": 3, "fields": FIELDS}
UNPARTITIONED: dict[str, Any] = {"spec-id": 0, "fields": []}
IO = PyArrowFileIO()

NUMBERS = st.integers(0, 2**63 - 1)
COUNTS = st.none() | st.dictionaries(st.integers(1, 300), NUMBERS, max_size=4)
BOUNDS = st.none() | st.dictionaries(st.integers(1, 300), st.binary(max_size=9), max_size=4)
TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1)
PARTITIONS = st.fixed_dictionaries(
    {
        1000: st.none() | st.integers(-(2**31), 2**31 - 1),
        1001: st.none() | st.integers(-(10**8), 10**8).map(lambda n: n.to_bytes(4, signed=True)),
        1004: st.none() | TEXTS,
        1003: st.none() | st.integers(-99, 99).map(lambda n: n.to_bytes(4, signed=True)),
        1005: st.none() | st.integers(-9999, 9999),
        1006: st.none() | st.floats(allow_nan=False),
        1007: st.none() | st.integers(0, 7),
        1008: st.none(),
    }
)  # fmt: skip


def entries(content: Content, version: int) -> st.SearchStrategy[ManifestEntry]:
    kinds = [DATA] if content == "data" else [POSITION_DELETES, EQUALITY_DELETES]
    later = st.none() | NUMBERS if version >= 3 else st.none()
    return st.builds(
        ManifestEntry,
        status=st.sampled_from([EXISTING, ADDED, DELETED]),
        snapshot_id=st.none() | st.integers(-(2**63), 2**63 - 1),
        sequence_number=st.none() | NUMBERS,
        file_sequence_number=st.none() | NUMBERS,
        path=TEXTS,
        record_count=NUMBERS,
        size=NUMBERS,
        partition=PARTITIONS,
        content=st.sampled_from(kinds),
        file_format=st.sampled_from(["PARQUET", "PUFFIN", "ORC", "AVRO"]),
        column_sizes=COUNTS,
        value_counts=COUNTS,
        null_value_counts=COUNTS,
        nan_value_counts=COUNTS,
        lower_bounds=BOUNDS,
        upper_bounds=BOUNDS,
        key_metadata=st.none() | st.binary(max_size=4),
        split_offsets=st.none() | st.lists(NUMBERS, max_size=3),
        equality_ids=st.none() | st.lists(st.integers(1, 9), max_size=3),
        sort_order_id=st.none() | st.integers(0, 9),
        first_row_id=later,
        referenced_data_file=st.none() | TEXTS,
        content_offset=later,
        content_size=later,
    )


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("content", ["data", "deletes"])
def test_a_manifest_comes_back_and_its_bytes_are_a_function(content: Content, version: int) -> None:
    @given(given_=st.lists(entries(content, version), max_size=4))
    @settings(deadline=None, max_examples=60)
    def is_alike(given_: list[ManifestEntry]) -> None:
        data = manifest_bytes(given_, SPEC, SCHEMA, content, version)
        again = manifest_bytes(iter(given_), dict(SPEC), dict(SCHEMA), content, version)
        found = read_manifest(data)

        assert data == again
        assert list(found.entries) == given_
        assert found[1:] == (3, SPEC, SCHEMA, content, version)

    is_alike()


def entry(number: int, **changes: Any) -> ManifestEntry:
    partition = {
        1000: number,
        1001: number.to_bytes(4, signed=True),
        1004: f"text {number}",
        1003: (-number).to_bytes(4, signed=True),
        1005: 400_000 + number,
        1006: number / 4,
        1007: number % 8,
        1008: None,
    }
    made = ManifestEntry(ADDED, 77, None, None, f"/t/{number}.parquet", 10, 500, partition)
    return made._replace(**changes)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_pyiceberg_reads_what_is_written(tmp_path: Path, version: int) -> None:
    given_ = [
        entry(
            5,
            lower_bounds={1: bytes(8)},
            upper_bounds={1: b"\1" + bytes(7)},
            value_counts={1: 10, 2: 10},
            null_value_counts={1: 0},
            nan_value_counts={7: 1},
            split_offsets=[4, 400],
            sort_order_id=2,
        ),
        entry(-3, status=EXISTING, snapshot_id=5, sequence_number=2, file_sequence_number=1),
        entry(4, status=DELETED, snapshot_id=77, sequence_number=2, file_sequence_number=2),
    ]
    path = tmp_path / "m.avro"
    data = manifest_bytes(given_, SPEC, SCHEMA, "data", version)
    path.write_bytes(data)
    line = manifest_file(
        str(path), data, given_, spec=SPEC, schema=SCHEMA, content="data",
        snapshot_id=77, sequence_number=9,
    )  # fmt: skip
    listed = tmp_path / "l.avro"
    listed.write_bytes(
        manifest_list_bytes(
            [line], snapshot_id=77, parent_snapshot_id=5, sequence_number=9, format_version=version
        )
    )
    (theirs,) = read_their_list(IO.new_input(str(listed)))
    found = theirs.fetch_manifest_entry(IO, discard_deleted=False)

    assert theirs.manifest_length == len(data)
    assert (theirs.partition_spec_id, theirs.content) == (3, TheirContent.DATA)
    assert (theirs.sequence_number, theirs.min_sequence_number) == (
        (0, 0) if version == 1 else (9, 2)
    )
    assert (theirs.added_files_count, theirs.added_rows_count) == (1, 10)
    assert (theirs.existing_files_count, theirs.deleted_files_count) == (1, 1)
    assert [each.data_file.file_path for each in found] == [each.path for each in given_]
    assert [each.sequence_number for each in found] == ([0] * 3 if version == 1 else [9, 2, 2])
    assert [each.snapshot_id for each in found] == [77, 5, 77]
    first = found[0].data_file
    assert first.lower_bounds == {1: bytes(8)}
    assert first.null_value_counts == {1: 0}
    assert first.split_offsets == [4, 400]
    assert [first.partition[at] for at in (0, 2, 4, 5, 6)] == [5, "text 5", 400_005, 1.25, 5]
    assert [str(first.partition[at]) for at in (1, 3)] == ["0.05", "-0.05"]
    assert line.partitions is not None
    assert line.partitions[1] == FieldSummary(False, False, b"\xfd", b"\x05")  # noqa: FBT003
    assert line.partitions[2] == FieldSummary(False, False, b"text -3", b"text 5")  # noqa: FBT003
    assert line.partitions[7] == FieldSummary(True, False)  # noqa: FBT003


@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard"])
@pytest.mark.parametrize("version", [1, 2])
def test_what_pyiceberg_writes_is_read(tmp_path: Path, version: Any, codec: Any) -> None:
    spec = PartitionSpec.model_validate({"spec-id": 3, "fields": FIELDS[:1]})
    path, listed = tmp_path / "m.avro", tmp_path / "l.avro"
    with write_theirs(
        version, spec, Schema.model_validate(SCHEMA), IO.new_output(str(path)), 77, codec
    ) as writer:
        for number in range(3):
            file = TheirFile.from_args(
                file_path=f"/t/{number}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(number),
                record_count=number,
                file_size_in_bytes=8,
                lower_bounds={1: bytes(8)},
                split_offsets=[4],
                content=DataFileContent.DATA,
            )
            writer.add_entry(
                TheirEntry.from_args(
                    status=ManifestEntryStatus.ADDED, snapshot_id=77, data_file=file
                )
            )
    with write_their_list(version, IO.new_output(str(listed)), 77, 5, 9, codec) as lister:
        lister.add_manifests([writer.to_manifest_file()])
    (line,) = read_manifest_list(listed.read_bytes())
    manifest = read_manifest(path.read_bytes())
    found = inherited(manifest.entries, line)

    assert (line.path, line.length) == (str(path), path.stat().st_size)
    assert (line.added_files, line.added_rows, line.added_snapshot_id) == (3, 3, 77)
    assert line.sequence_number == (9 if version == 2 else 0)
    assert (manifest.spec_id, manifest.format_version, manifest.content) == (3, version, "data")
    assert manifest.spec["fields"] == FIELDS[:1]
    assert [each.path for each in found] == ["/t/0.parquet", "/t/1.parquet", "/t/2.parquet"]
    assert [each.partition for each in found] == [{1000: 0}, {1000: 1}, {1000: 2}]
    assert {each.sequence_number for each in found} == {line.sequence_number}
    assert {each.snapshot_id for each in found} == {77}
    assert found[0].lower_bounds == {1: bytes(8)}


def test_fastavro_reads_names_that_avro_takes() -> None:
    data = manifest_bytes([entry(1)], SPEC, SCHEMA, "data", 2)
    reader = fastavro.reader(io.BytesIO(data))
    schema: Any = json.loads(reader.metadata["avro.schema"])
    record: Any = next(reader)
    names = list(record["data_file"]["partition"])

    assert names == [
        *("day", "price", "odd_x2Dname_x201", "cost", "at_hour", "ratio", "id_bucket", "gone")
    ]
    partition = schema["fields"][4]["type"]["fields"][3]["type"]["fields"]
    assert partition[2]["iceberg-field-name"] == "odd-name 1"
    assert json.loads(reader.metadata["partition-spec"]) == FIELDS
    assert reader.metadata["schema-id"] == "5"
    assert "content_offset" not in record["data_file"]


@given(
    given_=st.lists(
        st.builds(
            ManifestFile,
            path=TEXTS,
            length=NUMBERS,
            spec_id=st.integers(0, 2**31 - 1),
            content=st.sampled_from(["data", "deletes"]),
            sequence_number=NUMBERS,
            min_sequence_number=NUMBERS,
            added_snapshot_id=st.integers(-(2**63), 2**63 - 1),
            added_files=st.integers(0, 2**31 - 1),
            existing_files=st.integers(0, 2**31 - 1),
            deleted_files=st.integers(0, 2**31 - 1),
            added_rows=NUMBERS,
            existing_rows=NUMBERS,
            deleted_rows=NUMBERS,
            partitions=st.none()
            | st.lists(
                st.builds(
                    FieldSummary,
                    st.booleans(),
                    st.none() | st.booleans(),
                    st.none() | st.binary(max_size=4),
                    st.none() | st.binary(max_size=4),
                ),
                max_size=3,
            ),
            key_metadata=st.none() | st.binary(max_size=3),
            first_row_id=st.none() | NUMBERS,
        ),
        max_size=4,
    )
)
@settings(deadline=None, max_examples=60)
def test_a_list_comes_back(given_: list[ManifestFile]) -> None:
    for version in (2, 3):
        wanted = [each if version == 3 else each._replace(first_row_id=None) for each in given_]
        data = manifest_list_bytes(
            given_,
            snapshot_id=1,
            parent_snapshot_id=None,
            sequence_number=1,
            format_version=version,
        )
        assert read_manifest_list(data) == wanted


LINE = ManifestFile("/m", 1, 0, "data", 9, 2, 77, 1, 1, 1, 1, 1, 1, first_row_id=100)


def test_entries_have_what_their_manifest_has() -> None:
    given_ = [
        entry(1, snapshot_id=None, record_count=7),
        entry(2, status=EXISTING, sequence_number=3, file_sequence_number=3, record_count=5),
        entry(3, status=EXISTING, sequence_number=3, first_row_id=4),
        entry(4, record_count=2),
    ]
    found = inherited(given_, LINE)

    assert [each.snapshot_id for each in found] == [77, 77, 77, 77]
    assert [each.sequence_number for each in found] == [9, 3, 3, 9]
    assert [each.file_sequence_number for each in found] == [9, 3, None, 9]
    assert [each.first_row_id for each in found] == [100, 107, 4, 112]
    with pytest.raises(IcebergFormatError, match="sequence number of its own"):
        inherited([entry(1, status=EXISTING)], LINE)


@pytest.mark.parametrize(
    "limits",
    [
        ReadLimits(bytes=20_000, entries=10_000, items=10_000),
        ReadLimits(bytes=1 << 30, entries=999, items=10_000),
        ReadLimits(bytes=1 << 30, entries=10_000, items=1999),
    ],
)
def test_a_manifest_beyond_its_limits_is_refused(limits: ReadLimits) -> None:
    """A file of a few bytes may have many more when it is decompressed."""
    many = [entry(1, value_counts={1: 1, 2: 2})] * 1000
    data = manifest_bytes(many, SPEC, SCHEMA, "data", 2)

    assert len(data) < 20_000
    assert len(read_manifest(data).entries) == 1000
    with pytest.raises(IcebergFormatError, match=r"at most|too many"):
        read_manifest(data, limits)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": 3},
        {"status": -1},
        {"content": 3},
        {"content": POSITION_DELETES},
        {"path": ""},
        {"path": "a\0b"},
        {"record_count": -1},
        {"size": -1},
        {"sequence_number": -1},
        {"file_format": ""},
    ],
)
def test_an_odd_entry_is_refused(changes: dict[str, Any]) -> None:
    data = manifest_bytes([entry(1, **changes)], SPEC, SCHEMA, "data", 2)
    with pytest.raises(IcebergFormatError):
        read_manifest(data)
