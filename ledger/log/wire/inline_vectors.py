"""Inline vectors: deleted rows of a file as the text that Delta's log has for them.

The text is Z85 (32/Z85 of ZeroMQ): base 85 with an alphabet of its own. It encodes a magic number
and RoaringBitmap's portable form of 64 bits, which is a count of bitmaps of 32 bits, each behind
its high half. The text is a function of the rows.
"""

import json
import struct
from base64 import b85decode, b85encode
from collections.abc import Iterable
from typing import Final

from ledger.core.rows.bitmaps import RowSet, bytes_of, empty, rows_in
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile

ALPHABET: Final = (
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
)
# The alphabet of Python's own base 85, whose scheme is the same.
PYTHONS: Final = (
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)
TO_DELTA: Final = bytes.maketrans(PYTHONS.encode(), ALPHABET.encode())
FROM_DELTA: Final = bytes.maketrans(ALPHABET.encode(), PYTHONS.encode())
GROUP: Final = 5
WORD_BYTES: Final = 4
MAGIC: Final = 1681511377
HEAD: Final = struct.Struct("<iQI")
TIGHT: Final = "tightBounds"


def encoded(data: bytes) -> str:
    """Return bytes as a text in base 85, filled up with zero bytes to whole words."""
    filled = data + bytes(-len(data) % WORD_BYTES)
    return b85encode(filled).translate(TO_DELTA).decode()


def decoded(text: str) -> bytes:
    """Return the bytes of a text in base 85; raises ValueError for another text."""
    if len(text) % GROUP or not set(ALPHABET) >= set(text):
        raise ValueError(f"{text[:40]!r} is no text in base 85")
    return b85decode(text.encode().translate(FROM_DELTA))


def inline_bytes(vector: DeletionVector) -> bytes:
    """Return the bytes of a vector that the log holds itself; raises ValueError."""
    data = decoded(vector.place)
    if not 0 <= len(data) - vector.size < GROUP - 1:
        raise ValueError(f"it has {len(data)} bytes, the log names {vector.size}")
    return data[: vector.size]


def inline_vector(rows: RowSet) -> DeletionVector:
    """Return the vector of some deleted rows, at least one."""
    data = HEAD.pack(MAGIC, 1, 0) + bytes_of(rows)
    return DeletionVector("i", encoded(data), None, len(data), len(rows))


def inline_rows(vector: DeletionVector | None) -> RowSet:
    """Return the rows of a vector of the form that `inline_vector` writes, none for None.

    Raises ValueError for another form, such as a vector in a file.
    """
    if vector is None:
        return empty()
    if vector.storage != "i":
        raise ValueError("its vector is in a file")
    data = inline_bytes(vector)
    try:
        head = HEAD.unpack_from(data)
    except struct.error as error:
        raise ValueError("its vector is cut short") from error
    if head != (MAGIC, 1, 0):
        raise ValueError("its vector has another form than the ledger writes")
    return rows_in(data[HEAD.size :])


def with_rows(vector: DeletionVector | None, rows: RowSet) -> DeletionVector:
    """Return a vector that has some rows more; raises as `inline_rows`."""
    return inline_vector(inline_rows(vector) | rows)


def marked(file: AddFile, rows: RowSet) -> AddFile:
    """Return a file with more rows deleted; raises ValueError for a vector in another form."""
    if file.vector and file.deletion_vector is None:
        raise ValueError("its vector is not known")
    return with_vector(file, with_rows(file.deletion_vector, rows))


def with_vector(file: AddFile, vector: DeletionVector) -> AddFile:
    """Return a file with another deletion vector, known by its short name."""
    return file._replace(vector=vector.name, deletion_vector=vector, stats=loosened(file.stats))


def union_of(bitmaps: Iterable[bytes]) -> RowSet:
    """Return the rows in any of several bitmaps; raises ValueError for damaged ones."""
    found = empty()
    for each in bitmaps:
        found |= rows_in(each)
    return found


def loosened(stats: str) -> str:
    """Return statistics that say that a bound may be the value of no row, all else as it was."""
    try:
        found = json.loads(stats) if stats else None
    except (ValueError, RecursionError):
        return stats
    if not isinstance(found, dict) or found.get(TIGHT) is False:
        return stats
    if TIGHT in found:
        return json.dumps({**found, TIGHT: False}, separators=(",", ":"))
    more = "," if found else ""
    return f'{stats.rstrip().removesuffix("}")}{more}"{TIGHT}":false}}'
