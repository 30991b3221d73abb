"""Deletion vectors: which rows of a data file are deleted, in Delta's format.

A vector is a bitmap of row numbers: a magic number, then RoaringBitmap's portable form of 64 bits.
It lies in a file of several vectors, behind its size and before its checksum, or in the log itself.
The files of Delta and of Iceberg begin otherwise, and have the vectors alike.
"""

import struct
from typing import Final
from uuid import UUID, uuid4
from zlib import crc32

import pyarrow as pa
from pyroaring import BitMap, BitMap64

from ledger.errors import UnreadableTableError
from ledger.files.storage import Storage
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.inline_vectors import MAGIC, decoded, encoded, inline_bytes

DeletedRows = BitMap64
"""The numbers of the deleted rows of a file."""

ROW_MAX: Final = (1 << 31) - 1
UUID_CHARACTERS: Final = 20
UUID_BYTES: Final = 16
NATIVE_MAGIC: Final = 1681511376
FORMAT_VERSION: Final = 1
PUFFIN_SUFFIX: Final = ".puffin"
PUFFIN: Final = b"PFA1"
"""A file of vectors that a writer of Iceberg left: each lies in it as in a file of Delta."""
MAGIC_FORM: Final = struct.Struct("<i")
SIZE_FORM: Final = struct.Struct(">i")
CHECKSUM_FORM: Final = struct.Struct(">I")


class DamagedVectorError(UnreadableTableError):
    """A deletion vector cannot be read, so deleted rows would come back."""


def deleted_rows(storage: Storage, vector: DeletionVector) -> BitMap64:
    """Return the numbers of the deleted rows of a file; raises DamagedVectorError.

    Row numbers begin with 0.
    """
    try:
        data = inline_bytes(vector) if vector.storage == "i" else stored(storage, vector)
        found = bitmap(data)
    except (ValueError, struct.error, UnicodeError) as problem:
        raise damaged(vector, str(problem)) from problem
    if len(found) != vector.cardinality:
        raise damaged(vector, f"it has {len(found)} rows, the log names {vector.cardinality}")
    return found


def portable(deleted: BitMap64) -> bytes:
    """Return row numbers in RoaringBitmap's portable form of 32 bits; raises ValueError above."""
    if len(deleted) and deleted.max() > ROW_MAX:
        raise ValueError(f"a row number must be {ROW_MAX} at most, got {deleted.max()}")
    return BitMap(deleted).serialize()


def kept(deleted: BitMap64, start: int, rows: int) -> pa.BooleanArray:
    """Return for `rows` rows from number `start` on whether each of them is left."""
    if not rows:
        return pa.array([], pa.bool_())
    marks = bytearray(b"\1" * rows)
    for number in deleted & BitMap64(range(start, start + rows)):
        marks[number - start] = 0
    return pa.Array.from_buffers(pa.uint8(), rows, [None, pa.py_buffer(marks)]).cast(pa.bool_())


def damaged(vector: DeletionVector, what: str) -> DamagedVectorError:
    """Return the error for a vector."""
    return DamagedVectorError(
        f"the deletion vector {vector.id} cannot be read: {what}. Restore its file from a copy: "
        "without it, deleted rows would come back"
    )


def stored(storage: Storage, vector: DeletionVector) -> bytes:
    """Return the bitmap of a vector in a file, checked; raises ValueError."""
    path = path_of(vector)
    with storage.open(path) as stream:
        stream.seek(0)
        head = stream.read(len(PUFFIN))
        is_known = head[:1] == bytes([FORMAT_VERSION]) or head == PUFFIN
        if vector.offset is not None and not is_known:
            raise ValueError(f"{path} is no file of deletion vectors of a known version")
        stream.seek(vector.offset or 0)
        data = stream.read(SIZE_FORM.size + vector.size + CHECKSUM_FORM.size)
    (size,) = SIZE_FORM.unpack_from(data)
    if size != vector.size:
        raise ValueError(f"{path} has {size} bytes for it, the log names {vector.size}")
    (wanted,) = CHECKSUM_FORM.unpack_from(data, SIZE_FORM.size + size)
    bits = data[SIZE_FORM.size : SIZE_FORM.size + size]
    if crc32(bits) != wanted:
        raise ValueError(f"its bytes in {path} do not have their checksum")
    return bytes(bits)


def write_vector(storage: Storage, vector: DeletionVector) -> DeletionVector:
    """Write the rows of a vector of the log to a file of its own, and return the vector there.

    Raises as `Storage.write`.
    """
    number = uuid4()
    data = inline_bytes(vector)
    place = encoded(number.bytes)
    form = bytes([FORMAT_VERSION])
    written = DeletionVector("u", place, len(form), len(data), vector.cardinality)
    checked = SIZE_FORM.pack(len(data)) + data + CHECKSUM_FORM.pack(crc32(data))
    storage.write(path_of(written), form + checked)
    return written


def path_of(vector: DeletionVector) -> str:
    """Return the path of the file of a vector, relative or absolute; raises ValueError."""
    if vector.storage == "p":
        return vector.place
    if vector.storage != "u":
        raise ValueError(f"the storage must be u, i or p, got {vector.storage!r}")
    prefix, name = vector.place[:-UUID_CHARACTERS], vector.place[-UUID_CHARACTERS:]
    number = UUID(bytes=decoded(name)[:UUID_BYTES])
    folder = f"{prefix}/" if prefix else ""
    return f"{folder}deletion_vector_{number}.bin"


def is_in_puffin(vector: DeletionVector) -> bool:
    """Return whether a vector lies in a file that a writer of Iceberg left, by its name."""
    has_place = vector.storage == "p" and vector.offset is not None
    return has_place and vector.place.endswith(PUFFIN_SUFFIX)


def bitmap(data: bytes) -> BitMap64:
    """Return the numbers in a bitmap; raises ValueError for another form."""
    (magic,) = MAGIC_FORM.unpack_from(data)
    if magic == MAGIC:
        return BitMap64.deserialize(data[MAGIC_FORM.size :])
    for order in "<>":
        (magic,) = struct.unpack_from(f"{order}i", data)
        if magic == NATIVE_MAGIC:
            return native_bitmap(data, struct.Struct(f"{order}i"))
    raise ValueError(f"the magic number must be {MAGIC} or {NATIVE_MAGIC}, got {magic}")


def native_bitmap(data: bytes, form: struct.Struct) -> BitMap64:
    """Return the numbers in a bitmap of the early form: bitmaps of 32 bits, each after its size."""
    (count,) = form.unpack_from(data, form.size)
    found, start = BitMap64(), 2 * form.size
    for high in range(count):
        (size,) = form.unpack_from(data, start)
        start += form.size
        low = BitMap.deserialize(data[start : start + size])
        found |= BitMap64((high << 32) + each for each in low)
        start += size
    return found
