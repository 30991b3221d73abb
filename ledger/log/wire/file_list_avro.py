"""The second form of file lists: an Avro record of the schema `FileList`, behind a header.

The header is one byte for the codec and the schema id as 4 bytes big-endian. With codec 0 the bytes
are framed as Confluent's registry does it. With codec 1 the record is compressed by raw deflate.
The schema `FileList.2` has rows besides. It is used where a list has any, so other lists keep their
bytes.
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
from ledger.log.wire.file_extras import BLOCK, NO_EXTRAS, DeletionVector, Tags, is_block
from ledger.log.wire.published_schemas import coding_schema, schema_ids

HEADER: Final = struct.Struct(">BI")
PLAIN: Final = 0
DEFLATED: Final = 1
WITHOUT_ROWS: Final = "FileList"
WITH_ROWS: Final = "FileList.2"
DEFLATE_FROM_BYTES: Final = 512
RAW: Final = -zlib.MAX_WBITS

# fastavro's type says "any message"; a record is returned as the dict of its fields.
ReadFields = Callable[[BytesIO, Any, None], dict[str, Any]]

Row = tuple[Any, ...]
NO_VECTOR: Final = ("", *NO_EXTRAS)
NO_ROWS: Final = b""
PARTITION: Final = 1
# The places of the extras among the fields of the schema, in files added and removed.
ADD_EXTRAS: Final = 6
REMOVE_EXTRAS: Final = 3


class ListedRows(NamedTuple):
    """The content of a list: the fields of files added and removed, and the writer's info."""

    adds: Sequence[Row]
    removes: Sequence[Row]
    info: str


class ListCoders(NamedTuple):
    """What writes and reads a form of lists, made at the first use."""

    number: int
    schema: dict[str, Any]
    read: ReadFields
    adds: tuple[Write, ...]
    removes: tuple[Write, ...]


@cache
def coders(name: str) -> ListCoders:
    """Return what writes and reads lists of a schema."""
    from fastavro import parse_schema, schemaless_reader  # noqa: PLC0415 - slow to load

    schema = cast("dict[str, Any]", parse_schema(coding_schema(name)))
    named: dict[str, Write] = {}
    adds, removes = (field_writers(each["type"]["items"], named) for each in schema["fields"][:2])
    number = schema_ids()[name]
    return ListCoders(number, schema, cast("ReadFields", schemaless_reader), adds, removes)


def encode(adds: Sequence[Row], removes: Sequence[Row], info: str) -> bytes:
    """Return the form of a list; raises ValueError or TypeError for what no reader takes."""
    form = coders(WITH_ROWS if any(add[-1] for add in adds) else WITHOUT_ROWS)
    added = array_bytes(form.adds, adds, ADD_EXTRAS)
    removed = array_bytes(form.removes, removes, REMOVE_EXTRAS)
    body = added + removed + string_bytes(info)
    if len(body) >= LIST_BYTES_MAX:
        raise ValueError(
            f"a file list must have less than {LIST_BYTES_MAX} bytes, got {len(body)} for "
            f"{len(adds)} files added and {len(removes)} removed; shorten their statistics"
        )
    if len(body) < DEFLATE_FROM_BYTES:
        return HEADER.pack(PLAIN, form.number) + body
    packer = zlib.compressobj(1, zlib.DEFLATED, RAW)
    return HEADER.pack(DEFLATED, form.number) + packer.compress(body) + packer.flush()


def array_bytes(writers: Sequence[Write], files: Sequence[Row], width: int) -> bytes:
    """Return the encoding of files: a count, one block, and the empty block.

    The extras stand behind the first `width` fields of the schema.
    """
    if not files:
        return b"\0"
    heads, extras, behind = list(writers[:width]), writers[width], writers[width + 1 :]
    # Thousands of files lie in few partitions, whose values are hashable once they are encoded.
    heads[PARTITION] = cache(heads[PARTITION])
    end = width + len(NO_VECTOR)
    rows = [
        # Each writer takes one field; the extras behind them are one value of the schema.
        b"".join(map(call, heads, file))
        + (b"\0" if (tail := file[width:end]) == NO_VECTOR else extras(tail))
        + b"".join(map(call, behind, file[end:]))
        for file in files
    ]
    return long_bytes(len(rows)) + b"".join(rows) + b"\0"


def decode(data: bytes) -> ListedRows:
    """Return the content of a form; raises ValueError for anything but a whole list."""
    form, body = body_of(data)
    stream = BytesIO(body)
    try:
        fields = form.read(stream, form.schema, None)
    except Exception as error:
        raise ValueError(f"they do not fit the schema: {error!r}") from error
    if stream.tell() != len(body):
        raise ValueError(f"{len(body) - stream.tell()} bytes follow the list")
    return ListedRows(
        list(added_rows(fields["adds"])), list(removed_rows(fields["removes"])), fields["info"]
    )


def body_of(data: bytes) -> tuple[ListCoders, bytes]:
    """Return the form of bytes, and the Avro bytes in them; raises ValueError."""
    header, body = data[: HEADER.size], data[HEADER.size :]
    codec, number = HEADER.unpack(header) if len(header) == HEADER.size else (-1, 0)
    ids = schema_ids()
    name = next((name for name in (WITHOUT_ROWS, WITH_ROWS) if ids[name] == number), None)
    if name is None or codec not in (PLAIN, DEFLATED):
        raise ValueError(f"they begin with {header.hex()}, which is no known form")
    form = coders(name)
    if codec == PLAIN:
        return form, body
    unpacker = zlib.decompressobj(RAW)
    try:
        found = unpacker.decompress(body, LIST_BYTES_MAX)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError(
            f"they are cut short, too many, or longer than {LIST_BYTES_MAX} bytes when inflated"
        )
    return form, found


def added_rows(files: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the fields of added files; raises ValueError for values that no store takes."""
    known: dict[Values, None] = {}
    for file in files:
        path, partition, size, modified, data_change, stats, extras, *behind = file.values()
        rows = behind[0] if behind else NO_ROWS
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
        if rows and not is_block(path):
            raise ValueError(f"file {path!r}: a path of rows in the log must begin with {BLOCK}")
        tail = NO_VECTOR if extras is None else tail_of(path, extras)
        yield path, values, size, modified, data_change, stats, *tail, rows


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
