"""Avro container files as Iceberg's metadata has them: written alike by all, read with bounds.

A written file is a function of its records: its sync marker is fixed, and no time is in it.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from typing import Any, Final

from ledger.iceberg.limits import IcebergFormatError, ReadLimits
from ledger.iceberg.manifests.avro_decoding import AvroBytes, AvroSchema

MAGIC: Final = b"Obj\x01"
SYNC_MARKER: Final = b"lakeledger\0\0\0\0\0\0"
BLOCK_BYTES: Final = 64 * 1024
CODEC: Final = "deflate"
LEVEL: Final = 6
RAW: Final = -zlib.MAX_WBITS
METADATA_ENTRIES_MAX: Final = 100
CRC_BYTES: Final = 4
SNAPPY_HEAD_MAX: Final = 5


def avro_bytes(
    schema: Mapping[str, Any], records: Iterable[Mapping[str, Any]], metadata: Mapping[str, str]
) -> bytes:
    """Return a container file; equal records, schema and metadata give equal bytes.

    They depend on the release of zlib besides, so a name of a file that several programs write is
    best made from these bytes. Raises ValueError or TypeError for records of another form.
    """
    from fastavro import writer  # noqa: PLC0415 - slow to load

    data = BytesIO()
    writer(
        data,
        dict(schema),
        records,
        codec=CODEC,
        sync_interval=BLOCK_BYTES,
        metadata=dict(metadata),
        sync_marker=SYNC_MARKER,
        codec_compression_level=LEVEL,
    )
    return data.getvalue()


class AvroRecords:
    """The records of a container file: each a dict by the ids of fields, read one by one.

    A map of Iceberg is a dict, a list a list, a record within a record a dict by ids again.
    Raises IcebergFormatError, also while records are read, for bytes of another form and for more
    of them than the limits allow. `metadata` has the texts of the header.
    """

    def __init__(self, data: bytes, limits: ReadLimits) -> None:
        limits.check_bytes("an Avro file", len(data))
        self._limits = limits
        self._file = AvroBytes(data, limits.items)
        self.metadata = self._header()
        self._codec = self.metadata.get("avro.codec", "null")
        schema = self.metadata.get("avro.schema", "")
        self._read = AvroSchema(schema).read

    def __iter__(self) -> Iterator[dict[int, Any]]:
        """Yield the records in order."""
        file, left, budget = self._file, self._limits.bytes, self._limits.entries
        while not file.is_at_end:
            count, size = file.long(), file.long()
            if count < 0 or count > budget:
                raise IcebergFormatError(
                    f"an Avro file must have at most {self._limits.entries} records, got a block "
                    f"of {count}"
                )
            block = self._inflated(file.take(size), left)
            if file.take(len(self._sync)) != self._sync:
                raise IcebergFormatError("a block of an Avro file must end with its marker")
            left, budget = left - len(block), budget - count
            content = AvroBytes(block, file.items)
            for _ in range(count):
                yield self._read(content)
            if not content.is_at_end:
                raise IcebergFormatError("bytes follow the last record of an Avro block")
            file.items = content.items

    def _header(self) -> dict[str, str]:
        if self._file.take(len(MAGIC)) != MAGIC:
            raise IcebergFormatError("the file is no Avro file: it begins otherwise")
        found: dict[str, str] = {}
        while count := self._file.block():
            if len(found) + count > METADATA_ENTRIES_MAX:
                raise IcebergFormatError(
                    f"an Avro file must have at most {METADATA_ENTRIES_MAX} texts in its header"
                )
            for _ in range(count):
                key = self._file.text()
                found[key] = self._file.bytes().decode(errors="replace")
        self._sync = self._file.take(len(SYNC_MARKER))
        return found

    def _inflated(self, data: bytes, left: int) -> bytes:
        if self._codec == "null":
            found = data
        elif self._codec == "deflate":
            found = inflated(data, left)
        elif self._codec == "zstandard":
            found = unzipped(data, left)
        elif self._codec == "snappy":
            found = unsnapped(data, left)
        else:
            raise IcebergFormatError(
                "the codec of an Avro file must be null, deflate, snappy or zstandard, got "
                f"{self._codec[:40]!r}"
            )
        if len(found) > left:
            raise too_many_bytes(self._limits.bytes)
        return found


def too_many_bytes(limit: int) -> IcebergFormatError:
    """Return the error for a file that is too large after decompression."""
    return IcebergFormatError(f"an Avro file must have at most {limit} bytes when decompressed")


def inflated(data: bytes, left: int) -> bytes:
    """Return the bytes of a raw deflate stream, at most one more than `left`."""
    unpacker = zlib.decompressobj(RAW)
    try:
        found = unpacker.decompress(data, left + 1)
    except zlib.error as error:
        raise IcebergFormatError(f"a block of an Avro file is damaged: {error}") from error
    # Some writers leave a few bytes behind the stream, such as a checksum.
    if not unpacker.eof and len(found) <= left:
        raise IcebergFormatError("a block of an Avro file is cut short")
    return found


def unzipped(data: bytes, left: int) -> bytes:
    """Return the bytes of a Zstandard frame, at most one more than `left`."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - few files need it

        with pa.input_stream(pa.BufferReader(data), compression="zstd") as stream:
            return bytes(stream.read(left + 1))
    except (ImportError, OSError, ValueError) as error:
        raise IcebergFormatError(f"a block of an Avro file cannot be read: {error}") from error


def unsnapped(data: bytes, left: int) -> bytes:
    """Return the bytes of a block of Snappy, which begins with their number and ends with a CRC."""
    packed = data[:-CRC_BYTES]
    size, shift = 0, 0
    for byte in packed[:SNAPPY_HEAD_MAX]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the last byte has no high bit
            break
    if size > left:
        return bytes(left + 1)
    try:
        import pyarrow as pa  # noqa: PLC0415 - few files need it

        found: bytes = pa.decompress(packed, size, codec="snappy", asbytes=True)
    except (ImportError, OSError, ValueError) as error:
        raise IcebergFormatError(f"a block of an Avro file cannot be read: {error}") from error
    if zlib.crc32(found) != int.from_bytes(data[-CRC_BYTES:]):
        raise IcebergFormatError("a block of an Avro file does not have its checksum")
    return found


def compact(value: Any) -> str:
    """Return a value as JSON in its one spelling."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
