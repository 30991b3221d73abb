"""The files of rows: Avro object container files with keys and values, in order of keys.

One Avro record has many rows, as two lists. Reading them takes less than half as long as reading a
record for each row.

A file ends after a row whose key says so, not after a number of rows. So rows that came in between
change the file that they lie in, and few others: images share the files that did not change. The
name of a file is the digest of its rows, and a file that is there already is not packed again.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from io import BytesIO
from itertools import chain
from sys import byteorder
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
PAGE_ROWS: Final = 1_024
MANY: Final = {"type": "array", "items": "bytes"}
SCHEMA: Final = parse_schema(
    {
        "type": "record",
        "namespace": "io.lakeledger",
        "name": "ImageRows",
        "doc": "Rows of a store, in order of keys.",
        "fields": [
            {"name": "keys", "type": MANY, "doc": "The key of each row."},
            {"name": "values", "type": MANY, "doc": "The values, in the order of the keys."},
        ],
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


def digest_of(rows: Sequence[Row]) -> str:
    """Return the SHA-256 of rows, as hexadecimal digits.

    It is over the number of rows, the length of each key, the length of each value, all as four
    bytes, and then all keys and all values.
    """
    keys, values = [row[0] for row in rows], [row[1] for row in rows]
    lengths = array("I", [len(rows), *map(len, keys), *map(len, values)])
    assert lengths.itemsize == LENGTH_BYTES, "an int has four bytes"
    if byteorder == "little":
        lengths.byteswap()
    return sha256(b"".join((lengths.tobytes(), *keys, *values))).hexdigest()


def size_of(rows: Iterable[Row]) -> int:
    """Return the bytes of the keys and values of rows."""
    return sum(map(len, chain.from_iterable(rows)))


def rows_name(digest: str) -> str:
    """Return the name of the file of rows with this digest."""
    return f"{PREFIX}{digest[:NAME_DIGITS]}{SUFFIX}"


def is_rows_file(name: str) -> bool:
    """Return whether a file of a backup holds rows."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def rows_bytes(rows: Sequence[Row]) -> bytes:
    """Return the bytes of a file of rows."""
    data = BytesIO()
    pages = (rows[at : at + PAGE_ROWS] for at in range(0, len(rows), PAGE_ROWS))
    writer(
        data,
        SCHEMA,
        ({"keys": [row[0] for row in page], "values": [row[1] for row in page]} for page in pages),
        codec="deflate",
        sync_interval=BLOCK_BYTES,
        sync_marker=MARKER,
        codec_compression_level=DEFLATE_LEVEL,
    )
    return data.getvalue()


def open_rows_file(data: bytes) -> list[Row]:
    """Return the rows in a file; raises ValueError for other bytes."""
    try:
        found = list[Row]()
        records: Any = reader(BytesIO(data))
        for record in records:
            found += zip(record["keys"], record["values"], strict=True)
    except Exception as error:
        raise ValueError(f"its bytes are not a file of rows ({error!r})") from error
    return found
