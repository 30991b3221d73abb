"""Deleted rows: vectors in Puffin files, and position delete files; what is odd is refused."""

import json
import random
import struct
import zlib
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap, BitMap64

from ledger.core.rows.bitmaps import ROW_MAX
from ledger.files.deletion_vectors import bitmap
from ledger.iceberg.limits import DELETES_LIMITS, IcebergFormatError, ReadLimits
from ledger.iceberg.position_deletes import (
    SCHEMA,
    delete_bounds,
    position_delete_bytes,
    read_position_deletes,
)
from ledger.iceberg.puffin import (
    BlobPlace,
    VectorBlob,
    puffin_bytes,
    read_footer,
    read_vector,
    vector_bytes,
)

SETS = st.builds(
    lambda some, first, count, step: BitMap({*some, *range(first, first + count, step)}),
    st.sets(st.integers(0, 40) | st.integers(0, ROW_MAX), max_size=20),
    st.integers(0, 200_000),
    st.sampled_from([0, 5, 5000, 70_000]),
    st.sampled_from([1, 1, 2, 3]),
).filter(bool)
MUTATIONS = 4_000


@given(given_=st.lists(SETS, max_size=4))
@settings(deadline=None, max_examples=60)
def test_vectors_come_back_and_other_programs_read_them(given_: list[BitMap]) -> None:
    blobs = [VectorBlob(f"/t/ä {at}.parquet", rows) for at, rows in enumerate(given_)]
    data, places = puffin_bytes(blobs)

    assert (data, places) == puffin_bytes(iter(blobs))
    assert read_footer(data) == [
        (blob.path, place) for blob, place in zip(blobs, places, strict=True)
    ]
    slices = [data[each.offset : each.offset + each.length] for each in places]
    assert [read_vector(each) for each in slices] == given_
    # Delta's vector is the same bitmap with the same bytes around it.
    assert [bitmap(each[4:-4]) for each in slices] == [BitMap64(each) for each in given_]
    file = PuffinFile(data)
    found = deletion_vectors_from_puffin_file(file)
    assert [each.referenced_data_file for each in found] == [each.path for each in blobs]
    if sum(map(len, given_)) < 50_000:
        assert [each.to_vector().to_pylist() for each in found] == [list(each) for each in given_]
    assert {each.snapshot_id for each in file.footer.blobs} <= {-1}


@given(rows=SETS)
@settings(deadline=None, max_examples=40)
def test_a_vector_of_other_containers_is_read(rows: BitMap) -> None:
    """Libraries choose other forms of containers for the same rows."""
    for form in (rows.serialize(), BitMap64(rows).serialize()[12:]):
        content = struct.pack("<iQI", 1681511377, 1, 0) + form
        data = struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))
        assert read_vector(data) == rows


def test_a_vector_without_rows_is_read() -> None:
    assert read_vector(vector_bytes(BitMap())) == BitMap()


def blob(content: bytes, **changes: Any) -> bytes:
    size = changes.get("size", len(content))
    checksum = changes.get("checksum", zlib.crc32(content))
    return struct.pack(">I", size) + content + struct.pack(">I", checksum)


ONE = BitMap([3]).serialize()


@pytest.mark.parametrize(
    "data",
    [
        *(b"", bytes(3), bytes(8), bytes(100), blob(b"")),
        blob(struct.pack("<iQI", 1681511376, 1, 0) + ONE),
        blob(struct.pack("<iQI", 1681511377, 1, 1) + ONE),
        blob(struct.pack("<iQI", 1681511377, 2, 0) + ONE),
        blob(struct.pack("<iQI", 1681511377, 2**63, 0) + ONE),
        blob(struct.pack("<iQ", 1681511377, 0) + ONE),
        blob(struct.pack("<iQI", 1681511377, 1, 0) + ONE + b"\0"),
        blob(struct.pack("<iQI", 1681511377, 1, 0) + ONE[:-1]),
        blob(struct.pack("<iQI", 1681511377, 1, 0) + BitMap([2**31]).serialize()),
        blob(struct.pack("<iQI", 1681511377, 1, 0) + ONE, checksum=5),
        blob(struct.pack("<iQI", 1681511377, 1, 0) + ONE, size=4),
        vector_bytes(BitMap([1])) + b"\0",
        vector_bytes(BitMap([1]))[:-1],
    ],
)
def test_an_odd_vector_is_refused(data: bytes) -> None:
    with pytest.raises(IcebergFormatError):
        read_vector(data)


def footer(blobs: Any, *, flags: bytes = bytes(4), size: int | None = None) -> bytes:
    """Return a Puffin file with a footer of any kind."""
    text = (blobs if isinstance(blobs, str) else json.dumps(blobs)).encode()
    length = len(text) if size is None else size
    return b"PFA1" + bytes(50) + b"PFA1" + text + struct.pack("<i", length) + flags + b"PFA1"


ODD_PLACES: list[dict[str, Any]] = [
    *({"offset": 3}, {"offset": 5}, {"length": 51}, {"length": -1}, {"offset": None}),
    *({"offset": 10**30}, {"properties": {}}, {"properties": None}),
    {"compression-codec": "zstd"},
]
VECTOR = {
    "type": "deletion-vector-v1",
    "offset": 4,
    "length": 50,
    "properties": {"referenced-data-file": "/t/a"},
}


