"""Rows to Avro bytes: for one schema, a function from a record's values to its encoding.

A row is a tuple of values in the order of the schema's fields, such as a named tuple of the core;
rows nest. fastavro's writer takes dicts and looks up every field by name, several times. A
sequencer writes one event for each command, so the writer is on its hot path. fastavro still reads
all records, except for the numbers at the start of an event, which every reader needs. The encoding
follows the Avro specification 1.11, "Binary encoding"; tests compare every byte with fastavro.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import call
from typing import Any, Final

Write = Callable[[Any], bytes]

LONG_BITS: Final = 64
# A long is encoded fourteen bits at a time, by one table for inner pairs and one for the last.
PAIR_BITS: Final = 14
PAIRS: Final = 1 << PAIR_BITS
GOING_ON: Final = tuple(bytes((pair & 0x7F | 0x80, pair >> 7 | 0x80)) for pair in range(PAIRS))
ENDING: Final = tuple(
    bytes((pair,)) if pair < 0x80 else bytes((pair & 0x7F | 0x80, pair >> 7))  # noqa: PLR2004
    for pair in range(PAIRS)
)


UNFIT: Final = (TypeError, OverflowError, ValueError)


def long_bytes(value: int) -> bytes:
    """Return a long: zigzag, then seven bits a byte, the lowest first.

    Raises OverflowError for more than 64 bits, TypeError for any other type.
    """
    try:
        left = value << 1 ^ value >> 63
    except TypeError:
        raise TypeError(f"must be a whole number, got {value!r}") from None
    if left < PAIRS:
        return ENDING[left]
    if left >> LONG_BITS:
        raise OverflowError(f"must fit {LONG_BITS} bits, got {value}")
    found = GOING_ON[left & PAIRS - 1]
    left >>= PAIR_BITS
    while left >= PAIRS:
        found += GOING_ON[left & PAIRS - 1]
        left >>= PAIR_BITS
    return found + ENDING[left]


def longs_bytes(values: Iterable[int]) -> bytes:
    """Return the concatenated longs of a row."""
    return b"".join(map(long_bytes, values))


def read_longs(data: bytes, at: int, count: int) -> list[int]:
    """Return `count` longs from a place in the bytes on.

    Every client reads the numbers at the start of every event, and mostly no more than these.
    Raises IndexError if the bytes end too early, OverflowError for more than 64 bits.
    """
    found: list[int] = []
    for _ in range(count):
        left, shift = 0, 0
        while (byte := data[at]) > 0x7F:  # noqa: PLR2004 - the bit that says that more follow
            left |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if shift >= LONG_BITS:
                break
        left |= byte << shift
        if left >> LONG_BITS:
            raise OverflowError(f"the number before byte {at} must fit {LONG_BITS} bits")
        found.append(left >> 1 ^ -(left & 1))
        at += 1
    return found


def bytes_bytes(value: bytes) -> bytes:
    """Return bytes behind their length; raises TypeError for anything else."""
    try:
        return long_bytes(len(value)) + value
    except TypeError:
        raise TypeError(f"must be bytes, got {value!r}") from None


def string_bytes(value: str) -> bytes:
    """Return a text in UTF-8 behind its length; raises TypeError for anything else."""
    try:
        data = str.encode(value)
    except TypeError:
        raise TypeError(f"must be a text, got {value!r}") from None
    doubled = len(data) << 1
    # As `long_bytes` does it, without another call: most values of a row are short texts.
    return (ENDING[doubled] if doubled < PAIRS else long_bytes(len(data))) + data


def boolean_bytes(value: bool) -> bytes:  # noqa: FBT001 - the value to write
    """Return a boolean; raises TypeError for anything else, since "no" would count as true."""
    if value is True:
        return b"\1"
    if value is False:
        return b"\0"
    raise TypeError(f"must be True or False, got {value!r}")


PRIMITIVES: Final[Mapping[str, Write]] = {
    "long": long_bytes,
    "bytes": bytes_bytes,
    "string": string_bytes,
    "boolean": boolean_bytes,
}


def row_writer(schema: Mapping[str, Any]) -> Write:
    """Return the function that encodes the rows of a record schema, whose names are resolved.

    The function raises TypeError, ValueError or OverflowError, with the name of the field, for a
    row that does not fit the schema.
    """
    return record_writer(schema, {})


def field_writers(schema: Mapping[str, Any], named: dict[str, Write]) -> tuple[Write, ...]:
    """Return the encoders of the fields of a record; `named` as for `writer_of`."""
    return tuple(writer_of(field["type"], named) for field in schema["fields"])


def writer_of(schema: Any, named: dict[str, Write]) -> Write:  # noqa: PLR0911 - one per type
    """Return the encoder of a schema; `named` are the encoders of the named types so far.

    Raises NotImplementedError for an unsupported schema.
    """
    if isinstance(schema, list):
        return optional_writer(schema, named)
    if isinstance(schema, str):
        return PRIMITIVES.get(schema) or named[schema]
    match schema["type"]:
        case "record":
            return record_writer(schema, named)
        case "array":
            return array_writer(writer_of(schema["items"], named))
        case "map":
            return map_writer(writer_of(schema["values"], named))
        case "enum":
            return enum_writer(schema["symbols"])
        case str() as primitive if primitive in PRIMITIVES:
            return PRIMITIVES[primitive]
        case other:
            raise NotImplementedError(f"the Avro type {other} is not supported")


def record_writer(schema: Mapping[str, Any], named: dict[str, Write]) -> Write:
    """Return the encoder of rows: the concatenation of their values."""
    writers = field_writers(schema, named)
    width = len(writers)

    def write(row: Sequence[Any]) -> bytes:
        # A first schema lacks the last fields, and takes a row that has nothing in them.
        if len(row) < width or any(row[width:]):
            raise ValueError(f"a row of {schema['name']} must have {width} values, got {len(row)}")
        try:
            return b"".join(map(call, writers, row))
        except UNFIT as problem:
            raise misfit(schema, writers, row, problem) from problem

    named[schema["name"]] = write
    return write


def misfit(
    schema: Mapping[str, Any], writers: Sequence[Write], row: Sequence[Any], problem: Exception
) -> Exception:
    """Return the error for a row with the name of the field that does not fit."""
    kind = next(each for each in UNFIT if isinstance(problem, each))
    for field, write, value in zip(schema["fields"], writers, row, strict=False):
        try:
            write(value)
        except UNFIT as error:
            return kind(f"{field['name']} of {schema['name'].rpartition('.')[2]}: {error}")
    return kind(str(problem))


def array_writer(write_item: Write) -> Write:
    """Return the encoder of sequences: a count, one block, and the empty block."""

    def write(items: Sequence[Any]) -> bytes:
        if not items:
            return b"\0"
        return long_bytes(len(items)) + b"".join(map(write_item, items)) + b"\0"

    return write


def map_writer(write_value: Write) -> Write:
    """Return the encoder of mappings by text: a count, one block, and the empty block."""

    def write(values: Mapping[str, Any]) -> bytes:
        if not values:
            return b"\0"
        items = (string_bytes(name) + write_value(value) for name, value in values.items())
        return long_bytes(len(values)) + b"".join(items) + b"\0"

    return write


def optional_writer(branches: Sequence[Any], named: dict[str, Write]) -> Write:
    """Return the encoder of a value or None, after the number of its branch; null comes first."""
    if len(branches) != 2 or branches[0] != "null":  # noqa: PLR2004 - None and the value
        raise NotImplementedError(f"the Avro union of {branches} is not supported")
    write_value = writer_of(branches[1], named)
    return lambda value: b"\0" if value is None else b"\2" + write_value(value)


def enum_writer(symbols: Sequence[str]) -> Write:
    """Return the encoder of symbols, by their numbers."""
    numbers = {symbol: long_bytes(number) for number, symbol in enumerate(symbols)}

    def write(symbol: str) -> bytes:
        try:
            return numbers[symbol]
        except (KeyError, TypeError):
            raise ValueError(f"must be one of {', '.join(symbols)}, got {symbol!r}") from None

    return write
