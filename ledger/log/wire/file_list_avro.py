"""The second form of file lists: an Avro record of the schema `FileList`, behind a header.

The header is one byte for the codec and the schema id as 4 bytes big-endian. With codec 0 the bytes
are framed as Confluent's registry does it. With codec 1 the record is compressed by raw deflate.
"""

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from io import BytesIO
from operator import call
from typing import Any, Final, NamedTuple, cast

from ledger.core.limits import LIST_BYTES_MAX
from ledger.core.partitions.names import Values
from ledger.log.wire.avro_rows import Write, field_writers, long_bytes, string_bytes
from ledger.log.wire.file_extras import NO_EXTRAS, DeletionVector, Tags
from ledger.log.wire.published_schemas import coding_schema, schema_ids

HEADER: Final = struct.Struct(">BI")
SCHEMA_ID: Final = schema_ids()["FileList"]
PLAIN: Final = HEADER.pack(0, SCHEMA_ID)
DEFLATED: Final = HEADER.pack(1, SCHEMA_ID)
DEFLATE_FROM_BYTES: Final = 512
RAW: Final = -zlib.MAX_WBITS

# fastavro's type says "any message"; a record is returned as the dict of its fields.
ReadFields = Callable[[BytesIO, Any, None], dict[str, Any]]

Row = tuple[Any, ...]
NO_VECTOR: Final = ("", *NO_EXTRAS)
PARTITION: Final = 1


class ListedRows(NamedTuple):
    """The content of a list: the fields of files added and removed, and the writer's info."""

    adds: Sequence[Row]
    removes: Sequence[Row]
    info: str


class ListCoders(NamedTuple):
    """What writes and reads the form of a list, made at the first use."""

    schema: dict[str, Any]
    read: ReadFields
    adds: tuple[Write, ...]
    removes: tuple[Write, ...]


@cache
def coders() -> ListCoders:
    """Return what writes and reads lists."""
    from fastavro import parse_schema, schemaless_reader  # noqa: PLC0415 - slow to load

    schema = cast("dict[str, Any]", parse_schema(coding_schema("FileList")))
    named: dict[str, Write] = {}
    adds, removes = (field_writers(each["type"]["items"], named) for each in schema["fields"][:2])
    return ListCoders(schema, cast("ReadFields", schemaless_reader), adds, removes)


def encode(adds: Sequence[Row], removes: Sequence[Row], info: str) -> bytes:
    """Return the form of a list; raises ValueError or TypeError for what no reader takes."""
    added = array_bytes(coders().adds, adds)
    removed = array_bytes(coders().removes, removes)
    body = added + removed + string_bytes(info)
    if len(body) >= LIST_BYTES_MAX:
        raise ValueError(
            f"a file list must have less than {LIST_BYTES_MAX} bytes, got {len(body)} for "
            f"{len(adds)} files added and {len(removes)} removed; shorten their statistics"
        )
    if len(body) < DEFLATE_FROM_BYTES:
        return PLAIN + body
    packer = zlib.compressobj(1, zlib.DEFLATED, RAW)
    return DEFLATED + packer.compress(body) + packer.flush()


def array_bytes(writers: Sequence[Write], files: Sequence[Row]) -> bytes:
    """Return the encoding of files: a count, one block, and the empty block."""
    if not files:
        return b"\0"
    *heads, extras = writers
    # Thousands of files lie in few partitions, whose values are hashable once they are encoded.
    heads[PARTITION] = cache(heads[PARTITION])
    width = len(heads)
    rows = [
        # Each writer takes one field; the extras behind them are one value of the schema.
        b"".join(map(call, heads, file))
        + (b"\0" if (tail := file[width:]) == NO_VECTOR else extras(tail))
        for file in files
    ]
    return long_bytes(len(rows)) + b"".join(rows) + b"\0"


def decode(data: bytes) -> ListedRows:
    """Return the content of a form; raises ValueError for anything but a whole list."""
    body = body_of(data)
    stream = BytesIO(body)
    try:
        fields = coders().read(stream, coders().schema, None)
    except Exception as error:
        raise ValueError(f"they do not fit the schema: {error!r}") from error
    if stream.tell() != len(body):
        raise ValueError(f"{len(body) - stream.tell()} bytes follow the list")
    return ListedRows(
        list(added_rows(fields["adds"])), list(removed_rows(fields["removes"])), fields["info"]
    )


def body_of(data: bytes) -> bytes:
    """Return the Avro bytes of a form; raises ValueError."""
    header, body = data[: HEADER.size], data[HEADER.size :]
    if header == PLAIN:
        return body
    if header != DEFLATED:
        raise ValueError(f"they begin with {header.hex()}, which is no known form")
    unpacker = zlib.decompressobj(RAW)
    try:
        found = unpacker.decompress(body, LIST_BYTES_MAX)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError(
            f"they are cut short, too many, or longer than {LIST_BYTES_MAX} bytes when inflated"
        )
    return found


def added_rows(files: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the fields of added files; raises ValueError for values that no store takes."""
    known: dict[Values, None] = {}
    for file in files:
        path, partition, size, modified, data_change, stats, extras = file.values()
        values = tuple(partition)
        if values not in known:
            check_texts(path, values)
            known[values] = None
        if not path or "\0" in path or "\0" in stats or size < 0 or modified < 0:
            check_texts(path, (path, stats))
            raise ValueError(
                f"file {path!r}: it must have a path, and size and modified must not be negative, "
                f"got {size} and {modified}"
            )
        tail = NO_VECTOR if extras is None else tail_of(path, extras)
        yield path, values, size, modified, data_change, stats, *tail


def removed_rows(files: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the fields of removed files; raises ValueError for values that no store takes."""
    for file in files:
        path, partition, data_change, extras = file.values()
        check_texts(path, (path, *(partition or ())))
        if not path:
            raise ValueError("a file must have a path")
        tail = NO_VECTOR if extras is None else tail_of(path, extras)
        yield path, None if partition is None else tuple(partition), data_change, *tail


def check_texts(path: str, texts: Iterable[str | None]) -> None:
    """Raise ValueError for a text with a zero byte."""
    if any("\0" in text for text in texts if text):
        raise ValueError(f"file {path!r}: no text may hold a zero byte")


def tail_of(path: str, extras: Mapping[str, Any]) -> Row:
    """Return the last fields of a file; raises ValueError for values that no store takes."""
    described, tags = extras["deletion_vector"], Tags(extras["tags"])
    vector = None if described is None else DeletionVector(**described)
    texts = (extras["vector"], *tags, *tags.values(), "" if vector is None else vector.place)
    numbers = (extras["base_row_id"], extras["row_version"], *(vector[2:] if vector else ()))
    check_texts(path, texts)
    if any(number < 0 for number in numbers if number is not None):
        raise ValueError(f"file {path!r}: its numbers must not be negative, got {numbers}")
    if vector is not None and extras["vector"] not in (vector.id, vector.name):
        raise ValueError(f"file {path!r}: vector must be {vector.id!r}, got {extras['vector']!r}")
    return extras["vector"], vector, tags, extras["base_row_id"], extras["row_version"]
