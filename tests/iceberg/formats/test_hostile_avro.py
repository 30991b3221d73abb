"""Bytes of any program: a reader of manifests answers or refuses, in bounded time and room."""

import io
import json
import random
import struct
import tracemalloc
import zlib
from time import process_time
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from ledger.iceberg.limits import IcebergFormatError, ReadLimits
from ledger.iceberg.manifests import (
    ADDED,
    ManifestEntry,
    manifest_bytes,
    manifest_list_bytes,
    read_manifest,
    read_manifest_list,
)
from ledger.iceberg.manifests.avro_files import MAGIC, SYNC_MARKER, AvroRecords
from tests.iceberg.formats.test_manifests import LINE, SCHEMA, SPEC, entry

MUTATIONS = 6_000
LIMITS = ReadLimits(bytes=1 << 20, entries=1000, items=10_000)


def number(value: int) -> bytes:
    """Return a whole number as Avro writes it."""
    left, made = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*made, left])


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return number(len(data)) + data


def container(schema: Any, blocks: list[tuple[int, bytes]], codec: str = "null") -> bytes:
    """Return an Avro file with blocks of any bytes, each with a count of records."""
    written = schema if isinstance(schema, str) else json.dumps(schema)
    head = number(2) + text("avro.schema") + text(written) + text("avro.codec") + text(codec)
    made = MAGIC + head + number(0) + SYNC_MARKER
    for count, data in blocks:
        made += number(count) + number(len(data)) + data + SYNC_MARKER
    return made


def record(kind: Any) -> dict[str, Any]:
    """Return the schema of records with one field of a type."""
    field = {"name": "x", "field-id": 1, "type": kind}
    return {"type": "record", "name": "r", "fields": [field]}


def read(data: bytes) -> list[Any]:
    return list(AvroRecords(data, LIMITS))


def test_mutated_manifests_are_read_or_refused() -> None:
    """Bytes of all parts change: the header, the schema, the blocks as they are and inflated."""
    draw = random.Random(5)  # noqa: S311 - a seed, so that a failure comes again
    many = [entry(at, value_counts={1: 5}, lower_bounds={1: b"x"}) for at in range(5)]
    packed = manifest_bytes(many, SPEC, SCHEMA, "data", 3)
    plain_ = io.BytesIO()
    reader = fastavro.reader(io.BytesIO(packed))
    schema: Any = json.loads(reader.metadata["avro.schema"])
    fastavro.writer(plain_, schema, list(reader), codec="null")
    listed = manifest_list_bytes(
        [LINE], snapshot_id=1, parent_snapshot_id=None, sequence_number=1, format_version=3
    )
    sources = [(packed, read_manifest), (plain_.getvalue(), read_manifest)]
    answers = 0
    for _ in range(MUTATIONS):
        data, reads = draw.choice([*sources, (listed, read_manifest_list)])
        changed = bytearray(data)
        for _ in range(draw.choice([1, 1, 2, 5])):
            at = draw.randrange(len(changed))
            kind = draw.randrange(4)
            if kind == 0:
                changed[at] = draw.randrange(256)
            elif kind == 1:
                changed[at] ^= 1 << draw.randrange(8)
            elif kind == 2:
                del changed[at : at + draw.choice([1, 3, 50])]
            else:
                changed[at:at] = bytes(draw.randrange(256) for _ in range(draw.choice([1, 9])))
            if not changed:
                break
        try:
            reads(bytes(changed), LIMITS)
            answers += 1
        except IcebergFormatError:
            continue
    assert 0 < answers < MUTATIONS


def test_cut_manifests_are_refused() -> None:
    data = manifest_bytes([entry(1)], SPEC, SCHEMA, "data", 2)
    for end in range(len(data)):
        try:
            assert list(read_manifest(data[:end]).entries) == []
        except IcebergFormatError:
            continue


EMPTY: dict[str, Any] = {"type": "record", "fields": []}


@pytest.mark.parametrize(
    "schema",
    [
        *("", "[]", "7", "{", "null", '"record"', "[" * 100_000, '{"a":' * 50_000),
        {"type": "array", "items": "int"},
        {"type": "record"},
        {"type": "record", "fields": [{}]},
        {"type": "record", "fields": [{"field-id": "1", "type": "int"}]},
        {"type": "record", "fields": [{"field-id": 1}]},
        {"type": "record", "fields": [{"field-id": 1, "type": "int"}] * 2},
        *(record(kind) for kind in ("null", "duration", {}, {"type": 5}, {"type": "map"}, None)),
        *(record({"type": "fixed", "name": "f", "size": size}) for size in (0, -1, 2000, "x")),
        *(record({"type": "array", "items": each}) for each in (None, EMPTY, record(EMPTY))),
        record({"type": "array", "logicalType": "map", "items": "int"}),
        record({"type": "array", "logicalType": "map", "items": record("int")}),
        record({"type": "enum", "name": "e", "symbols": ["A"]}),
        record(["null", "nothing"]),
        # A record that holds itself.
        {"type": "record", "name": "r", "fields": [{"field-id": 1, "type": ["null", "r"]}]},
    ],
)  # fmt: skip
def test_an_odd_schema_is_refused(schema: Any) -> None:
    with pytest.raises(IcebergFormatError):
        read(container(schema, []))


def deep(levels: int) -> Any:
    kind: Any = "int"
    for _ in range(levels):
        kind = {"type": "array", "items": kind}
    return record(kind)


def wide(fields: int) -> Any:
    made = [{"name": f"f{at}", "field-id": at, "type": "int"} for at in range(fields)]
    return {"type": "record", "name": "r", "fields": made}


