"""Puffin files: deletion vectors of format 3, one blob for each data file.

The blob of a vector is Delta's bitmap, with its size before it and its checksum behind it. An entry
of a manifest says where in the file a blob lies, so that readers of rows need no footer.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from zlib import crc32

from ledger.core.rows.bitmaps import RowSet, bytes_of, empty, rows_in
from ledger.iceberg.limits import IcebergFormatError, json_object
from ledger.iceberg.manifests.avro_files import compact
from ledger.log.wire.inline_vectors import MAGIC as VECTOR_MAGIC

MAGIC: Final = b"PFA1"
VECTOR_TYPE: Final = "deletion-vector-v1"
ROW_POSITION: Final = 2147483645
"""The id of the column of row numbers, which a vector is over."""
INHERITED: Final = -1
"""In a blob of a vector: its snapshot and its sequence number are those of its manifest entry."""

SIZE: Final = struct.Struct(">I")
CHECKSUM: Final = struct.Struct(">I")
HEAD: Final = struct.Struct("<iQ")
KEY: Final = struct.Struct("<I")
FOOTER_END: Final = struct.Struct("<i4s4s")
NO_FLAGS: Final = bytes(4)
FOOTER_BYTES_MAX: Final = 16 << 20


class VectorBlob(NamedTuple):
    """The deleted rows of a data file, at least one; `path` is the file as manifests name it."""

    path: str
    rows: RowSet


class BlobPlace(NamedTuple):
    """Where a blob lies in its file, in bytes: `content_offset` and `content_size` of an entry."""

    offset: int
    length: int


def puffin_bytes(blobs: Iterable[VectorBlob]) -> tuple[bytes, list[BlobPlace]]:
    """Return a Puffin file with a blob for each vector, and where each of them lies.

    Equal vectors in the same order give equal bytes.
    """
    data, places, described = bytearray(MAGIC), list[BlobPlace](), list[dict[str, Any]]()
    for blob in blobs:
        content = vector_bytes(blob.rows)
        place = BlobPlace(len(data), len(content))
        data += content
        places.append(place)
        described.append(blob_json(blob, place))
    footer = compact({"blobs": described, "properties": {"created-by": "LakeLedger"}}).encode()
    data += MAGIC + footer + FOOTER_END.pack(len(footer), NO_FLAGS, MAGIC)
    return bytes(data), places


def blob_json(blob: VectorBlob, place: BlobPlace) -> dict[str, Any]:
    """Return what the footer says of a blob."""
    return {
        "type": VECTOR_TYPE,
        "fields": [ROW_POSITION],
        "snapshot-id": INHERITED,
        "sequence-number": INHERITED,
        "offset": place.offset,
        "length": place.length,
        "properties": {"referenced-data-file": blob.path, "cardinality": str(len(blob.rows))},
    }


def vector_bytes(rows: RowSet) -> bytes:
    """Return the blob of a vector: its size, magic, one bitmap of 32 bits, and a checksum."""
    bitmap = bytes_of(rows)
    content = HEAD.pack(VECTOR_MAGIC, 1 if bitmap else 0)
    content += KEY.pack(0) + bitmap if bitmap else b""
    return SIZE.pack(len(content)) + content + CHECKSUM.pack(crc32(content))


def read_vector(data: bytes) -> RowSet:
    """Return the rows of a blob; raises IcebergFormatError for any other bytes.

    `data` are the bytes that an entry of a manifest names, no more and no fewer.
    """
    try:
        (size,) = SIZE.unpack_from(data)
        content = data[SIZE.size : SIZE.size + size]
        if SIZE.size + size + CHECKSUM.size != len(data) or size < HEAD.size:
            raise IcebergFormatError(f"a vector of {size} bytes cannot be a blob of {len(data)}")
        if CHECKSUM.unpack_from(data, SIZE.size + size) != (crc32(content),):
            raise IcebergFormatError("a vector does not have its checksum")
        magic, count = HEAD.unpack_from(content)
        if magic != VECTOR_MAGIC:
            raise IcebergFormatError(f"a vector must begin with {VECTOR_MAGIC}, got {magic}")
        return bitmap_in(content[HEAD.size :], count)
    except struct.error as error:
        raise IcebergFormatError(f"a vector of {len(data)} bytes is cut short") from error


def bitmap_in(data: bytes, count: int) -> RowSet:
    """Return the rows in bitmaps of 32 bits behind their high halves; raises as `read_vector`."""
    if not count:
        if data:
            raise IcebergFormatError("bytes follow a vector without rows")
        return empty()
    if count != 1 or KEY.unpack_from(data) != (0,):
        raise IcebergFormatError("a vector must have one bitmap: a file has fewer rows than 2^31")
    try:
        return rows_in(data[KEY.size :])
    except ValueError as error:
        raise IcebergFormatError(str(error)) from error


def read_footer(data: bytes) -> Sequence[tuple[str, BlobPlace]]:
    """Return the vectors of a whole Puffin file: the data file of each, and its place.

    Blobs of other types are left out. Raises IcebergFormatError for any other bytes, and for a
    footer that is compressed.
    """
    end = len(data) - FOOTER_END.size
    if end < len(MAGIC) or data[: len(MAGIC)] != MAGIC:
        raise IcebergFormatError("the file is no Puffin file: it begins otherwise")
    size, flags, magic = FOOTER_END.unpack_from(data, end)
    start = end - size
    if magic != MAGIC or not 0 <= size <= min(FOOTER_BYTES_MAX, end - 2 * len(MAGIC)):
        raise IcebergFormatError("the file is no Puffin file: it ends otherwise")
    if flags != NO_FLAGS:
        raise IcebergFormatError("the footer of a Puffin file must not be compressed")
    if data[start - len(MAGIC) : start] != MAGIC:
        raise IcebergFormatError("the footer of a Puffin file must begin with its magic")
    blobs = json_object("the footer of a Puffin file", data[start:end]).get("blobs")
    if not isinstance(blobs, list):
        raise IcebergFormatError("the footer of a Puffin file must have a list of blobs")
    return [
        described(each, start - len(MAGIC))
        for each in blobs
        if not isinstance(each, Mapping) or each.get("type") == VECTOR_TYPE
    ]


def described(blob: Any, end: int) -> tuple[str, BlobPlace]:
    """Return the data file and the place of a vector in a footer; raises IcebergFormatError."""
    given = blob if isinstance(blob, Mapping) else {}
    words = given.get("properties")
    path = words.get("referenced-data-file") if isinstance(words, Mapping) else None
    offset, length = given.get("offset"), given.get("length")
    if type(offset) is not int or type(length) is not int or not isinstance(path, str):
        raise IcebergFormatError(f"a vector must have a file and a place, got {str(blob)[:80]}")
    if offset < len(MAGIC) or length < 0 or offset + length > end:
        raise IcebergFormatError(f"a vector must lie in its file, got {offset} and {length}")
    if given.get("compression-codec") is not None:
        raise IcebergFormatError("a vector must not be compressed")
    return path, BlobPlace(offset, length)
