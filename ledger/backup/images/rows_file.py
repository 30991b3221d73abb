"""The files of rows: Avro object container files, one Avro record for each row, in order of keys.

A file ends after a row whose key says so, not after a number of rows. So rows that came in between
change the file that they lie in, and few others: images share the files that did not change. The
name of a file is the digest of its rows, and a file that is there already is not packed again.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from io import BytesIO
from itertools import chain
from typing import Any, Final, NamedTuple
from zlib import crc32

from fastavro import parse_schema, reader, writer

Row = tuple[bytes, bytes]
"""Key and value."""

PREFIX: Final = "rows-"
SUFFIX: Final = ".avro"
NAME_DIGITS: Final = 32
BLOCK_BYTES: Final = 1024 * 1024
# Rows are written once and kept for long: a third smaller than with the quickest level.
DEFLATE_LEVEL: Final = 6
# Equal rows give equal bytes.
MARKER: Final = b"lakeledger image"
LENGTH_BYTES: Final = 4
SHORT_MAX: Final = 4096
# The lengths of nearly all keys and values, as bytes.
SHORT: Final = [size.to_bytes(LENGTH_BYTES, "big") for size in range(SHORT_MAX)]
SCHEMA: Final = parse_schema(
    {
        "type": "record",
        "namespace": "io.lakeledger",
        "name": "ImageRow",
        "doc": "One row of a store.",
        "fields": [{"name": "key", "type": "bytes"}, {"name": "value", "type": "bytes"}],
    }
)


class CutRule(NamedTuple):
    """Where files end: after a key whose checksum has no bit of `mask`, between two sizes."""

    mask: int = (1 << 15) - 1
    least_bytes: int = 1 << 20
    most_bytes: int = 16 << 20


CUT: Final = CutRule()


def cut_rows(rows: Iterable[Row], rule: CutRule = CUT) -> Iterator[list[Row]]:
    """Yield the rows of one file after the other; equal rows are cut in the same places."""
    gathered, size = list[Row](), 0
    for row in rows:
        gathered.append(row)
        size += len(row[0]) + len(row[1])
        is_end = size >= rule.least_bytes and not crc32(row[0]) & rule.mask
        if is_end or size >= rule.most_bytes:
            yield gathered
            gathered, size = [], 0
    if gathered:
        yield gathered


def flat(rows: Sequence[Row]) -> bytes:
    """Return the bytes that digests of rows are taken of: each length, then key or value."""
    parts = list[bytes]()
    for row in rows:
        for data in row:
            size = len(data)
            parts.append(SHORT[size] if size < SHORT_MAX else size.to_bytes(LENGTH_BYTES, "big"))
            parts.append(data)
    return b"".join(parts)


def size_of(rows: Iterable[Row]) -> int:
    """Return the bytes of the keys and values of rows."""
    return sum(map(len, chain.from_iterable(rows)))


def rows_name(content: bytes) -> str:
    """Return the name of the file of rows with these flat bytes."""
    return f"{PREFIX}{sha256(content).hexdigest()[:NAME_DIGITS]}{SUFFIX}"


def is_rows_file(name: str) -> bool:
    """Return whether a file of a backup holds rows."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def rows_bytes(rows: Sequence[Row]) -> bytes:
    """Return the bytes of a file of rows."""
    data = BytesIO()
    writer(
        data,
        SCHEMA,
        ({"key": key, "value": value} for key, value in rows),
        codec="deflate",
        sync_interval=BLOCK_BYTES,
        sync_marker=MARKER,
        codec_compression_level=DEFLATE_LEVEL,
    )
    return data.getvalue()


def open_rows_file(data: bytes) -> list[Row]:
    """Return the rows in a file; raises ValueError for other bytes."""
    try:
        records: Any = reader(BytesIO(data))
        return [(record["key"], record["value"]) for record in records]
    except Exception as error:
        raise ValueError(f"its bytes are not a file of rows ({error!r})") from error