@pytest.mark.parametrize("schema", [deep(101), deep(400), wide(2001), wide(9_000)])
def test_a_large_schema_is_refused(schema: Any) -> None:
    with pytest.raises(IcebergFormatError, match="too large"):
        read(container(schema, []))


LISTS = record({"type": "array", "items": "int"})
INTS = record("int")


@pytest.mark.parametrize(
    ("schema", "blocks", "codec"),
    [
        (INTS, [(10**9, b"\0")], "null"),
        (INTS, [(-1, b"\0")], "null"),
        (INTS, [(1, b"")], "null"),
        (INTS, [(1, b"\0\0")], "null"),
        (INTS, [(1, b"\xff" * 11)], "null"),
        (record("string"), [(1, number(2**62))], "null"),
        (record("string"), [(1, number(-5))], "null"),
        (record("string"), [(1, text(b"\xff"))], "null"),
        (record(["null", "int"]), [(1, number(2))], "null"),
        (record(["null", "int"]), [(1, number(-1))], "null"),
        (LISTS, [(1, number(2**62))], "null"),
        (LISTS, [(1, number(-(2**62)) + number(0))], "null"),
        (LISTS, [(1, number(20_000) + bytes(20_000) + b"\0")], "null"),
        (INTS, [(1, b"\0")], "lzma"),
        (INTS, [(1, b"nonsense")], "deflate"),
        (INTS, [(1, b"nonsense")], "snappy"),
        (INTS, [(1, b"")], "snappy"),
        (INTS, [(1, b"\xff\xff\xff\xff\x0f1234")], "snappy"),
        (INTS, [(1, b"nonsense")], "zstandard"),
        (INTS, [(1, zlib.compress(b"\0", wbits=-15)[:-1])], "deflate"),
        (record("bytes"), [(1, zlib.compress(bytes(200 << 20), 9, wbits=-15))], "deflate"),
    ],
)
def test_odd_blocks_are_refused(schema: Any, blocks: list[tuple[int, bytes]], codec: str) -> None:
    data = container(schema, blocks, codec)
    tracemalloc.start()
    with pytest.raises(IcebergFormatError):
        read(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 << 20


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_blocks_of_all_codecs_are_read(codec: str) -> None:
    data = number(7) + number(-8)
    crc = struct.pack(">I", zlib.crc32(data))
    packed = {
        "null": lambda: data,
        "deflate": lambda: zlib.compress(data, wbits=-15),
        "snappy": lambda: bytes(pa.compress(data, "snappy")) + crc,
        "zstandard": lambda: bytes(pa.compress(data, "zstd")),
    }[codec]()
    assert read(container(INTS, [(2, packed), (2, packed)], codec)) == [
        *({1: 7}, {1: -8}, {1: 7}, {1: -8})
    ]


def test_types_by_the_name_of_an_earlier_field_are_read() -> None:
    """Java's writers name the second decimal of a kind so."""
    fixed = {"type": "fixed", "name": "decimal_9_2", "size": 2}
    fields = [
        {"name": "a", "field-id": 1, "type": ["null", fixed]},
        {"name": "b", "field-id": 2, "type": ["decimal_9_2", "null"]},
    ]
    schema = {"type": "record", "name": "r", "fields": fields}
    assert read(container(schema, [(1, b"\2ab\0cd")])) == [{1: b"ab", 2: b"cd"}]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"format-version\x022", b"format-version\x02x"),
        (b"partition-spec-id\x023", b"partition-spec-id\x02-"),
        (b"content\x08data", b"content\x08da\xffa"),
        (b'\x02"type":"struct"', b'\x02"type","struct"'),
        (b'[{"source-id":2', b'[{"source-id",2'),
    ],
)
def test_a_header_that_is_changed_never_ends_the_program(before: bytes, after: bytes) -> None:
    whole = manifest_bytes([entry(1)], SPEC, SCHEMA, "data", 2)
    with_null = whole.replace(before, after)
    try:
        assert read_manifest(with_null).content == "data"
    except IcebergFormatError:
        assert with_null != whole


def test_reading_is_quick_enough_for_wide_tables() -> None:
    """Time is in proportion to the bytes: 2,000 files of 30 columns take about a second."""
    columns = range(1, 31)
    counts, bounds = dict.fromkeys(columns, 1000), dict.fromkeys(columns, bytes(8))
    wide_ = ManifestEntry(
        ADDED, 1, 1, 1, "/t/" + "x" * 80, 1000, 10**6, {}, value_counts=counts,
        null_value_counts=counts, lower_bounds=bounds, upper_bounds=bounds,
    )  # fmt: skip
    spec: dict[str, Any] = {"spec-id": 0, "fields": []}
    data = manifest_bytes([wide_] * 2000, spec, SCHEMA, "data", 2)
    start = process_time()
    found = read_manifest(data)
    spent = process_time() - start

    assert list(found.entries) == [wide_] * 2000
    assert spent < 5


def test_maps_whose_types_stand_in_objects_are_read() -> None:
    """DuckDB writes the type of a key as an object."""
    item = {
        "type": "record",
        "name": "pair",
        "fields": [
            {"name": "key", "field-id": 7, "type": {"type": "int"}},
            {"name": "value", "field-id": 8, "type": {"type": "long"}},
        ],
    }
    schema = record({"type": "array", "logicalType": "map", "items": item})
    data = number(1) + number(5) + number(70) + number(0)
    assert read(container(schema, [(1, data)])) == [{1: {5: 70}}]


def test_an_empty_name_of_a_referenced_file_is_none() -> None:
    """DuckDB writes an empty text there for data files."""
    data = manifest_bytes([entry(1, referenced_data_file="")], SPEC, SCHEMA, "data", 3)
    assert read_manifest(data).entries[0].referenced_data_file is None