def test_blobs_of_other_types_are_left_out() -> None:
    other = {"type": "apache-datasketches-theta-v1", "offset": 4, "length": 9}
    assert read_footer(footer({"blobs": [other, VECTOR]})) == [("/t/a", BlobPlace(4, 50))]


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"PFA1", b"PFA1" * 5, bytes(100), footer("[]"), footer("{"), footer("[" * 5000)),
        *(footer({}), footer({"blobs": 5}), footer({"blobs": [5]})),
        *(footer({"blobs": []}, size=each) for each in (-1, 0, 1, 11, 2**31 - 1)),
        footer({"blobs": []}, flags=b"\1\0\0\0"),
        *(footer({"blobs": [VECTOR | changes]}) for changes in ODD_PLACES),
    ],
)
def test_an_odd_puffin_file_is_refused(data: bytes) -> None:
    with pytest.raises(IcebergFormatError):
        read_footer(data)


@given(rows=SETS)
@settings(deadline=None, max_examples=40)
def test_a_delete_file_comes_back(rows: BitMap) -> None:
    data = position_delete_bytes("/t/ä.parquet", rows)

    assert data == position_delete_bytes("/t/ä.parquet", BitMap(list(rows)))
    assert read_position_deletes(data) == {"/t/ä.parquet": rows}
    assert delete_bounds("/t/ä") == {2147483546: "/t/ä".encode()}
    schema = pq.ParquetFile(pa.BufferReader(data)).schema_arrow
    assert schema.equals(SCHEMA, check_metadata=True)


def parquet(columns: dict[str, Any], schema: Any = None, **options: Any) -> bytes:
    made = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=schema), made, **options)
    return bytes(made.getvalue())


def test_rows_of_many_files_in_any_order_are_read() -> None:
    draw = random.Random(3)  # noqa: S311 - a seed
    pairs = [(f"/t/{draw.randrange(300)}", draw.randrange(10**6)) for _ in range(200_000)]
    paths, rows = ([pair[at] for pair in pairs] for at in (0, 1))
    wanted: dict[str, BitMap] = {}
    for path, row in pairs:
        wanted.setdefault(path, BitMap()).add(row)
    extra = pa.array([{"a": 1}] * len(pairs))
    for columns in (
        {"file_path": paths, "pos": rows},
        {"pos": pa.array(rows, pa.int32()), "row": extra, "file_path": paths},
        {"file_path": pa.array(paths, pa.large_string()), "pos": rows},
    ):
        for options in ({"use_dictionary": False}, {"compression": "zstd"}):
            assert read_position_deletes(parquet(columns, **options)) == wanted
    renamed = pa.schema([SCHEMA.field(0).with_name("p"), SCHEMA.field(1).with_name("file_path")])
    assert read_position_deletes(parquet({"p": paths, "file_path": rows}, renamed)) == wanted


@pytest.mark.parametrize(
    "columns",
    [
        {"file_path": ["a"]},
        {"pos": [1]},
        {"file_path": [1], "pos": [1]},
        {"file_path": ["a"], "pos": ["1"]},
        {"file_path": ["a"], "pos": [1.0]},
        {"file_path": ["a"], "pos": [-1]},
        {"file_path": ["a"], "pos": [2**31]},
        {"file_path": ["a"], "pos": [2**62]},
        {"file_path": ["a", None], "pos": [1, 2]},
        {"file_path": ["a", "b"], "pos": [1, None]},
        {"file_path": [""], "pos": [1]},
        {"file_path": ["a\0"], "pos": [1]},
        {"file_path": [b"\xff"], "pos": [1]},
        {"file_path": [["a"]], "pos": [1]},
    ],
)
def test_an_odd_delete_file_is_refused(columns: dict[str, Any]) -> None:
    with pytest.raises(IcebergFormatError):
        read_position_deletes(parquet(columns))


def test_a_delete_file_beyond_its_limits_is_refused() -> None:
    """A million equal pairs take few bytes in Parquet."""
    many = parquet({"file_path": ["a"] * 10**6, "pos": [1] * 10**6})
    assert len(many) < 20_000
    assert read_position_deletes(many) == {"a": BitMap([1])}
    files = parquet({"file_path": [str(at) for at in range(101)], "pos": [1] * 101})
    for data, limits in (
        (many, DELETES_LIMITS._replace(entries=999_999)),
        (many, DELETES_LIMITS._replace(bytes=1_000)),
        (files, DELETES_LIMITS._replace(items=100)),
        (parquet({"file_path": ["a" * 10**6], "pos": [1]}, compression="zstd"),
         ReadLimits(bytes=100_000, entries=10, items=10)),
    ):  # fmt: skip
        with pytest.raises(IcebergFormatError, match="at most"):
            read_position_deletes(data, limits)


def test_mutated_deletes_are_read_or_refused() -> None:
    draw = random.Random(7)  # noqa: S311 - a seed
    blobs = [VectorBlob("/t/a", BitMap(range(0, 9000, 3))), VectorBlob("/t/b", BitMap([5]))]
    puffin, places = puffin_bytes(blobs)
    vector = puffin[places[0].offset : places[0].offset + places[0].length]
    deletes = position_delete_bytes("/t/a", BitMap(range(50)))
    reads = [(puffin, read_footer), (vector, read_vector), (deletes, read_position_deletes)]
    answers = 0
    for _ in range(MUTATIONS):
        data, read = draw.choice(reads)
        changed = bytearray(data)
        for _ in range(draw.choice([1, 2, 4])):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        try:
            read(bytes(changed))
            answers += 1
        except IcebergFormatError:
            continue
    assert 0 < answers < MUTATIONS
